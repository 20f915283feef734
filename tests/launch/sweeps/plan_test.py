# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of planning a sweep's runs, by a file or by flags."""

import json
import pathlib

from fedfish_tff import errors
from launch.configs import digits
from launch.configs import sweeps
from launch.sweeps import comparison
from launch.sweeps import plan as plan_lib
from tests import temporary_folders
from tests.launch.sweeps import fake_sweeps

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np


class NamesTest(absltest.TestCase):
  def test_what_differs_is_named(self):
    runs = sweeps.grid(
      ['fed_avg', 'fed_fish'],
      {'client_learning_rate': (1e-4, 0.05), 'seed': (0, 1)},
      fixed={'rounds': 3},
    )
    names = plan_lib.name_runs(runs)
    self.assertEqual(names[0], 'fed_avg-client_learning_rate_0.0001-seed_0')
    self.assertEqual(names[-1], 'fed_fish-client_learning_rate_0.05-seed_1')
    runs = sweeps.grid(['fed_avg'], {'task.hidden_units': ((8, 4), (16,))})
    self.assertEqual(
      plan_lib.name_runs(runs),
      [f'fed_avg-hidden_units_{units}' for units in ('8_4', '16')],
    )

  def test_what_follows_is_not(self):
    """Rounds follow from local epochs, rates from those and the variant."""
    runs = sweeps.fixed_compute(
      ['fed_avg'], total_local_epochs=16, evaluations=2, seeds=(0,)
    )
    self.assertEqual(
      plan_lib.name_runs(runs),
      [f'fed_avg-local_epochs_{epochs}' for epochs in (1, 8, 16)],
    )

  def test_names_are_those_of_files(self):
    values = ['a/b', '..', (1, 2), 'x' * 300, 'x' * 301, None, 1e-7, '']
    runs = [sweeps.Run('fed_avg', {'task.name': value}) for value in values]
    names = plan_lib.name_runs(runs)
    self.assertLen(set(names), len(values))
    for name in names:
      self.assertEqual(pathlib.Path(name).name, name)
      self.assertLess(len(name), 200)

  def test_clashing_names_are_told_apart(self):
    runs = [sweeps.Run('a', {'x.b': '1'}), sweeps.Run('a', {'x.b': 1})]
    self.assertLen(set(plan_lib.name_runs(runs)), 2)


_SWEEPS = """
from launch.configs import digits, sweeps

get_config = digits.get_config
sweep = sweeps.choice(get_config, lambda get_config: {
  'tuned': lambda: sweeps.compare(
    get_config,
    ('fed_avg',),
    seeds=3,
    tuned={'client_learning_rate': (0.1, 0.2)},
  ),
  'plain': lambda: sweeps.grid(['fed_avg'], {'seed': (0, 1)}),
})
"""


class ListTest(absltest.TestCase):
  def test_runs_that_tune_are_counted_and_told(self):
    path = self.create_tempfile('several.py', _SWEEPS).full_path
    # Two rates with two seeds tune, and three seeds judge.
    self.assertEqual(
      [line.split(maxsplit=2) for line in plan_lib.list_sweeps(path)],
      [
        ['Sweep', 'Runs'],
        ['tuned', '7', '4 of them tune client_learning_rate'],
        ['plain', '2'],
      ],
    )

  def test_a_function_does_not_tell_its_sweeps(self):
    text = _SWEEPS + "sweep = {'a': ()}.get\n"
    path = self.create_tempfile('one.py', text).full_path
    with self.assertRaisesRegex(errors.InputError, 'one of sweeps.choice'):
      plan_lib.list_sweeps(path)


