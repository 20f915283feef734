# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of scores against the share that is sent."""

import math
import pathlib
from unittest import mock

from launch.configs import ag_news
from launch.configs import base
from launch.configs import sweeps
from launch.plots import exchange_share
from launch.results import sweep_results
from tests.launch.sweeps import fake_sweeps

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import pandas as pd


def _line(level):
  return {0.5: [level, level + 0.02], 0.1: [level + 0.1], 1.0: [0.9, 0.7]}


def _plot(rows, **kwargs):
  """Draws the scores, or pairs with bytes, by row, panel, line and share."""
  points = [
    (row, panel, line, share, *(v if isinstance(v, tuple) else (share, v)))
    for row, of_row in rows.items()
    for panel, lines in of_row.items()
    for line, shares in lines.items()
    for share, values in shares.items()
    for v in values
  ]
  columns = ['row', 'panel', 'line', 'share', 'x', 'y']
  return exchange_share.plot_scores(
    pd.DataFrame(points, columns=columns),
    x_label='Share',
    y_label='Test accuracy',
    **kwargs,
  )


class PlotScoresTest(parameterized.TestCase):
  def test_means_over_seeds(self):
    figure = _plot(
      {
        '': {
          'beta 1': {'largest': _line(0.5)},
          'beta 0.5': {'largest': {0.1: [math.nan]}},
        }
      },
      title='Accuracy',
    )
    first, second = figure.axes
    (line,) = first.lines
    np.testing.assert_allclose(line.get_xdata(), [0.1, 0.5, 1])
    np.testing.assert_allclose(line.get_ydata(), [0.6, 0.51, 0.8])
    # The band goes from the lowest to the highest seed.
    band = first.collections[0].get_paths()[0].vertices
    at_half = band[np.isclose(band[:, 0], 0.5), 1]
    np.testing.assert_allclose([at_half.min(), at_half.max()], [0.5, 0.52])
    self.assertEmpty(second.lines)
    self.assertEqual(first.get_title(loc='left'), 'beta 1')
    (legend,) = figure.legends
    self.assertEqual([t.get_text() for t in legend.get_texts()], ['largest'])

  def test_runs_that_have_diverged_are_left_out(self):
    figure = _plot(
      {'': {'': {'a': {0.1: [math.nan], 0.5: [math.nan, 0.4]}}}},
      title='',
    )
    (line,) = figure.axes[0].lines
    np.testing.assert_allclose(line.get_xydata(), [[0.5, 0.4]])

  @parameterized.parameters(
    (1, 1, 1, 1), (1, 3, 1, 3), (1, 5, 2, 3), (2, 4, 2, 4), (3, 1, 3, 1)
  )
  def test_panels_fit_and_texts_do_not_overlap(
    self, num_rows, num_panels, grid_rows, grid_columns
  ):
    panels = {
      f'beta 0.{i}': {'largest drift': _line(0.5), 'smallest drift': _line(0.3)}
      for i in range(num_panels)
    }
    rows = {f'{i}. row of lines': panels for i in range(num_rows)}
    if num_rows == 1:
      rows = {'': panels}
    figure = _plot(rows, title='Accuracy of some rather long title')
    shape = figure.axes[0].get_subplotspec().get_gridspec().get_geometry()
    self.assertEqual(shape, (grid_rows, grid_columns))
    self.assertLen(figure.axes, num_rows * num_panels)
    figure.draw_without_rendering()
    boxes = []
    for axis in figure.axes:
      for text in (axis.xaxis.label, axis._left_title):
        boxes.append(text.get_window_extent())
    for i, one in enumerate(boxes):
      for other in boxes[i + 1 :]:
        self.assertFalse(one.overlaps(other))

  def test_bytes_are_means_over_seeds(self):
    figure = _plot(
      {
        '': {
          '': {'largest': {0.1: [(1e6, 0.4), (3e6, 0.6)], 1.0: [(2e7, 0.9)]}}
        }
      },
      in_bytes=True,
      title='Accuracy',
    )
    (axis,) = figure.axes
    np.testing.assert_allclose(
      axis.lines[0].get_xydata(), [[2e6, 0.5], [2e7, 0.9]]
    )
    self.assertEqual(axis.xaxis.get_major_formatter()(2e6), '2 MB')


