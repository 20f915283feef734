# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the figure of scores by local epochs."""

import dataclasses

from research.fedfish import local_epochs
from tests.launch.results import fake_runs

from absl.testing import absltest
import numpy as np


def _draw(runs):
  found = fake_runs.read_settings(runs)
  return local_epochs.plot_local_epochs(found, 'accuracy')


def _means(axis):
  """Returns the heights of the points that are means."""
  return [
    line.get_ydata()[0]
    for line in axis.lines
    if line.get_marker() not in ('_', 'None')
  ]


class PlotLocalEpochsTest(absltest.TestCase):
  def test_means_of_test_clients_before_and_after(self):
    figure, caption = _draw(fake_runs.make_setting_runs())
    scores, differences = figure.axes
    expected = [
      score
      for gain in (0.0, 0.1)
      for e in (1, 8)
      for score in (0.52 + gain - 0.01 * e, 0.81 + gain - 0.01 * e)
    ]
    np.testing.assert_allclose(_means(scores), expected)
    np.testing.assert_allclose(_means(differences), 4 * [0.1])
    # Those of the global model are open.
    fills = [
      line.get_markerfacecolor()
      for line in scores.lines
      if line.get_marker() == 'o'
    ]
    self.assertEqual(fills, 2 * ['white', fills[1]])
    self.assertNotEqual(fills[1], 'white')
    self.assertEqual(scores.get_ylabel(), 'Test accuracy')
    self.assertEqual(differences.get_title('left'), 'minus FedAvg')
    self.assertEqual(
      differences.get_xlabel(), 'Local epochs per round (6 rounds)'
    )
    ticks = [label.get_text() for label in differences.get_xticklabels()]
    self.assertEqual(ticks, ['1', '8'])
    self.assertIn(
      'digits, FedFish, 8 local epochs, personalized: +0.1', caption
    )

  def test_an_unfinished_setting_is_left_out_and_named(self):
    runs = fake_runs.make_setting_runs()
    runs[0] = dataclasses.replace(runs[0], values={}, is_finished=False)
    figure, caption = _draw(runs)
    self.assertEqual(figure.axes[0].get_ylabel(), 'Test accuracy')
    np.testing.assert_allclose(
      _means(figure.axes[0]), [0.44, 0.73, 0.61, 0.9, 0.54, 0.83]
    )
    np.testing.assert_allclose(_means(figure.axes[1]), 2 * [0.1])
    self.assertIn(
      'Left out, diverged or not finished: FedAvg, 1 local epoch (digits).',
      caption,
    )

  def test_unfinished_runs_alone_show_validation_clients(self):
    figure, caption = _draw(fake_runs.make_setting_runs(finished=False))
    self.assertIn('on validation clients', caption)
    self.assertNotIn('not finished', caption)
    self.assertEqual(figure.axes[0].get_ylabel(), 'Validation accuracy')
    np.testing.assert_allclose(_means(figure.axes[0])[:2], [0.5, 0.7])
    # A run that has diverged is finished; its earlier scores are no result.
    runs = fake_runs.make_setting_runs(finished=False)
    runs[0] = dataclasses.replace(runs[0], is_finished=True, diverged_round=7)
    figure, caption = _draw(runs)
    np.testing.assert_allclose(_means(figure.axes[0])[:2], [0.51, 0.71])
    self.assertIn('FedAvg, 1 local epoch (digits): 1 of 2', caption)

  def test_a_diverged_seed_is_left_out_and_counted(self):
    runs = fake_runs.make_setting_runs()
    runs[0].values.update(dict.fromkeys(runs[0].values, np.nan))
    figure, caption = _draw(runs)
    np.testing.assert_allclose(_means(figure.axes[0])[0], 0.52)
    self.assertIn('FedAvg, 1 local epoch (digits): 1 of 2', caption)
    self.assertIn('1 local epoch, global: +0.1, better in 1 of 1', caption)

  def test_one_method_has_no_differences(self):
    figure, caption = _draw(
      fake_runs.make_setting_runs(
        algorithms=('fed_avg',), tasks=('digits', 'emnist')
      )
    )
    self.assertEqual(
      [axis.get_title('left') for axis in figure.axes], ['digits', 'emnist']
    )
    self.assertNotIn('minus', caption)

  def test_starts_of_clients_models_are_named_and_in_no_difference(self):
    figure, caption = _draw(
      fake_runs.make_setting_runs([(1, 6), (8, 6)], ('fed_avg', 'fed_rep'))
    )
    scores, differences = figure.axes
    self.assertLen(_means(scores), 8)
    # Of personalised models alone, by local epochs.
    np.testing.assert_allclose(_means(differences), 2 * [0.0], atol=1e-12)
    self.assertNotIn('global: ', caption)
    self.assertIn('FedRep, 8 local epochs, personalized: +0', caption)
    self.assertIn(
      "The global model is only a start for clients' models, and in no "
      'comparison: FedRep',
      caption,
    )

  def test_runs_without_personalisation(self):
    runs = fake_runs.make_setting_runs()
    for run in runs:
      for name in list(run.values):
        if name.startswith('test/personalized'):
          del run.values[name]
    figure, _ = _draw(runs)
    np.testing.assert_allclose(_means(figure.axes[0])[:2], [0.5, 0.43])

  def test_without_the_metric_there_is_no_figure(self):
    found = fake_runs.read_settings(fake_runs.make_setting_runs())
    self.assertIsNone(local_epochs.plot_local_epochs(found, 'mse'))
    none = found.of(found.runs[:0])
    self.assertIsNone(local_epochs.plot_local_epochs(none, 'accuracy'))
