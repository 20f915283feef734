# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the frames of runs, and of statistics over seeds."""

import dataclasses

from launch.results import frames
from launch.results import method_comparison
from tests.launch.results import fake_runs

from absl.testing import absltest
import numpy as np


class LabelTest(absltest.TestCase):
  def test_first_seeds_are_no_difference_of_methods(self):
    seeds = {'fed_avg': range(3), 'fed_fish': range(1, 4)}
    runs = [fake_runs.make_run(a, s) for a, of in seeds.items() for s in of]
    self.assertEqual([*fake_runs.frames(runs).groups()], ['FedAvg', 'FedFish'])

  def test_a_name_replaces_the_first_words_that_it_is_of(self):
    runs = [
      fake_runs.make_setting_run(*of, local_epochs=epochs)
      for of in (('fed_avg',), ('fed_fish',))
      for epochs in (1, 4)
    ]
    read = frames.join(map(fake_runs.to_run, runs))
    names = {'FedFish': 'Ours', 'FedFish, 4 local epochs': 'Long'}
    found = frames.label(dataclasses.replace(read, names=names))
    self.assertEqual(
      list(found.groups()),
      [
        'FedAvg, 1 local epoch',
        'FedAvg, 4 local epochs',
        'Ours, 1 local epoch',
        'Long',
      ],
    )

  def test_synthetic_data_are_another_task(self):
    real = fake_runs.make_run(seed=1)
    synthetic = dataclasses.replace(
      fake_runs.make_run(seed=2), synthetic='generated pages'
    )
    groups = fake_runs.frames([real, synthetic]).groups()
    self.assertLen(groups, 2)
    self.assertIn('generated pages', list(groups)[1])
    self.assertEmpty(method_comparison.pair_methods(groups).compared)


class FramesTest(absltest.TestCase):
  def test_points_are_at_the_rounds_of_all_seeds(self):
    late = fake_runs.make_run(seed=1)
    late = dataclasses.replace(
      late, columns={name: of[1:] for name, of in late.columns.items()}
    )
    without = fake_runs.make_run(seed=2)
    without.columns['train/loss'][:] = np.nan
    found = fake_runs.frames([fake_runs.make_run(), late, without])
    xs, ys = frames.points(found, 'compute/local_steps_total', 'train/loss')
    np.testing.assert_allclose(xs, [402, 603])
    np.testing.assert_allclose(ys, [[1 / 2, 1 / 3]] * 2)
