# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the choice of layouts."""

import dataclasses
import warnings

from fedfish_tff import errors
from launch.plots import run_layouts
from tests.launch.results import fake_runs

from absl.testing import absltest

_METRIC = 'eval/global/accuracy'


def _runs(specs, algorithms=('fed_avg', 'fed_fish'), tasks=('digits',)):
  return [
    fake_runs.make_setting_run(
      algorithm, seed, local_epochs=e, rounds=r, task=task
    )
    for task in tasks
    for algorithm in algorithms
    for e, r in specs
    for seed in (0, 1)
  ]


def _draw(runs, layouts=run_layouts.LAYOUTS, x_axes=('round',)):
  frames = fake_runs.frames(runs)
  return run_layouts.draw_layouts(frames, layouts, _METRIC, x_axes)


class DrawLayoutsTest(absltest.TestCase):
  def test_all_layouts_in_both_views(self):
    drawings = _draw(
      _runs([(1, 6), (4, 6), (1, 24)]), x_axes=('round', 'local_steps')
    )
    self.assertEqual(
      list(drawings),
      [
        'fixed_compute_eval_global_accuracy_by_round',
        'fixed_compute_eval_global_accuracy_by_local_steps',
        'local_epochs_accuracy_fixed_rounds',
        'local_epochs_accuracy_fixed_compute',
        'barrier_panels_accuracy_fixed_rounds',
        'barrier_panels_accuracy_fixed_compute',
      ],
    )
    captions = run_layouts.format_captions(drawings)
    for name, drawing in drawings.items():
      self.assertIn(f'{name}\n{drawing.caption}\n', captions)

  def test_runs_of_one_number_of_local_epochs_have_barriers_only(self):
    runs = _runs([(4, 6)])
    self.assertEqual(list(_draw(runs)), ['barrier_panels_accuracy'])
    with self.assertRaisesRegex(
      errors.InputError,
      'fixed_compute needs runs .* FedAvg on digits, local_epochs 4, rounds 6',
    ):
      _draw(runs, ['fixed_compute'])
    with self.assertRaisesRegex(errors.InputError, 'local_epochs needs runs'):
      _draw(runs, ['local_epochs'])
    with self.assertRaisesRegex(errors.InputError, 'barrier needs runs'):
      _draw(runs[:2], ['barrier'])

  def test_transfer_needs_scores(self):
    runs = _runs([(1, 6), (4, 6)])
    with self.assertRaisesRegex(errors.InputError, 'launch.evaluate --targets'):
      _draw(runs, ['transfer'])
    runs = [
      dataclasses.replace(run, transfer=fake_runs.make_transfer_scores(run))
      for run in runs
    ]
    self.assertEqual(
      list(_draw(runs, ['transfer'])), ['transfer_accuracy_fixed_rounds']
    )
    # Of one number of local epochs there is no view, but a figure.
    self.assertEqual(list(_draw(runs[:2], ['transfer'])), ['transfer_accuracy'])
    with self.assertRaisesRegex(errors.InputError, 'needs runs with mse'):
      run_layouts.draw_layouts(
        fake_runs.frames(runs), ['transfer'], 'eval/global/mse', ()
      )

  def test_more_methods_than_can_be_told_apart(self):
    algorithms = [f'method_{i}' for i in range(9)]
    with self.assertRaisesRegex(errors.InputError, 'at most 8 .* have 9'):
      _draw(_runs([(1, 6), (4, 6)], algorithms))

  def test_everything_fits(self):
    algorithms = [
      'fed_avg',
      'fed_fish',
      *(f'long_method_{i}' for i in range(6)),
    ]
    for some, tasks in (
      (algorithms[:2], ['digits']),
      (algorithms, ['digits']),
      (algorithms, ['digits', 'emnist', 'cifar100', 'stackoverflow']),
    ):
      drawings = _draw(_runs([(1, 48), (8, 6), (16, 3)], some, tasks))
      self.assertLen(drawings, 3)
      for name, drawing in drawings.items():
        with self.subTest(f'{name}, {len(some)}, {len(tasks)}'):
          self._check(drawing.figure)

  def _check(self, figure):
    with warnings.catch_warnings():
      # Matplotlib warns where there is no room for the axes.
      warnings.simplefilter('error')
      figure.draw_without_rendering()
    texts = [text for key in figure.legends for text in key.get_texts()]
    for axis in figure.axes:
      texts += [axis.title, axis.xaxis.label, axis.yaxis.label, *axis.texts]
    for text in texts:
      box = text.get_window_extent()
      if not text.get_text():
        continue
      self.assertGreaterEqual(box.x0, -1, text)
      self.assertGreaterEqual(box.y0, -1, text)
      self.assertLessEqual(box.x1, figure.bbox.x1 + 1, text)
      self.assertLessEqual(box.y1, figure.bbox.y1 + 1, text)
