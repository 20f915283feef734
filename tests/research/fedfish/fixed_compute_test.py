# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the curves at fixed compute."""

from research.fedfish import fixed_compute
from tests.launch.results import fake_runs

from absl.testing import parameterized
import numpy as np

_METRIC = 'eval/global/accuracy'


def _settings(epochs=(1, 2, 16), **kwargs):
  specs = [(number, 32 // number) for number in epochs]
  runs = fake_runs.make_setting_runs(specs, seeds=(0, 1, 2), **kwargs)
  return fake_runs.read_settings(runs)


def _legend(figure):
  texts = [text.get_text() for text in figure.legends[0].get_texts()]
  return [text for text in texts if text.strip()]  # Groups fill columns.


class PlotFixedComputeTest(parameterized.TestCase):
  def test_a_line_a_method_and_number_of_epochs(self):
    found = _settings(epochs=(1, 16))
    figure, caption = fixed_compute.plot_fixed_compute(
      found, _METRIC, x='local_steps'
    )
    (axis,) = figure.axes
    self.assertLen(axis.lines, 4)
    self.assertLen(axis.collections, 4)  # A band each.
    scores = found.runs['test/global/accuracy'].astype(float)
    # Means over seeds; all lines end at the same compute.
    np.testing.assert_allclose(
      [line.get_ydata()[-1] for line in axis.lines],
      scores.groupby(found.runs['label'], sort=False).mean(),
    )
    self.assertLen({line.get_xdata()[-1] for line in axis.lines}, 1)
    self.assertLen({line.get_color() for line in axis.lines}, 2)
    self.assertEqual(
      _legend(figure),
      ['FedAvg', 'FedFish'] + ['1 local epoch', '16 local epochs'],
    )
    self.assertIn('rounds times local epochs are 32 (digits)', caption)
    self.assertIn('means over 3 seeds', caption)

  @parameterized.parameters(((1, 16), 'log'), ((1, 2), 'linear'))
  def test_a_panel_a_task_logarithmic_if_rounds_differ_much(
    self, epochs, scale
  ):
    figure, _ = fixed_compute.plot_fixed_compute(
      _settings(epochs=epochs, tasks=('digits', 'emnist')), _METRIC
    )
    self.assertEqual(
      [(axis.get_title('left'), axis.get_xscale()) for axis in figure.axes],
      [('digits', scale), ('emnist', scale)],
    )

  def test_many_lines_have_a_panel_for_each_number_of_epochs(self):
    algorithms = ('fed_avg', 'fed_fish', 'fed_prox')
    figure, _ = fixed_compute.plot_fixed_compute(
      _settings(algorithms=algorithms, tasks=('digits', 'emnist')),
      _METRIC,
      x='bytes',
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
