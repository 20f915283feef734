# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of scores against the share that is sent."""

import itertools
import math

from fedfish_tff import errors
from launch.configs import ag_news
from launch.configs import base
from launch.configs import sweeps
from tests.launch import binary_runner
from tests.launch import drawn_figures
from tests.launch.sweeps import fake_sweeps

from absl.testing import absltest
from absl.testing import parameterized
import pandas as pd

_SHARE = 'exchange.share'
_BINARY = 'research.partial_exchange.share_figures'


def _told(figure):
  """Returns the points of lines by panel and line: share, or bytes, and mean."""
  return {
    (axis.get_title('left'), line.get_label()): [
      tuple(point) for point in line.get_xydata().round(9).tolist()
    ]
    for axis in figure.axes
    for line in axis.lines
  }


def _plot(rows, panels, lines, **kwargs):
  """Draws (share, x, y), in each line of each panel of each row."""
  points = [
    (row, panel, line, *point)
    for row in rows
    for panel in panels
    for line, of in lines.items()
    for point in of
  ]
  columns = ['row', 'panel', 'line', 'share', 'x', 'y']
  return binary_runner.load(_BINARY).plot_scores(
    pd.DataFrame(points, columns=columns),
    x_label='Share',
    metric='accuracy',
    title='Accuracy of some rather long title',
    **kwargs,
  )


class PlotScoresTest(parameterized.TestCase):
  def test_means_over_the_seeds_that_have_not_diverged(self):
    points = [(0.5, 0.5, 0.5), (0.5, 0.5, 0.52), (0.1, 0.1, math.nan)]
    points += [(1.0, 1.0, math.nan), (1.0, 1.0, 0.7)]
    figure = _plot([''], ['beta 1'], {'largest': points, 'none': points[2:3]})
    self.assertEqual(
      _told(figure), {('beta 1', 'largest'): [(0.5, 0.51), (1.0, 0.7)]}
    )
    (legend,) = figure.legends
    self.assertEqual([t.get_text() for t in legend.get_texts()], ['largest'])

  @parameterized.parameters((1, 1, 1, 1), (1, 5, 2, 3), (2, 4, 2, 4))
  def test_panels_fit_and_texts_do_not_overlap(
    self, num_rows, num_panels, grid_rows, grid_columns
  ):
    figure = _plot(
      [f'{i}. row of lines' for i in range(num_rows)] if num_rows > 1 else [''],
      [f'beta 0.{i}' for i in range(num_panels)],
      {f'{of} drift': [(0.1, 0.1, 0.6)] for of in ('largest', 'smallest')},
    )
    shape = figure.axes[0].get_subplotspec().get_gridspec().get_geometry()
    self.assertEqual(shape, (grid_rows, grid_columns))
    self.assertLen(figure.axes, num_rows * num_panels)
    drawn_figures.check_fits(self, figure)
    boxes = [
      text.get_window_extent()
      for axis in figure.axes
      for text in (axis.xaxis.label, axis._left_title)
    ]
    for one, other in itertools.combinations(boxes, 2):
      self.assertFalse(one.overlaps(other))

  def test_bytes_are_means_over_seeds(self):
    points = [(0.1, 1e6, 0.4), (0.1, 3e6, 0.6), (1.0, 2e7, 0.9)]
    figure = _plot([''], [''], {'largest': points}, in_bytes=True)
    self.assertEqual(_told(figure), {('', 'largest'): [(2e6, 0.5), (2e7, 0.9)]})
    formatter = figure.axes[0].xaxis.get_major_formatter()
    self.assertEqual(formatter(2e6), '2 MB')


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


def _share_sweep(variant='fed_avg,exchange=partial', **kwargs):
  return ag_news.share_sweep(variant, **{'shares': (0.5,), **kwargs})


def _note(figure):
  return ' '.join(figure.legends[0].get_title().get_text().split())


