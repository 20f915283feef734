# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the frames of runs, and of statistics over seeds."""

import dataclasses

from fedfish_tff import errors
from launch.results import frames
from launch.results import method_comparison
from tests.launch.results import fake_runs

from absl.testing import absltest
import numpy as np


class LabelTest(absltest.TestCase):
  def test_seeds_of_one_config_are_pooled_in_rising_order(self):
    groups = fake_runs.frames(
      [
        fake_runs.make_run('fed_avg', 2),
        fake_runs.make_run('fed_fish', 1),
        fake_runs.make_run('fed_avg', 1),
      ]
    ).groups()
    self.assertEqual(list(groups), ['FedAvg', 'FedFish'])
    self.assertEqual(list(groups['FedAvg'].runs['seed']), [1, 2])

  def test_synthetic_data_are_another_task(self):
    real = fake_runs.make_run(seed=1)
    synthetic = dataclasses.replace(
      fake_runs.make_run(seed=2), synthetic='generated pages'
    )
    groups = fake_runs.frames([real, synthetic]).groups()
    self.assertLen(groups, 2)
    self.assertIn('generated pages', list(groups)[1])
    self.assertEmpty(method_comparison.method_pairs(groups))

  def test_one_run_given_twice_is_refused(self):
    with self.assertRaisesRegex(errors.InputError, 'seed \\(4\\)'):
      fake_runs.frames([fake_runs.make_run(seed=4), fake_runs.make_run(seed=4)])


class FramesTest(absltest.TestCase):
  def test_some_runs_keep_their_rows(self):
    found = fake_runs.frames(
      [fake_runs.make_run('fed_avg', s, evaluated=s > 0) for s in (1, 0)]
    )
    part = found.of(found.runs[found.runs['seed'] == 1])
    self.assertLen(part.rounds, 3)
    self.assertLen(part.clients, 6)
    self.assertEqual(
      list(part.column('csb/accuracy').index), [(1, 2), (1, 4), (1, 6)]
    )
    self.assertLen(part.column('after/accuracy'), 5)
    rest = found.of(found.runs[found.runs['seed'] == 0])
    self.assertEmpty(rest.clients)
    self.assertEmpty(rest.column('after/accuracy'))

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
