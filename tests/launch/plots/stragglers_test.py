# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the figure of slow clients."""

from launch.methods import participation
from launch.plots import stragglers
from launch.results import straggler_lines
from tests.launch import drawn_figures
from tests.launch.results import fake_runs

from absl.testing import absltest
import numpy as np

_METRIC = 'eval/own/accuracy'


class PlotStragglersTest(absltest.TestCase):
  def test_a_row_a_cost_and_a_column_a_task(self):
    runs = [
      fake_runs.make_timed_run(algorithm, policy, seed, task={'name': task})
      for task in ('cifar10', 'emnist_shards')
      for algorithm, policy in (
        ('fed_rep', 'uniform'),
        ('fed_rep', 'srpfl'),
        ('fed_avg', 'uniform'),
      )
      for seed in (0, 1)
    ]
    lines = straggler_lines.read_lines(fake_runs.frames(runs), _METRIC)
    drawings = stragglers.plot_stragglers(lines)
    ((conditions, (figure, caption)),) = drawings.items()
    self.assertEqual(conditions, '20 clients per round, exponential speeds')
    self.assertEqual(
      [axis.get_title('left').replace('\n', ' ') for axis in figure.axes],
      [
        'cifar10, messages: 0 s per round',
        'emnist_shards, messages: 0 s per round',
        'cifar10, messages: 10 s per round',
        'emnist_shards, messages: 10 s per round',
        'cifar10, messages: 100 s per round',
        'emnist_shards, messages: 100 s per round',
      ],
    )
    fed_rep, srpfl, tuned, before = figure.axes[4].get_lines()
    np.testing.assert_allclose(fed_rep.get_xdata(), 105 * np.arange(7))
    # One colour a method; who takes part, and what is before, by the line.
    self.assertEqual(fed_rep.get_color(), srpfl.get_color())
    self.assertEqual(tuned.get_color(), before.get_color())
    self.assertNotEqual(fed_rep.get_color(), tuned.get_color())
    styles = [line.get_linestyle() for line in (fed_rep, srpfl, before)]
    self.assertLen(set(styles), 3)
    self.assertEqual(tuned.get_linestyle(), fed_rep.get_linestyle())
    self.assertEqual(
      {text.get_text().strip() for text in figure.legends[0].get_texts()}
      - {''},
      {'FedRep', 'FedAvg', 'uniform', 'SRPFL', 'before fine-tuning'},
    )
    self.assertIn('2 seeds', caption)
    drawn_figures.check_fits(self, figure)

  def test_everybody_who_may_take_part_has_a_style(self):
    runs = [
      fake_runs.make_timed_run('fed_rep', policy)
      for policy in participation.POLICIES
    ]
    cost = stragglers.COMMUNICATION_SECONDS[1]
    for run in runs:
      block = run.config['participation']
      if block['name'] == 'asynchronous':
        block['speeds']['communication_seconds'] = cost
    lines = straggler_lines.read_lines(fake_runs.frames(runs), _METRIC)
    self.assertLen(lines, len(runs))
    for figure, _ in stragglers.plot_stragglers(lines).values():
      for axis, of in zip(figure.axes, stragglers.COMMUNICATION_SECONDS):
        # Another cost would let others answer first.
        self.assertLen(axis.get_lines(), len(runs) - (of != cost))