class DrawTest(absltest.TestCase):
  def _read(self, runs, scores=(), **options):
    """Returns the runs of a sweep, with scores on test clients."""
    planned = fake_sweeps.plan(runs, get_config=_get_config)
    each = [
      {
        'totals': {'payload_bytes': 1000 * run.fields.get(_SHARE, 1.0)},
        'test': score,
      }
      for run, score in itertools.zip_longest(planned, scores)
    ]
    values = [0.5] * len(planned)
    return fake_sweeps.write_results(self, planned, values, each, **options)[1]

  def _draw(self, *args, **kwargs):
    return binary_runner.load(_BINARY).draw(self._read(*args, **kwargs))

  def test_panels_are_betas_and_lines_directions(self):
    runs = _share_sweep(shares=(0.2, 0.5), betas=(1.0, 0.5), seeds=(0, 1))

    def score(beta, share, direction):
      # What tells runs apart, but not those that send all.
      smallest = direction == 'smallest'
      return 0.1 * beta + (share < 1) * (0.3 * share + 0.05 * smallest)

    fields = [run.overrides for run in runs]
    figures = self._draw(
      runs,
      [
        score(
          of['task.beta'],
          of.get(_SHARE, 1.0),
          of.get('exchange.direction'),
        )
        + 0.02 * of['seed']
        for of in fields
      ],
    )
    figure = figures['share_global_accuracy']
    by_bytes = figures['share_global_accuracy_by_bytes']
    for drawn, unit in ((figure, 1), (by_bytes, 1000)):
      # All sent has run once and ends each line.
      self.assertEqual(
        _told(drawn),
        {
          (f'beta {beta:g}', f'{direction} drift'): [
            (unit * share, round(score(beta, share, direction) + 0.01, 9))
            for share in (0.2, 0.5, 1.0)
          ]
          for beta in (1.0, 0.5)
          for direction in ('largest', 'smallest')
        },
      )
    self.assertEqual(figure.get_suptitle(), 'Accuracy on test data (ag_news)')
    self.assertStartsWith(
      _note(figure),
      '2 seeds: lines are their means, and bands go from the lowest to the '
      'highest.',
    )

  def test_classes_are_lines_of_their_own_figure(self):
    figure = self._draw(
      _share_sweep(betas=(1.0, 0.5), seeds=(0,)),
      more_test={'global/f1_world': 0.1, 'global/f1_sci_tech': 0.2},
    )['share_global_f1']
    self.assertEqual(
      [axis.get_title('left') for axis in figure.axes],
      ['beta 1', 'beta 0.5'] * 2,
    )
    for axis, row in zip(figure.axes[::2], ('largest', 'smallest')):
      label = ' '.join(axis.get_ylabel().split())
      self.assertEqual(label, f'Test F1, {row} drift')
    for axis in figure.axes:
      self.assertEqual(
        {line.get_label(): line.get_xydata().tolist() for line in axis.lines},
        {
          name: [[0.5, value], [1.0, value]]
          for name, value in (('world', 0.1), ('sci tech', 0.2))
        },
      )

  def test_models_of_clients_have_figures_too(self):
    figures = self._draw(
      _share_sweep(
        'fed_avg,exchange=partial,unsent=client_keeps', betas=(1.0, 0.5)
      ),
      more_test={
        'clients/accuracy': 0.7,
        'clients/accuracy_client_std': 0.1,
        'clients/f1_world': 0.3,
        'clients/f1_world_client_std': 0.2,
      },
    )
    # Those of the global model have diverged.
    names = ['accuracy', 'f1', 'accuracy_by_bytes']
    self.assertContainsSubset([f'share_clients_{n}' for n in names], figures)
    told = _told(figures['share_clients_accuracy'])
    self.assertEqual(told['beta 1', 'largest drift'], [(0.5, 0.7), (1.0, 0.7)])
    lines = {line for _, line in _told(figures['share_clients_f1'])}
    self.assertEqual(lines, {'world'})
    self.assertNotIn('only a start', _note(figures['share_clients_accuracy']))

  def test_rules_for_the_unsent_end_in_their_own_run_of_all(self):
    figures = self._draw(
      [
        sweeps.Run(
          'fed_avg,exchange=partial',
          {
            'exchange.unsent': unsent,
            'exchange.direction': direction,
            _SHARE: share,
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
      ],
      range(6),
    )
    server, client = 'server keeps the unsent', 'clients keep the unsent'
    self.assertEqual(
      _told(figures['share_global_accuracy']),
      {
        ('', f'{server}, largest drift'): [(0.5, 0), (1.0, 2)],
        ('', f'{server}, smallest drift'): [(0.5, 1), (1.0, 2)],
        ('', f'{client}, largest drift'): [(0.5, 3), (1.0, 5)],
        ('', f'{client}, smallest drift'): [(0.5, 4), (1.0, 5)],
      },
    )
    self.assertEndsWith(
      _note(figures['share_global_accuracy']),
      "The global model is only a start for clients' models, and in no "
      f'comparison: {client}, largest drift; {client}, smallest drift.',
    )

  def test_a_line_without_a_name_is_told_by_its_variant(self):
    variant = 'fed_avg,exchange=partial,unsent=client_keeps'
    figures = self._draw(
      _share_sweep(variant, directions=('largest',), betas=(1.0,)), range(2)
    )
    self.assertEndsWith(
      _note(figures['share_global_accuracy']),
      f'in no comparison: {variant}.',
    )

  def test_no_line_ends_in_the_run_of_another_variant(self):
    figures = self._draw(
      [
        sweeps.Run(
          variant,
          {'task.beta': 1.0, 'seed': 0}
          | ({'exchange.direction': direction} if direction else {})
          | ({_SHARE: share} if direction else {}),
        )
        for variant, direction, share in (
          ('fed_avg,exchange=partial', 'largest', 0.5),
          ('fed_avg,exchange=partial', 'largest', 1.0),
          ('fed_avg,exchange=partial', 'smallest', 0.5),
          ('fed_fish,exchange=partial', 'largest', 0.5),
          ('fed_fish,exchange=partial', 'smallest', 0.5),
          # Without a line of its own.
          ('fed_avg', None, 1.0),
        )
      ],
      range(6),
    )
    self.assertEqual(
      _told(figures['share_global_accuracy']),
      {
        ('', 'Partial FedAvg, largest drift'): [(0.5, 0), (1.0, 1)],
        ('', 'Partial FedAvg, smallest drift'): [(0.5, 2), (1.0, 1)],
        ('', 'Partial FedFish, largest drift'): [(0.5, 3)],
        ('', 'Partial FedFish, smallest drift'): [(0.5, 4)],
        ('', 'FedAvg'): [(1.0, 5)],
      },
    )

  def test_only_sweeps_over_shares_have_them(self):
    fields = {'task.beta': 1.0, 'seed': 0}
    sent = {_SHARE: 0.5, 'exchange.direction': 'largest'}
    # One share, alone or beside what sends all.
    part = sweeps.Run('fed_avg,exchange=partial', fields | sent)
    for runs in ([part], [sweeps.Run('fed_avg', fields), part]):
      with self.assertRaisesRegex(errors.InputError, 'must differ in .*, got'):
        self._draw(runs)

  def test_the_binary_draws_the_finished_runs_of_a_folder(self):
    planned = fake_sweeps.plan(
      _share_sweep(betas=(1.0,), seeds=(0, 1)), get_config=_get_config
    )
    # The last run is not finished.
    folder, _ = fake_sweeps.write_results(
      self, planned, [0.5] * (len(planned) - 1)
    )
    plots = self.create_tempdir().full_path
    outcome = binary_runner.run_here(
      _BINARY, f'--sweep_dir={folder.path}', f'--output_dir={plots}'
    )
    self.assertEqual(outcome.code, 0, outcome.stderr)
    self.assertIn(f'{plots}/share_global_accuracy.png', outcome.stdout)