class PlanTest(parameterized.TestCase):
  def test_numbers_of_numpy_are_those_of_python(self):
    plain = {'rounds': 3, 'client_learning_rate': 0.5}
    numpy = {'rounds': np.int64(3), 'client_learning_rate': np.float32(0.5)}
    (expected,), (found,) = (
      fake_sweeps.plan([sweeps.Run('fed_fish', values)])
      for values in (plain, numpy)
    )
    self.assertEqual(found, expected)
    self.assertEqual(json.loads(json.dumps(found.fields)), plain)

  def test_configs_are_whole(self):
    planned = fake_sweeps.plan(
      [sweeps.Run('fed_fish', {'algorithm.damping': 1, 'rounds': 3})],
      {'task.hidden_units': (8,), 'evaluation.barrier': False},
    )
    config = planned[0].config.values
    self.assertEqual(config['rounds'], 3)
    self.assertEqual(config['algorithm']['damping'], 1.0)
    self.assertEqual(config['task']['hidden_units'], (8,))
    self.assertIs(config['evaluation']['barrier'], False)
    self.assertEqual(
      config['batch_size'], digits.get_config('fed_fish').batch_size
    )
    self.assertEqual(
      planned[0].command,
      '--config=digits.py:fed_fish --config.algorithm.damping=1 '
      "--config.rounds=3 '--config.task.hidden_units=(8,)' "
      '--config.evaluation.barrier=False',
    )

  @parameterized.named_parameters(
    (
      'unknown_field',
      [('fed_avg', {'sed': 1})],
      {},
      'Run fed_avg: The config has no field sed; .*Did you mean seed',
    ),
    (
      'field_of_another_variant',
      [
        ('fed_fish', {'algorithm.damping': 1.0}),
        ('fed_avg', {'algorithm.damping': 1.0}),
      ],
      {},
      'Run fed_avg: The config has no field algorithm.damping',
    ),
    (
      'no_block',
      [('fed_avg', {'seed.x': 1})],
      {},
      'field seed.x; there',
    ),
    (
      'unknown_variant',
      [('fed_vag', {})],
      {},
      'Run fed_vag of digits.py:test: The variant must be one of .*, got '
      r"'fed_vag'. Did you mean fed_avg\?$",
    ),
    (
      'wrong_type',
      [('fed_avg', {'seed': 'one'})],
      {},
      "Run fed_avg: seed must be of the type of 0, got 'one'",
    ),
    (
      'out_of_range',
      [('fed_avg', {'rounds': 0})],
      {},
      'Run fed_avg: rounds must be .*got 0',
    ),
    (
      'equal_runs',
      [('fed_avg', {'seed': 0}), ('fed_avg', {})],
      {},
      'runs .*fed_avg-seed_0 and fed_avg\\.',
    ),
    (
      'given_value_of_what_varies',
      [('fed_avg', {'seed': 0}), ('fed_avg', {'seed': 1})],
      {'seed': 2},
      'config.seed=2 cannot hold for all runs: digits.py:test varies seed',
    ),
  )
  def test_bad_input(self, runs, given, message):
    runs = [sweeps.Run(*run) for run in runs]
    with self.assertRaisesRegex(errors.InputError, message):
      fake_sweeps.plan(runs, given)


