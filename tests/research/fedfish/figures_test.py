# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the figures of FedFish's paper."""

import contextlib
import io

from fedfish_tff import errors
from research.fedfish import figures
from tests.launch import drawn_figures
from tests.launch.results import fake_runs

from absl.testing import absltest
import pytest

_METRIC = 'eval/global/accuracy'


def _draw(runs):
  """Returns the drawings, and the printed lines."""
  with contextlib.redirect_stdout(io.StringIO()) as printed:
    drawings = figures.draw(fake_runs.frames(runs), _METRIC)
  return drawings, printed.getvalue().splitlines()


class FiguresTest(absltest.TestCase):
  def test_all_figures_in_both_views(self):
    runs = fake_runs.make_setting_runs([(1, 6), (4, 6), (1, 24)])
    drawings, left_out = _draw(fake_runs.with_transfer(runs))
    self.assertEmpty(left_out)
    self.assertEqual(
      list(drawings),
      [
        'fixed_compute_eval_global_accuracy_by_round',
        'fixed_compute_eval_global_accuracy_by_local_steps',
        'fixed_compute_eval_global_accuracy_by_bytes',
        'local_epochs_accuracy_fixed_rounds',
        'local_epochs_accuracy_fixed_compute',
        'barrier_panels_accuracy_fixed_rounds',
        'barrier_panels_accuracy_fixed_compute',
        'transfer_accuracy_fixed_rounds',
        'transfer_accuracy_fixed_compute',
      ],
    )

  def test_runs_of_one_number_of_local_epochs_make_no_views(self):
    runs = fake_runs.with_transfer(fake_runs.make_setting_runs([(4, 6)]))
    drawings, left_out = _draw(runs)
    self.assertEqual(
      list(drawings), ['barrier_panels_accuracy', 'transfer_accuracy']
    )
    self.assertLen(left_out, 2)
    for line, figure in zip(left_out, ('fixed_compute', 'local_epochs')):
      self.assertRegex(line, f'figure {figure} .* several numbers of local')

  def test_runs_that_make_no_figure_are_refused(self):
    with self.assertRaisesRegex(
      errors.InputError, r'barriers in .*; got FedAvg on digits, 6 rounds\.'
    ):
      _draw(fake_runs.make_setting_runs([(4, 6)], ['fed_avg']))

  @pytest.mark.thorough
  def test_everything_fits(self):
    algorithms = ['fed_avg', 'fed_fish']
    many = [*algorithms, *(f'long_method_{i}' for i in range(6))]
    for some, tasks in (
      (algorithms, ['digits']),
      (many, ['digits']),
      (many, ['digits', 'emnist', 'cifar100', 'stackoverflow']),
    ):
      drawings, _ = _draw(
        fake_runs.make_setting_runs([(1, 48), (8, 6), (16, 3)], some, tasks)
      )
      self.assertLen(drawings, 5)
      for name, drawing in drawings.items():
        with self.subTest(f'{name}, {len(some)}, {len(tasks)}'):
          drawn_figures.check_fits(self, drawing.figure)