def _get_config(variant):
  return base.create_config(
    variant,
    task={'name': 'ag_news', 'beta': 1.0},
    rounds=2,
    cohort_size=2,
    local_epochs=1,
    batch_size=4,
    client_learning_rate=0.1,
    server_learning_rate=1.0,
    server_optimizer='sgd',
    evaluation={'personalization_epochs': 0, 'barrier': False},
  )


def _score(run):
  """A score that tells runs apart, but not those that send all."""
  overrides = run.fields
  share = overrides.get('exchange.share', 1.0)
  score = 0.1 * overrides['task.beta'] + 0.01 * overrides['seed']
  if share < 1:
    smallest = overrides['exchange.direction'] == 'smallest'
    score += 0.3 * share + 0.05 * smallest
  return score


def _told(points):
  """Returns the scores by row, panel, line and share."""
  told = {}
  for point in points.itertuples():
    key = (point.row, point.panel, point.line, point.share)
    told.setdefault(key, []).append(point.y)
  return told


class DrawTest(absltest.TestCase):
  def _read(self, runs, **kwargs):
    path = pathlib.Path(self.create_tempdir().full_path) / 'sweep'
    planned = fake_sweeps.plan(runs, get_config=_get_config)
    self.folder = fake_sweeps.write_sweep(path, planned)
    for run in planned:
      share = run.fields.get('exchange.share', 1.0)
      fake_sweeps.write_result(
        self.folder,
        run,
        0.5,
        test=_score(run),
        totals={'payload_bytes': 1000 * share},
        **kwargs,
      )
    return sweep_results.read_results(self.folder)

  def _draw(self, runs, **kwargs):
    """Returns the figures, and what each was drawn from."""
    with mock.patch.object(
      exchange_share, 'plot_scores', wraps=exchange_share.plot_scores
    ) as plot:
      figures = exchange_share.draw(self._read(runs, **kwargs))
    return dict(zip(figures, plot.call_args_list, strict=True))

  def test_panels_are_betas_and_lines_directions(self):
    figures = self._draw(
      ag_news.share_sweep(
        'fed_avg,exchange=partial',
        shares=(0.2, 0.5),
        betas=(1.0, 0.5),
        seeds=(0, 1),
      )
    )
    figure = figures['share_global_accuracy']
    told = _told(figure.args[0])
    for panel, beta in (('beta 1', 1.0), ('beta 0.5', 0.5)):
      for line, more in (('largest drift', 0), ('smallest drift', 0.05)):
        # All sent has run once and ends each line.
        for share in (0.2, 0.5, 1.0):
          first = 0.1 * beta + (share < 1) * (0.3 * share + more)
          np.testing.assert_allclose(
            told.pop(('', panel, line, share)), [first, first + 0.01]
          )
    self.assertEmpty(told)
    self.assertEqual(figure.kwargs['title'], 'Accuracy on test data (ag_news)')
    self.assertStartsWith(
      figure.kwargs['note'],
      '2 seeds: lines are their means, bands, where there are few, from the '
      'lowest to the highest.',
    )
    points = figures['share_global_accuracy_by_bytes'].args[0]
    np.testing.assert_array_equal(points['x'], 1000 * points['share'])

  def test_classes_are_lines_of_their_own_figure(self):
    figures = self._draw(
      ag_news.share_sweep(
        'fed_avg,exchange=partial', shares=(0.5,), betas=(1.0, 0.5), seeds=(0,)
      ),
      more_test={'global/f1_world': 0.1, 'global/f1_sci_tech': 0.2},
    )
    self.assertEqual(
      _told(figures['share_global_f1'].args[0]),
      {
        (row, panel, line, share): [value]
        for row in ('largest drift', 'smallest drift')
        for panel in ('beta 1', 'beta 0.5')
        for line, value in (('world', 0.1), ('sci tech', 0.2))
        for share in (0.5, 1.0)
      },
    )

  def test_models_of_clients_have_figures_too(self):
    figures = self._draw(
      ag_news.share_sweep(
        'fed_avg,exchange=partial,unsent=client_keeps',
        shares=(0.5,),
        betas=(1.0, 0.5),
      ),
      more_test={
        'clients/accuracy': 0.7,
        'clients/accuracy_std': 0.1,
        'clients/f1_world': 0.3,
        'clients/f1_world_std': 0.2,
      },
    )
    self.assertEqual(
      list(figures),
      [
        'share_global_accuracy',
        'share_global_accuracy_by_bytes',
        'share_clients_accuracy',
        'share_clients_f1',
        'share_clients_accuracy_by_bytes',
      ],
    )
    told = _told(figures['share_clients_accuracy'].args[0])
    self.assertEqual(told['', 'beta 1', 'largest drift', 0.5], [0.7] * 3)
    points = figures['share_clients_f1'].args[0]
    self.assertEqual(set(points['line']), {'world'})

  def test_rules_for_the_unsent_end_in_their_own_run_of_all(self):
    found = self._read(
      [
        sweeps.Run(
          'fed_avg,exchange=partial',
          {
            'exchange.unsent': unsent,
            'exchange.direction': direction,
            'exchange.share': share,
            'task.beta': 1.0,
            'seed': 0,
          },
        )
        for unsent in ('server_keeps', 'client_keeps')
        for direction, share in (
          ('largest', 0.5),
          ('smallest', 0.5),
          ('largest', 1.0),
        )
      ]
    )
    # Numbered in the order of the runs.
    points = exchange_share._read_lines(found.assign(y=range(6)), 'y')
    server, client = 'server keeps the unsent', 'clients keep the unsent'
    self.assertEqual(
      _told(points),
      {
        ('', '', f'{server}, largest drift', 0.5): [0],
        ('', '', f'{server}, largest drift', 1.0): [2],
        ('', '', f'{server}, smallest drift', 0.5): [1],
        ('', '', f'{server}, smallest drift', 1.0): [2],
        ('', '', f'{client}, largest drift', 0.5): [3],
        ('', '', f'{client}, largest drift', 1.0): [5],
        ('', '', f'{client}, smallest drift', 0.5): [4],
        ('', '', f'{client}, smallest drift', 1.0): [5],
      },
    )

  def test_no_line_ends_in_the_run_of_another_variant(self):
    runs = (
      ('fed_avg,exchange=partial', 'largest', 0.5),
      ('fed_avg,exchange=partial', 'largest', 1.0),
      ('fed_avg,exchange=partial', 'smallest', 0.5),
      ('fed_fish,exchange=partial', 'largest', 0.5),
      ('fed_fish,exchange=partial', 'smallest', 0.5),
      # Without a line of its own.
      ('fed_avg', None, 1.0),
    )
    found = self._read(
      [
        sweeps.Run(
          variant,
          {
            **(
              {'exchange.direction': direction, 'exchange.share': share}
              if direction
              else {}
            ),
            'task.beta': 1.0,
            'seed': 0,
          },
        )
        for variant, direction, share in runs
      ]
    )
    points = exchange_share._read_lines(found.assign(y=range(6)), 'y')
    self.assertEqual(
      {
        (line, share): values
        for (*_, line, share), values in _told(points).items()
      },
      {
        ('Partial FedAvg, largest drift', 0.5): [0],
        ('Partial FedAvg, largest drift', 1.0): [1],
        ('Partial FedAvg, smallest drift', 0.5): [2],
        ('Partial FedAvg, smallest drift', 1.0): [1],
        ('Partial FedFish, largest drift', 0.5): [3],
        ('Partial FedFish, smallest drift', 0.5): [4],
        ('FedAvg', 1.0): [5],
      },
    )

  def test_only_sweeps_over_shares_have_them(self):
    found = self._read(
      ag_news.share_sweep('fed_avg,exchange=partial', shares=(0.5,), seeds=(0,))
    )
    self.assertTrue(exchange_share.is_over_shares(found))
    found = self._read(
      sweeps.grid(
        ['fed_avg,exchange=partial', 'fed_avg,exchange=partial_smallest'],
        {'task.beta': (1.0, 0.5), 'seed': (0,)},
        fixed={'exchange.direction': 'largest'},
      )[:1]
    )
    self.assertFalse(exchange_share.is_over_shares(found))
    # One share, beside what sends all.
    found = self._read(
      [
        sweeps.Run('fed_avg', {'task.beta': 1.0, 'seed': 0}),
        sweeps.Run(
          'fed_avg,exchange=partial',
          {'task.beta': 1.0, 'seed': 0}
          | {'exchange.share': 0.5, 'exchange.direction': 'largest'},
        ),
      ]
    )
    self.assertFalse(exchange_share.is_over_shares(found))
