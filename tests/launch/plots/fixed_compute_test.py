# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the figure at fixed compute."""

from launch.plots import fixed_compute
from launch.results import settings
from tests.launch.results import fake_runs

from absl.testing import absltest
import numpy as np

_METRIC = 'eval/global/accuracy'


def _settings(
  algorithms=('fed_avg', 'fed_fish'),
  epochs=(1, 2, 16),
  tasks=('digits',),
  total=32,
):
  return settings.read_settings(
    [
      fake_runs.make_setting_run(
        algorithm, seed, local_epochs=e, rounds=total // e, task=task
      )
      for task in tasks
      for algorithm in algorithms
      for e in epochs
      for seed in (0, 1, 2)
    ]
  )


def _legend(figure):
  texts = [text.get_text() for text in figure.legends[0].get_texts()]
  return [text for text in texts if text.strip()]  # Groups fill columns.


class PlotFixedComputeTest(absltest.TestCase):
  def test_a_line_a_method_and_number_of_epochs(self):
    found = _settings()
    figure, caption = fixed_compute.plot_fixed_compute(
      found, _METRIC, x='local_steps'
    )
    (axis,) = figure.axes
    self.assertLen(axis.lines, 6)
    self.assertLen(axis.collections, 6)  # A band each.
    # Means over seeds; all lines end at the same compute.
    np.testing.assert_allclose(
      [line.get_ydata()[-1] for line in axis.lines],
      [np.mean([run.test['global/accuracy'] for run in s.runs]) for s in found],
    )
    self.assertLen({line.get_xdata()[-1] for line in axis.lines}, 1)
    self.assertLen({line.get_color() for line in axis.lines}, 2)
    self.assertEqual(
      _legend(figure),
      ['FedAvg', 'FedFish']
      + ['1 local epoch', '2 local epochs', '16 local epochs'],
    )
    self.assertIn('rounds times local epochs are 32', caption)
    self.assertIn('means over 3 seeds', caption)

  def test_rounds_that_differ_much_are_on_a_logarithmic_axis(self):
    for epochs, scale in (((1, 16), 'log'), ((1, 2), 'linear')):
      figure, _ = fixed_compute.plot_fixed_compute(
        _settings(epochs=epochs), _METRIC, x='round'
      )
      self.assertEqual(figure.axes[0].get_xscale(), scale)

  def test_a_panel_a_task(self):
    figure, _ = fixed_compute.plot_fixed_compute(
      _settings(tasks=('digits', 'emnist')), _METRIC
    )
    self.assertEqual(
      [axis.get_title('left') for axis in figure.axes], ['digits', 'emnist']
    )

  def test_many_lines_have_a_panel_for_each_number_of_epochs(self):
    algorithms = ('fed_avg', 'fed_fish', 'fed_prox')
    figure, _ = fixed_compute.plot_fixed_compute(
      _settings(algorithms, tasks=('digits', 'emnist')), _METRIC, x='bytes'
    )
    self.assertLen(figure.axes, 6)
    self.assertEqual(
      figure.axes[2].get_title('left'), 'digits, 16 local epochs'
    )
    self.assertEqual({len(axis.lines) for axis in figure.axes}, {3})
    self.assertEqual(_legend(figure), ['FedAvg', 'FedFish', 'FedProx'])
    limits = [axis.get_ylim() for axis in figure.axes]
    self.assertEqual(limits[0], limits[2])

  def test_without_the_metric_there_is_no_figure(self):
    self.assertIsNone(fixed_compute.plot_fixed_compute(_settings(), 'x/y'))


if __name__ == '__main__':
  absltest.main()
