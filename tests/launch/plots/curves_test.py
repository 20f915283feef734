# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the curves."""

import dataclasses

from launch.plots import curves
from launch.plots import style
from launch.results import settings
from tests.launch.results import fake_runs

from absl.testing import absltest
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
    self.assertEqual(figure.axes[0].get_ylabel(), 'Validation accuracy')

  def test_the_band_is_the_range_over_seeds(self):
    figure = _draw(_groups(), _METRIC)
    self.assertLen(figure.axes[0].collections, 2)
    vertices = figure.axes[0].collections[0].get_paths()[0].vertices
    at_round_2 = vertices[vertices[:, 0] == 2, 1]
    self.assertAlmostEqual(at_round_2.min(), 0.2)
    self.assertAlmostEqual(at_round_2.max(), 0.22)

  def test_a_note_tells_seeds_clients_and_lengths(self):
    groups = _groups()
    note = _note(_draw(groups))
    self.assertIn('3 seeds: lines are their means, bands from the', note)
    self.assertNotIn('different', note)
    short = dataclasses.replace(
      groups['FedAvg'][0],
      columns={n: c[:2] for n, c in groups['FedAvg'][0].columns.items()},
    )
    short.config['cohort_size'] = 5
    note = _note(_draw({**groups, 'FedAvg': [short]}))
    self.assertIn('1 to 3 seeds: lines', note)
    self.assertIn('5 clients per round.', note)
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

  def test_local_steps_are_averaged_over_seeds(self):
    figure = _draw(_groups(), _METRIC, x='local_steps')
    np.testing.assert_allclose(
      _lines(figure)['FedAvg'].get_xdata(), [202, 404, 606]
    )

  def test_bytes_have_a_unit(self):
    figure = _draw(_groups(), _METRIC, x='bytes')
    np.testing.assert_allclose(
      _lines(figure)['FedFish'].get_xdata(), [4e6, 8e6, 12e6]
    )
    formatter = figure.axes[0].xaxis.get_major_formatter()
    self.assertEqual(formatter(4e6), '4 MB')

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

  def test_seeds_with_other_rounds_meet_at_the_common_ones(self):
    late = fake_runs.make_run(seed=1)
    late = dataclasses.replace(
      late, columns={n: c[1:] for n, c in late.columns.items()}
    )
    groups = {'FedAvg': [fake_runs.make_run(seed=0), late]}
    line = _lines(_draw(groups, _METRIC))['FedAvg']
    np.testing.assert_allclose(line.get_xdata(), [4, 6])

  @parameterized.parameters(*curves.X_AXES)
  def test_a_single_run_of_a_single_round(self, x):
    run = fake_runs.make_run()
    run.columns['communication/payload_bytes_total'] = (
      run.columns['round'] * 5e3
    )
    run.columns['simulated/seconds'] = run.columns['round'] * 1.5
    run = dataclasses.replace(
      run, columns={n: c[:1] for n, c in run.columns.items()}
    )
    figure = _draw({'FedAvg': [run]}, _METRIC, x=x)
    self.assertLen(_lines(figure)['FedAvg'].get_xdata(), 1)

  def test_simulated_time_is_no_sum_over_clients(self):
    run = fake_runs.make_run()
    seconds = run.columns['round'] * 1.5
    run.columns['simulated/seconds'] = seconds
    figure = _draw({'FedAvg': [run]}, _METRIC, x='simulated_seconds')
    line = _lines(figure)['FedAvg']
    np.testing.assert_allclose(
      line.get_xdata(), seconds[: len(line.get_xdata())]
    )
    self.assertEqual(figure.axes[0].get_xlabel(), 'Simulated time in seconds')

  def test_a_curve_for_each_x_axis_the_runs_have(self):
    figures = curves.draw(fake_runs.named(_groups()), _METRIC)
    self.assertEqual(
      list(figures),
      [
        f'eval_global_accuracy_by_{x}'
        for x in ('round', 'local_steps', 'bytes')
      ],
    )
    title = figures['eval_global_accuracy_by_round'].axes[0].get_title('left')
    self.assertEqual(
      title, 'Accuracy, global model on validation clients (digits)'
    )
    groups = _groups()
    for runs in groups.values():
      for run in runs:
        del run.columns['communication/wire_bytes_total']
    figures = curves.draw(fake_runs.named(groups), _METRIC)
    self.assertNotIn('eval_global_accuracy_by_bytes', figures)

  def test_runs_without_the_metric_are_left_out(self):
    groups = _groups()
    bare = fake_runs.make_run('fed_sgd')
    groups['FedSGD'] = [
      dataclasses.replace(
        bare, columns={n: c for n, c in bare.columns.items() if n != _METRIC}
      )
    ]
    self.assertNotIn('FedSGD', _lines(_draw(groups, _METRIC)))


def _settings(
  algorithms=('fed_avg', 'fed_fish'),
  epochs=(1, 2, 16),
  tasks=('digits',),
  total=32,
):
  runs = [
    fake_runs.make_setting_run(
      algorithm, seed, local_epochs=e, rounds=total // e, task=task
    )
    for task in tasks
    for algorithm in algorithms
    for e in epochs
    for seed in (0, 1, 2)
  ]
  return settings.read_settings(fake_runs.frames(runs))


def _legend(figure):
  texts = [text.get_text() for text in figure.legends[0].get_texts()]
  return [text for text in texts if text.strip()]  # Groups fill columns.


class PlotFixedComputeTest(absltest.TestCase):
  def test_a_line_a_method_and_number_of_epochs(self):
    found = _settings(epochs=(1, 16))
    figure, caption = curves.plot_fixed_compute(found, _METRIC, x='local_steps')
    (axis,) = figure.axes
    self.assertLen(axis.lines, 4)
    self.assertLen(axis.collections, 4)  # A band each.
    # Means over seeds; all lines end at the same compute.
    np.testing.assert_allclose(
      [line.get_ydata()[-1] for line in axis.lines],
      [of.runs['test/global/accuracy'].mean() for of in found.values()],
    )
    self.assertLen({line.get_xdata()[-1] for line in axis.lines}, 1)
    self.assertLen({line.get_color() for line in axis.lines}, 2)
    self.assertEqual(
      _legend(figure),
      ['FedAvg', 'FedFish'] + ['1 local epoch', '16 local epochs'],
    )
    self.assertIn('rounds times local epochs are 32 (digits)', caption)
    self.assertIn('means over 3 seeds', caption)

  def test_rounds_that_differ_much_are_on_a_logarithmic_axis(self):
    for epochs, scale in (((1, 16), 'log'), ((1, 2), 'linear')):
      figure, _ = curves.plot_fixed_compute(
        _settings(epochs=epochs), _METRIC, x='round'
      )
      self.assertEqual(figure.axes[0].get_xscale(), scale)

  def test_a_panel_a_task(self):
    figure, _ = curves.plot_fixed_compute(
      _settings(epochs=(1, 2), tasks=('digits', 'emnist')), _METRIC
    )
    self.assertEqual(
      [axis.get_title('left') for axis in figure.axes], ['digits', 'emnist']
    )

  def test_many_lines_have_a_panel_for_each_number_of_epochs(self):
    algorithms = ('fed_avg', 'fed_fish', 'fed_prox')
    figure, _ = curves.plot_fixed_compute(
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
    self.assertIsNone(curves.plot_fixed_compute(_settings(), 'x/y'))
