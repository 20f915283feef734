# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs that share what is built against the same runs, each by itself."""

import dataclasses
import functools
import json
from unittest import mock

from fedfish_tff import errors
from fedfish_tff import models
from launch.methods import block as block_lib
from launch.methods import building
from launch.methods import config_checks
from launch.methods import registry
from launch.plots import catalogue
from launch.runs import run_sequence
from launch.runs import training_run
from tests import temporary_folders
from tests.launch import run_files
from tests.launch import small_configs

from absl.testing import parameterized
import numpy as np
import pytest


def _make_config(variant, **changes):
  return small_configs.make_config(
    variant, **{'client_learning_rate': 0.1, **changes}
  )


def _read_run(workdir):
  """Returns all that a run says, but for how long it took."""
  summary = json.loads((workdir / 'summary.json').read_text())
  del summary['totals']['round_seconds'], summary['checksum']
  return run_files.read_columns(workdir), summary


def _read_checkpoint(workdir):
  """The bytes of the last checkpoint, but for the total of seconds."""
  paths = (workdir / 'checkpoints').iterdir()
  path = max(paths, key=lambda path: int(path.stem.rpartition('_')[2]))
  with np.load(path) as arrays:
    return {
      name: array.tobytes()
      for name, array in arrays.items()
      if array.dtype != np.float64 and name != 'manifest'
    }


class _Test(temporary_folders.TestCase):
  def setUp(self):
    super().setUp()
    self.build = self.enter_context(
      mock.patch.object(building, 'build_method', wraps=building.build_method)
    )
    # Figures show what is compared.
    self.enter_context(
      mock.patch.object(catalogue, 'plot_workdir', autospec=True)
    )

  def assert_same_alone(self, config, workdir):
    alone = self.folder / 'alone'
    small_configs.train(config, alone)
    self.assertEqual(_read_run(workdir), _read_run(alone))
    self.assertEqual(_read_checkpoint(workdir), _read_checkpoint(alone))

  def assert_shares_and_changes_nothing(self, config):
    sequence = run_sequence.RunSequence()
    sequence.train(config_checks.read(config), self.folder / 'first')
    other = small_configs.vary(config)
    sequence.train(config_checks.read(other), self.folder / 'other')
    self.assertEqual(self.build.call_count, 1)
    self.assert_same_alone(other, self.folder / 'other')


