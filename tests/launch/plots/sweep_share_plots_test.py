# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the figures of a sweep over shares."""

import pathlib

from launch.configs import base
from launch.configs import exchange
from launch.configs import sweeps
from launch.plots import sweep_plots
from launch.plots import sweep_share_plots
from launch.results import sweep_results
from tests.launch.sweeps import fake_sweeps

from absl.testing import absltest


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


class SweepSharePlotsTest(absltest.TestCase):
  def _groups(self, runs, **kwargs):
    path = pathlib.Path(self.create_tempdir().full_path) / 'sweep'
    self.planned = fake_sweeps.plan(runs, get_config=_get_config)
    self.folder = fake_sweeps.write_sweep(path, self.planned)
    for run in self.planned:
      share = run.fields.get('exchange.share', 1.0)
      fake_sweeps.write_result(
        self.folder,
        run,
        0.5,
        test=_score(run),
        totals={'payload_bytes': 1000 * share},
        **kwargs,
      )
    return sweep_results.group_by_seed(sweep_results.read_results(self.folder))

  def _figures(self, runs, **kwargs):
    groups = self._groups(runs, **kwargs)
    planned = sweep_share_plots.plan(groups)
    return {name: figure.keywords for name, figure in planned.items()}

  def test_panels_are_betas_and_lines_directions(self):
    figures = self._figures(
      exchange.share_sweep(
        'fed_avg,exchange=partial',
        shares=(0.2, 0.5),
        betas=(1.0, 0.5),
        seeds=(0, 1),
      )
    )
    figure = figures['share_global_accuracy']
    (panels,) = figure['rows'].values()
    self.assertEqual(list(panels), ['beta 1', 'beta 0.5'])
    for panel, beta in (('beta 1', 1.0), ('beta 0.5', 0.5)):
      self.assertEqual(list(panels[panel]), ['largest drift', 'smallest drift'])
      for line, more in (('largest drift', 0), ('smallest drift', 0.05)):
        found = panels[panel][line]
        # All sent has run once and ends each line.
        self.assertEqual(sorted(found), [0.2, 0.5, 1.0])
        for share, values in found.items():
          first = 0.1 * beta + (share < 1) * (0.3 * share + more)
          self.assertAlmostEqual(values[0], first)
          self.assertAlmostEqual(values[1], first + 0.01)
    self.assertEqual(figure['title'], 'Accuracy on test data (ag_news)')
    self.assertStartsWith(
      figure['note'],
      '2 seeds: lines are their means, bands from the lowest to the highest.',
    )
    by_bytes = figures['share_global_accuracy_by_bytes']['rows']['']['beta 1']
    self.assertEqual(
      [pair[0] for pair in by_bytes['smallest drift'][0.5]], [500, 500]
    )
    self.assertEqual(by_bytes['largest drift'][1.0][0][0], 1000)

  def test_classes_are_lines_of_their_own_figure(self):
    scores = {'global/f1_world': 0.1, 'global/f1_sci_tech': 0.2}
    figures = self._figures(
      exchange.share_sweep(
        'fed_avg,exchange=partial', shares=(0.5,), betas=(1.0, 0.5), seeds=(0,)
      ),
      more_test=scores,
    )
    rows = figures['share_global_f1']['rows']
    self.assertEqual(list(rows), ['largest drift', 'smallest drift'])
    self.assertEqual(
      rows['smallest drift']['beta 0.5'],
      {
        'world': {0.5: [0.1], 1.0: [0.1]},
        'sci tech': {0.5: [0.2], 1.0: [0.2]},
      },
    )

  def test_models_of_clients_have_figures_too(self):
    runs = exchange.share_sweep(
      'fed_avg,exchange=partial,unsent=client_keeps',
      shares=(0.5,),
      betas=(1.0, 0.5),
    )
    figures = self._figures(
      runs,
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
    panels = figures['share_clients_accuracy']['rows']['']
    self.assertEqual(panels['beta 1']['largest drift'][0.5], [0.7] * 3)
    rows = figures['share_clients_f1']['rows']
    self.assertEqual(list(rows['largest drift']['beta 1']), ['world'])

  def test_rules_for_the_unsent_end_in_their_own_run_of_all(self):
    groups = self._groups(
      [
        sweeps.Run(
          'fed_avg,exchange=partial',
          {
            'exchange.unsent': unsent,
            'exchange.direction': direction,
            'exchange.share': share,
            'task.beta': beta,
            'seed': 0,
          },
        )
        for unsent, beta in (('server_keeps', 1.0), ('client_keeps', 1.0))
        for direction, share in (
          ('largest', 0.5),
          ('smallest', 0.5),
          ('largest', 1.0),
        )
      ]
    )
    values = {}
    for group in groups:
      for run in group.runs:
        values[id(run)] = len(values)
    # Numbered in the order of the runs.
    panels = sweep_share_plots._collect(groups, lambda run: values[id(run)])
    self.assertEqual(
      panels,
      {
        '': {
          'server keeps the unsent, largest drift': {0.5: [0], 1.0: [2]},
          'server keeps the unsent, smallest drift': {0.5: [1], 1.0: [2]},
          'clients keep the unsent, largest drift': {0.5: [3], 1.0: [5]},
          'clients keep the unsent, smallest drift': {0.5: [4], 1.0: [5]},
        }
      },
    )

  def test_no_line_ends_in_the_run_of_another_variant(self):
    runs = {
      ('fed_avg,exchange=partial', 'largest', 0.5): 0,
      ('fed_avg,exchange=partial', 'largest', 1.0): 1,
      ('fed_avg,exchange=partial', 'smallest', 0.5): 2,
      ('fed_fish,exchange=partial', 'largest', 0.5): 3,
      ('fed_fish,exchange=partial', 'smallest', 0.5): 4,
      # Without a line of its own.
      ('fed_avg', None, 1.0): 5,
    }
    groups = self._groups(
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

    def value(run):
      config = run.config
      exchange = config.get('exchange', {})
      variant = config['algorithm']['name']
      return runs[
        variant + ',exchange=partial' * bool(exchange),
        exchange.get('direction'),
        exchange.get('share', 1.0),
      ]

    self.assertEqual(
      sweep_share_plots._collect(groups, value),
      {
        '': {
          'fed avg, exchange partial, largest drift': {0.5: [0], 1.0: [1]},
          'fed avg, exchange partial, smallest drift': {0.5: [2], 1.0: [1]},
          'fed fish, exchange partial, largest drift': {0.5: [3]},
          'fed fish, exchange partial, smallest drift': {0.5: [4]},
          'fed avg': {1.0: [5]},
        }
      },
    )

  def test_the_figures_can_be_drawn(self):
    groups = self._groups(
      exchange.share_sweep(
        'fed_avg,exchange=partial', betas=(1.0,), seeds=(0, 1)
      )
    )
    for figure in sweep_share_plots.plan(groups).values():
      figure().draw_without_rendering()

  def test_only_sweeps_over_shares_have_them(self):
    groups = self._groups(
      exchange.share_sweep(
        'fed_avg,exchange=partial', shares=(0.5,), seeds=(0,)
      )
    )
    figures, comparisons = sweep_plots.plan(self.folder, groups)
    self.assertTrue(figures)
    self.assertEmpty(comparisons)
    groups = self._groups(
      sweeps.grid(
        ['fed_avg,exchange=partial', 'fed_avg,exchange=partial_smallest'],
        {'task.beta': (1.0, 0.5), 'seed': (0,)},
        fixed={'exchange.direction': 'largest'},
      )[:1]
    )
    figures, comparisons = sweep_plots.plan(self.folder, groups)
    self.assertEmpty(figures)
    self.assertTrue(comparisons)
