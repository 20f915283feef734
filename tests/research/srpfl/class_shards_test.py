# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of SRPFL's shards of classes and its figure."""

from launch.methods import config_checks
from research.srpfl import class_shards
from tests import temporary_folders
from tests.launch import binary_runner

from absl.testing import absltest
from absl.testing import parameterized
import pytest


def _configs(sweep):
  """Returns the configs of a sweep, which can all be read."""
  runs = class_shards.sweep(sweep)
  configs = [class_shards.get_config(run.variant) for run in runs]
  for config, run in zip(configs, runs):
    config.update_from_flattened_dict(dict(run.overrides))
    config_checks.read(config.to_dict())
  return configs


class ClassShardsTest(absltest.TestCase):
  def test_a_sweep_of_all_methods(self):
    configs = _configs('stragglers,size=results')
    self.assertLen(set(map(repr, configs)), len(configs))
    kinds = {
      (c.algorithm.name, c.participation.name, c.participation.speeds.kind)
      for c in configs
    }
    # Each method, with FLANP or SRPFL, and the clock of dynamic speeds.
    self.assertLen(kinds, 6 + 3 + 1 + 2)
    self.assertLen(configs, len(kinds) * 2 * 5)
    self.assertEqual(
      {c.participation.get('rounds_per_stage') for c in configs}, {None, 2}
    )

  def test_asynchronous_methods_take_as_many_answers(self):
    configs = _configs('asynchronous,size=results')
    for config in configs:
      if config.participation.name in ('asynchronous', 'uniform'):
        self.assertEqual(config.rounds * config.cohort_size, 30 * 20)
        self.assertEqual(config.rounds // config.evaluate_every, 10)
    self.assertLen(set(map(repr, configs)), 95)
    self.assertEqual(
      {
        (c.participation.speeds.kind, c.participation.deadline)
        for c in configs
        if c.participation.name == 'deadline'
      },
      {('exponential', 1.0), ('dynamic', 50.0)},
    )

  def test_all_methods_of_srpfl_are_judged_after_fine_tuning(self):
    for method in class_shards.METHODS:
      config = config_checks.read(class_shards.get_config(method).to_dict())
      self.assertEqual(config.evaluation.judged_by, 'fine_tuned', method)


_BINARY = 'research.srpfl.linear_representation_figure'


class LinearRepresentationFigureTest(temporary_folders.TestCase):
  @pytest.mark.slow
  def test_writes_figure_and_rounds(self):
    folder = self.folder / 'plots'
    outcome = binary_runner.run_here(
      _BINARY,
      f'--output_dir={folder}',
      '--seeds=1',
      '--most_clients=16',
      '--format=svg',
    )
    self.assertEqual(outcome.code, 0, outcome.stderr)
    self.assertEqual(
      sorted(p.name for p in folder.iterdir()),
      ['linear_representation.csv', 'linear_representation.svg'],
    )
    self.assertIn('distance that remains', outcome.stdout)

  @parameterized.parameters(
    ((),),
    (('--output_dir=/tmp/x', '--seeds=0'),),
    (('--output_dir=/tmp/x', '--format=gif'),),
    (('--output_dir=/dev/null/plots', '--seeds=1'),),
  )
  def test_bad_input_is_one_line(self, arguments):
    outcome = binary_runner.run_here(_BINARY, *arguments)
    self.assertEqual(outcome.code, 2)
    self.assertLen(outcome.problems, 1)