class RunSequenceTest(_Test):
  @pytest.mark.thorough
  def test_a_closed_form_has_no_rates_to_share(self):
    sequence = run_sequence.RunSequence()
    sequence.train(
      config_checks.read(_make_config('fed_avg')), self.folder / 'fed_avg'
    )
    config = small_configs.make_config('fed3r', **{'task.hidden_units': ()})
    sequence.train(config_checks.read(config), self.folder / 'first')
    # Nor do its features depend on the seed.
    other = {**config, 'seed': 1}
    sequence.train(config_checks.read(other), self.folder / 'other')
    self.assertEqual(self.build.call_count, 2)
    self.assert_same_alone(other, self.folder / 'other')

  @parameterized.parameters(('fed3r', (8,)), ('fed3r_rf', ()))
  @pytest.mark.thorough
  def test_closed_forms_of_other_features_share_nothing(self, variant, units):
    sequence = run_sequence.RunSequence()
    for seed in (0, 1):
      config = small_configs.make_config(
        variant, **{'task.hidden_units': units, 'seed': seed}
      )
      sequence.train(config_checks.read(config), self.folder / f'{seed}')
    self.assertEqual(self.build.call_count, 2)

  def test_a_run_among_others_is_as_by_itself(self):
    sequence = run_sequence.RunSequence()
    config = _make_config('fed_avg')
    sequence.train(config_checks.read(config), self.folder / 'first')
    # One whose clients all diverge, and one that cannot run.
    diverging = {**config, 'client_learning_rate': 1e30}
    sequence.train(config_checks.read(diverging), self.folder / 'diverging')
    summary = json.loads((self.folder / 'diverging/summary.json').read_text())
    self.assertGreater(summary['totals']['excluded_clients'], 0)
    with self.assertRaises(errors.InputError):
      sequence.train(
        config_checks.read({**config, 'rounds': 0}), self.folder / 'refused'
      )
    other = small_configs.vary(config)
    sequence.train(config_checks.read(other), self.folder / 'other')
    sequence.train(config_checks.read(config), self.folder / 'again')
    self.assertEqual(self.build.call_count, 1)
    self.assertEqual(
      _read_run(self.folder / 'again'), _read_run(self.folder / 'first')
    )
    self.assert_same_alone(other, self.folder / 'other')

  @pytest.mark.thorough
  def test_another_model_is_built_anew(self):
    train_task = self.enter_context(
      mock.patch.object(training_run, 'train_task')
    )
    tasks = []
    sequence = run_sequence.RunSequence()
    config = _make_config('fed_avg')
    for seed in (0, 0, 1):
      sequence.train(config_checks.read({**config, 'seed': seed}), self.folder)
      call = train_task.call_args
      experiment = call.kwargs['build'](*call.args[:2])
      tasks.append(experiment.task)
      self.assertEqual(self.build.call_count, 1)
    self.assertIs(tasks[0], tasks[1])
    # A task may have another model for another seed.
    smaller = functools.partial(
      models.create_mlp_classifier,
      num_features=64,
      num_classes=10,
      hidden_units=(3,),
      seed=2,
    )
    experiment = call.kwargs['build'](
      config_checks.read({**config, 'seed': 2}),
      dataclasses.replace(tasks[2], create_model=smaller),
    )
    self.assertEqual(self.build.call_count, 2)
    self.assertLen(experiment.model.initial_weights[0][1], 3)


# Runs share all fields with these, so that one hides nothing of another.
_TOGETHER = (
  'aggregation=median,client_schedule=cosine,server_schedule=cosine,'
  'early_stopping=stop,weight_average=ema',
  'compression=nearest,loops=xla',
  'compression=quantized,fine_tuning=ft',
  'exchange=partial,participation=poisson',
)


class EveryBlockTest(_Test):
  @parameterized.parameters(
    *_TOGETHER,
    *(
      f'{name}={next(iter(block.presets))}'
      for name, block in registry.own_blocks().items()
      if block.presets
      # A start shares nothing, noise is another one in every run, and digits
      # has no batch normalisation.
      and name not in ('batch_normalization', 'privacy', 'warm_start')
      and f'{name}=' not in ','.join(_TOGETHER)
    ),
    'exchange=partial,unsent=client_keeps',
  )
  @pytest.mark.thorough
  def test_shares_and_changes_nothing(self, block):
    changes = {'adapters.targets': 'hidden_0', 'adapters.trained': 'output'}
    config = _make_config(
      f'fed_avg,{block}', **(changes if 'adapters' in block else {})
    )
    self.assert_shares_and_changes_nothing(config)

  def test_tells_what_it_is_built_from_or_shares_nothing(self):
    for name, block in registry.own_blocks().items():
      if not block.presets:
        continue
      config = config_checks.read(
        _make_config(f'fed_avg,{name}={next(iter(block.presets))}')
      )
      silent = dataclasses.replace(block, built_from=block_lib.Block.built_from)
      config = dataclasses.replace(config, declared=[silent])
      self.assertEqual(config.sharing_key is None, not block.in_loop, name)


class MethodTest(_Test):
  @parameterized.parameters(
    # One that draws labels, one with client states, and one with its own loop;
    # schedules_test runs a round of every method with other rates and seeds.
    ('sampled_label', 'mean_sgdm'),
    ('scaffold', 'adam'),
    ('fed_ma', 'sgdm'),
  )
  @pytest.mark.thorough
  def test_shares_and_changes_nothing(self, variant, optimizer):
    config = _make_config(variant)
    for field in {'client_optimizer', 'server_optimizer'} & {
      *config['algorithm']
    }:
      config['algorithm'][field] = optimizer
    self.assert_shares_and_changes_nothing(config)
