# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the curves."""

import dataclasses

from launch.plots import curves
from launch.plots import style
from tests.launch.results import fake_runs

from absl.testing import parameterized
from matplotlib import colors
import numpy as np

_METRIC = 'eval/global/accuracy'


def _groups(seeds=(0, 1, 2)):
  return {
    label: [fake_runs.make_run(algorithm, seed) for seed in seeds]
    for label, algorithm in (('FedAvg', 'fed_avg'), ('FedFish', 'fed_fish'))
  }


def _draw(groups, metric=_METRIC, *, x='round', **kwargs):
  """Returns the only figure."""
  frames = fake_runs.named(groups)
  (figure,) = curves.draw(frames, metric, x_axes=[x], **kwargs).values()
  return figure


def _shorten(run, rows):
  return dataclasses.replace(
    run, columns={name: of[:rows] for name, of in run.columns.items()}
  )


def _note(figure):
  return ' '.join(figure.legends[0].get_title().get_text().split())


def _lines(figure):
  return {
    line.get_label(): line
    for line in figure.axes[0].lines
    if not line.get_label().startswith('_')
  }


class PlotCurvesTest(parameterized.TestCase):
  def test_lines_are_the_means_over_seeds(self):
    figure = _draw(_groups(), _METRIC)
    lines = _lines(figure)
    self.assertEqual(list(lines), ['FedAvg', 'FedFish'])
    np.testing.assert_allclose(
      lines['FedFish'].get_xydata(), [[2, 0.31], [4, 0.51], [6, 0.71]]
    )
    self.assertEqual(
      [text.get_text() for text in figure.legends[0].get_texts()],
      ['FedAvg', 'FedFish'],
    )
    self.assertEqual(figure.axes[0].get_xlabel(), 'Round')
    self.assertEqual(
      figure.axes[0].get_ylabel(), 'Validation accuracy, global model'
    )

  def test_a_note_tells_seeds_clients_and_lengths(self):
    groups = _groups()
    note = _note(_draw(groups))
    self.assertIn('3 seeds: lines are their means, bands from the', note)
    self.assertNotIn('different', note)
    short = _shorten(groups['FedAvg'][0], 2)
    short.config['cohort_size'] = 5
    note = _note(_draw({**groups, 'FedAvg': [short]}))
    self.assertIn('1 to 3 seeds: lines', note)
    self.assertIn('5 of 24 training clients per round.', note)
    self.assertIn(
      'different lengths, whose ends do not compare, up to FedAvg: round 4; '
      'FedFish: round 6.',
      note,
    )

  def test_each_of_many_methods_has_a_panel_with_its_band(self):
    groups = {
      label: [fake_runs.make_run(label, seed) for seed in (0, 1)]
      for label in 'abcde'
    }
    figure = _draw(groups, _METRIC)
    every, *own = figure.axes
    self.assertEqual(
      [axis.get_title('left') for axis in figure.axes], ['All', *groups]
    )
    self.assertLen(every.lines, 5)
    self.assertEmpty(every.collections)
    for axis, look in zip(own, style.method_looks(groups).values()):
      (band,) = axis.collections
      self.assertEqual(
        colors.to_hex(band.get_facecolor()), look['color'].lower()
      )
      # The means of all stand behind, in one pale colour.
      *behind, line = axis.lines
      self.assertEqual({of.get_color() for of in behind}, {style.PALE})
      self.assertEqual(line.get_color(), look['color'])

  def test_bytes_that_differ_much_have_a_logarithmic_axis(self):
    column = 'communication/wire_bytes_total'
    dear = fake_runs.make_run(seed=0)
    # The first row is that of the initial model: nothing is sent.
    sent = np.arange(len(dear.columns['round'])) * 1e9
    dear = dataclasses.replace(dear, columns={**dear.columns, column: sent})
    cheap = dataclasses.replace(
      dear, columns={**dear.columns, column: sent / 1000}
    )
    figure = _draw({'Dear': [dear], 'Cheap': [cheap]}, _METRIC, x='bytes')
    self.assertEqual(figure.axes[0].get_xscale(), 'log')
    for line in _lines(figure).values():
      self.assertTrue(np.all(line.get_xdata() > 0))
    figure = _draw({'Dear': [dear]}, _METRIC, x='bytes')
    self.assertEqual(figure.axes[0].get_xscale(), 'linear')
    formatter = figure.axes[0].xaxis.get_major_formatter()
    self.assertEqual(formatter(4e6), '4 MB')

  @parameterized.parameters(
    ('round', 2, 'Round'),
    ('local_steps', 200, 'Local gradient steps, all clients, cumulative'),
    ('bytes', 2e6, 'Communication, all clients, cumulative'),
    ('payload_bytes', 1e4, 'Updates as sent, all clients, cumulative'),
    ('simulated_seconds', 3, 'Simulated time in seconds'),
  )
  def test_a_single_run_of_a_single_round(self, x, expected, label):
    run = fake_runs.make_run()
    run.columns['communication/payload_bytes_total'] = (
      run.columns['round'] * 5e3
    )
    run.columns['simulated/seconds'] = run.columns['round'] * 1.5
    figure = _draw({'FedAvg': [_shorten(run, 1)]}, _METRIC, x=x)
    self.assertEqual(_lines(figure)['FedAvg'].get_xdata(), [expected])
    self.assertEqual(figure.axes[0].get_xlabel(), label)

  def test_runs_without_the_metric_are_left_out(self):
    groups = _groups()
    bare = fake_runs.make_run('fed_sgd')
    del bare.columns[_METRIC]
    groups['FedSGD'] = [bare]
    self.assertNotIn('FedSGD', _lines(_draw(groups, _METRIC)))


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
    figure, caption = curves.plot_fixed_compute(found, _METRIC, x='local_steps')
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
    figure, _ = curves.plot_fixed_compute(
      _settings(epochs=epochs, tasks=('digits', 'emnist')), _METRIC
    )
    self.assertEqual(
      [(axis.get_title('left'), axis.get_xscale()) for axis in figure.axes],
      [('digits', scale), ('emnist', scale)],
    )

  def test_many_lines_have_a_panel_for_each_number_of_epochs(self):
    algorithms = ('fed_avg', 'fed_fish', 'fed_prox')
    figure, _ = curves.plot_fixed_compute(
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
    self.assertIsNone(curves.plot_fixed_compute(_settings(), 'x/y'))
