# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the curves."""

import dataclasses

from launch.plots import curves
from launch.plots import style
from tests.launch.results import fake_runs

from absl.testing import parameterized
from matplotlib import colors
from matplotlib import ticker
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
    self.assertIn('1 to 3 seeds (1: FedAvg): lines', note)
    self.assertIn('5 of 24 training clients per round.', note)
    self.assertIn(
      'different lengths, whose rounds do not correspond, up to round 4: FedAvg; '
      'up to round 6: FedFish.',
      note,
    )

  def test_a_note_tells_what_does_not_compare_or_is_not_there(self):
    groups = {**_groups(), 'FedRep': [fake_runs.make_run('fed_rep')]}
    told = (
      "The global model is only a start for clients' models, and in no "
      'comparison: FedRep.'
    )
    self.assertIn(told, _note(_draw(groups)))
    self.assertNotIn('only a start', _note(_draw(groups, 'train/loss')))
    frames = dataclasses.replace(
      fake_runs.named(groups), left_out='2 of 9 runs are not finished'
    )
    (figure,) = curves.draw(frames, _METRIC, x_axes=['round']).values()
    self.assertIn(' 2 of 9 runs are not finished. ', _note(figure))

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
    # As many as have panels of their own, which share the axis.
    groups = {'Dear': [dear], **dict.fromkeys('abcd', [cheap])}
    figure = _draw(groups, _METRIC, x='bytes')
    self.assertEqual({axis.get_xscale() for axis in figure.axes}, {'log'})
    locator = figure.axes[0].xaxis.get_major_locator()
    self.assertIsInstance(locator, ticker.LogLocator)
    # Pale lines, too, which are not clipped.
    for axis in figure.axes:
      for line in axis.lines:
        self.assertTrue(np.all(line.get_xdata() > 0))
    figure = _draw({'Dear': [dear]}, _METRIC, x='bytes')
    self.assertEqual(figure.axes[0].get_xscale(), 'linear')
    formatter = figure.axes[0].xaxis.get_major_formatter()
    self.assertEqual(formatter(4e6), '4 MB')

  @parameterized.parameters(
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
    bare.config['cohort_size'] = 7
    groups['FedSGD'] = [_shorten(bare, 2)]
    figure = _draw(groups, _METRIC)
    self.assertNotIn('FedSGD', _lines(figure))
    self.assertEqual(
      _note(figure),
      f'{_note(_draw(_groups(), _METRIC))} Not drawn, without these numbers: '
      'FedSGD.',
    )