class LoadTest(temporary_folders.TestCase):
  def test_loads_any_file(self):
    path = self.folder / 'mine.py'
    path.write_text(
      'from launch.configs import digits, sweeps\n'
      'get_config = digits.get_config\n'
      'def sweep(name):\n'
      '  return sweeps.grid(["fed_avg"], {"seed": range(int(name))})\n'
    )
    get_config, found = plan_lib.load_sweep(f'{path}:4')
    self.assertLen(plan_lib.plan_runs('mine', get_config, found.runs), 4)
    with self.assertRaisesRegex(
      errors.InputError, 'must return one sweeps.Run or more, got'
    ):
      plan_lib.load_sweep(f'{path}:0')

  @parameterized.parameters('mine.json', 'mine.json:a', 'mine.so:a', 'mine')
  def test_no_python_file(self, name):
    (self.folder / name.partition(':')[0]).write_text('1 / 0')
    with self.assertRaisesRegex(errors.InputError, 'no Python|must be <file>'):
      plan_lib.load_sweep(f'{self.folder}/{name}')

  @parameterized.parameters(
    (None, 'must name a file, got none at .*mine.py'),
    ('x = 1', 'must have a function sweep, got none'),
    ('\n1 / 0', 'cannot be loaded: line 2: ZeroDivisionError: division'),
    ('x = ', 'is not valid Python: line 1: invalid syntax'),
    ('def sweep(name): return ()', 'must have a function get_config, got none'),
    (
      'get_config = sweep = lambda name: 5',
      r"sweep.'seeds'. must return one sweeps.Run or more, got 5",
    ),
    (
      'get_config = sweep = lambda name: [{"seed": 0}]',
      "or more, got .{'seed': 0}.",
    ),
    (
      'from launch.configs import sweeps\n'
      'get_config = lambda name: None\n'
      'sweep = lambda name: sweeps.grid(["fed_avg"], {"rounds": 5})\n',
      'the values of rounds must be .*got 5',
    ),
  )
  def test_bad_file(self, content, message):
    path = self.folder / 'mine.py'
    if content:
      path.write_text(content)
    with self.assertRaisesRegex(errors.InputError, message):
      plan_lib.load_sweep(f'{path}:seeds')

  def test_the_sweeps_of_a_file_are_named(self):
    for source in (digits.__file__, f'{digits.__file__}:sees'):
      with self.assertRaisesRegex(errors.InputError, 'sweep .*seeds, variants'):
        plan_lib.load_sweep(source)


class ComparisonTest(parameterized.TestCase):
  def test_axes_follow_their_method(self):
    self.assertEqual(
      comparison.split_methods('fed_avg,server=adam,size=tpu,fed_fish,fed_avg'),
      ('fed_avg,server=adam,size=tpu', 'fed_fish', 'fed_avg'),
    )

  def test_values_have_the_types_of_their_fields(self):
    compared = comparison.Comparison(
      source='arrays',
      methods='fed_avg,fed_fish',
      grid=[
        'task.hidden_units=(8,),(8, (4, 2), [2])',
        'evaluation.barrier=true,false',
        'algorithm.fisher_estimator:per_example,batch_gradient',
        'local_epochs=1,2',
      ],
      tune=['client_learning_rate:1,0.5'],
    )
    self.assertEqual(compared.load_first().algorithm.name, 'fed_avg')
    _, found = compared.load()
    values = {
      field: tuple(
        dict.fromkeys(
          r.overrides[field] for r in found.tuning if field in r.overrides
        )
      )
      for field in found.tuning[-1].overrides
    }
    self.assertEqual(
      values,
      {
        'task.hidden_units': ((8,), (8, (4, 2), (2,))),
        'evaluation.barrier': (True, False),
        'algorithm.fisher_estimator': ('per_example', 'batch_gradient'),
        'local_epochs': (1, 2),
        'client_learning_rate': (1.0, 0.5),
        'seed': (100, 101),
      },
    )
    # FedAvg has no estimator, and no seeds are asked for.
    self.assertLen(found.runs, 2 * 2 * 2 * (1 + 2))

  @parameterized.parameters(
    ({'methods': None}, 'named by --methods, or a single one by'),
    ({'source': 'digits:fed_avg'}, 'digits:fed_avg and --methods'),
    ({'methods': 'fed_agv'}, 'Did you mean fed_avg'),
    ({'seeds': 101}, 'seeds must be a number from 1 to 100, got 101'),
    ({'grid': ['rounds']}, "--grid must be FIELD=VALUE,VALUE.* got 'rounds'"),
    (
      {'grid': ['task.hidden_units=(8,),(8']},
      r"--grid must have pairs of brackets, got 'task.hidden_units=\(8,\),\(8'",
    ),
    ({'grid': ['rounds=1', 'rounds=2']}, "each field once, got 'rounds=2'"),
    ({'grid': ['rounds=1,1']}, 'rounds=1,1 must differ from each other'),
    ({'tune': ['rate:1,2']}, 'fed_avg must have the field rate, got none'),
  )
  def test_bad_input(self, changes, message):
    arguments = {'source': 'digits', 'methods': 'fed_avg', **changes}
    with self.assertRaisesRegex(errors.InputError, message):
      comparison.Comparison(**arguments).load()
