# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A block of another package in a config, a run and its folder."""

import sys

from fedfish_tff import errors
from fedfish_tff import fields
from fedfish_tff import trust
from launch import json_config
from launch.configs import base
from launch.methods import block
from launch.methods import config as config_lib
from launch.methods import config_checks
from launch.runs import trained_run
from tests.launch import run_files
from tests.launch import small_configs

from absl.testing import parameterized
import pytest

_AXIS = 'examples.zeroing:BLOCK'
_LOSS = 'eval/global/loss'
_PRESETS = {'near': {'name': 'near'}, 'far': {'name': 'far'}}
_STEPS = fields.Field(3, fields.integer(1), 'The steps.')
# A block whose fields follow from a choice, and which has a start.
CHOOSING = block.Block(
  name='choosing',
  help='a choice',
  fields={'name': fields.Field('near', fields.one_of('near', 'far'), 'It.')},
  presets=_PRESETS,
  choices={
    'near': block.Choice(help='no field', fields={}),
    'far': block.Choice(help='a field', fields={'steps': _STEPS}),
  },
  in_loop=True,
  start=lambda config: config_lib.Origin(path='elsewhere'),
)

LACKED = block.Block(
  name='lacked',
  help='a field with a value that only some methods support',
  fields={'many': fields.Field(2, fields.integer(1), 'How many.')},
  presets={'some': {}, 'two': {'many': 2}},
  only={'many': ('exchange', (1,))},
  in_loop=True,
)
FIRST, SECOND = (
  block.Block(
    name=name, help='one of two', fields={}, presets={'a': {}}, after=(other,)
  )
  for name, other in (('first', 'second'), ('second', 'first'))
)
_SIZES = {
  'rounds': 2,
  'cohort_size': 2,
  'local_epochs': 1,
  'batch_size': 4,
  'client_learning_rate': 0.1,
}


def _make_config(preset='usual', **changes):
  return small_configs.make_config(f'fed_avg,{_AXIS}={preset}', **changes)


class ZeroingTest(small_configs.TestCase):
  def test_a_variant_has_the_block_and_its_declaration(self):
    config = _make_config('strict')
    self.assertEqual(
      config['zeroing'], {'declaration': _AXIS, 'threshold': 1.0}
    )
    read = config_checks.read(config)
    self.assertEqual(read.label, 'Zeroing FedAvg')

  def test_fields_by_a_choice(self):
    axis = f'{__name__}:CHOOSING'
    config = small_configs.make_config(f'fed_avg,{axis}=far')
    self.assertEqual(
      config['choosing'], {'declaration': axis, 'name': 'far', 'steps': 3}
    )
    read = config_checks.read(config)
    self.assertEqual(read.blocks['choosing'].steps, 3)
    self.assertEqual(read.origin.path, 'elsewhere')

  def test_a_value_that_a_method_lacks_is_replaced(self):
    axis = f'{__name__}:LACKED'
    config = small_configs.make_config(f'fed_avg,{axis}=some')
    self.assertEqual(config['lacked']['many'], 2)
    # It supports no exchange.
    config = base.create_config(
      f'ditto,{axis}=some', task={'name': 'digits'}, **_SIZES
    )
    self.assertEqual(config.lacked.many, 1)
    self.assertIn(
      'lacked.many is 1 instead of 2 for ditto: ',
      ' '.join(base.overruled(config)),
    )
    config_checks.read(config.to_dict())
    # What the variant says holds.
    config = base.create_config(
      f'ditto,{axis}=two', task={'name': 'digits'}, **_SIZES
    )
    with self.assertRaisesRegex(errors.InputError, 'lacked.many must be 1 for'):
      config_checks.read(config.to_dict())

  def test_blocks_that_come_after_one_another_have_no_order(self):
    axis = f'{__name__}:FIRST', f'{__name__}:SECOND'
    with self.assertRaisesRegex(
      errors.InputError, 'got first before second before first|got second .*'
    ):
      small_configs.make_config(f'fed_avg,{axis[0]}=a,{axis[1]}=a')

  def test_a_run_has_one_start(self):
    axis = f'{__name__}:CHOOSING'
    config = small_configs.make_config(
      f'fed_avg,warm_start=model,{axis}=near', **{'warm_start.path': 'here'}
    )
    with self.assertRaisesRegex(
      errors.InputError, 'one block with a start at most, got .*choosing'
    ):
      config_checks.read(config)

  @pytest.mark.thorough
  def test_updates_count_up_to_the_threshold(self):
    plain = small_configs.make_config('fed_avg')
    losses = {}
    for name, config in (
      ('plain', plain),
      ('all', _make_config(**{'zeroing.threshold': 1e6})),
      ('none', _make_config(**{'zeroing.threshold': 1e-12})),
    ):
      small_configs.train(config, self.folder / name)
      losses[name] = [
        row[_LOSS]
        for row in run_files.read_rows(self.folder / name)
        if _LOSS in row
      ]
    self.assertEqual(losses['all'], losses['plain'])
    self.assertEqual(losses['none'], losses['plain'][:1] * 2)
    self.assertNotEqual(*losses['plain'])

  def test_a_folder_is_data(self):
    """Its module is not imported unless it is trusted."""
    small_configs.train(_make_config(), self.workdir)
    del sys.modules['examples.zeroing']
    with self.assertRaisesRegex(
      errors.InputError, f"zeroing.declaration is '{_AXIS}', a Python module"
    ):
      trained_run.read_run(self.workdir)
    self.assertNotIn('examples.zeroing', sys.modules)
    trusted = trust.Trust(is_json=True, json_modules=True)
    experiment, _ = trained_run.read_run(self.workdir, trust=trusted)
    self.assertEqual(experiment.config.blocks['zeroing'].threshold, 10.0)

  @parameterized.parameters(
    ('zeroing', 'examples.zeroing', 'must be package.module:NAME, got'),
    (
      'zeroing',
      'examples.cellars:create_task',
      'must be a launch.methods.block',
    ),
    ('zeroing', 'examples.nothing:BLOCK', 'cannot be imported'),
    ('zero', _AXIS, 'must declare a block zero, got .* whose block is zeroing'),
    ('zero', 'launch.methods.privacy:BLOCK', 'must be a block with a name of'),
  )
  def test_what_is_no_declaration_of_the_block(self, name, declared, message):
    config = small_configs.make_config('fed_avg')
    config[name] = {'declaration': declared, 'threshold': 1.0}
    with self.assertRaisesRegex(
      errors.InputError, f'^{name}.declaration .*{message}'
    ):
      config_checks.read(config)

  @parameterized.parameters(
    ({'threshold': 0}, 'zeroing.threshold must be a positive number, got 0'),
    ({'other': 1}, 'zeroing.other does not exist'),
  )
  def test_its_fields_are_checked(self, changes, message):
    config = _make_config()
    config['zeroing'] |= changes
    with self.assertRaisesRegex(errors.InputError, message):
      config_checks.read(config)

  def test_it_needs_what_it_supports(self):
    with self.assertRaisesRegex(
      errors.InputError, 'field zeroing does not exist for fed_fish: '
    ):
      config_checks.read(small_configs.make_config(f'fed_fish,{_AXIS}=usual'))
    with self.assertRaisesRegex(errors.InputError, 'zeroing of variant'):
      _make_config('unusual')

  def test_config_json_is_read_back(self):
    config = _make_config()
    small_configs.train(config, self.workdir)
    found = json_config.get_config(str(self.workdir / 'config.json'))
    self.assertEqual(json_config.with_tuples(found), config)
