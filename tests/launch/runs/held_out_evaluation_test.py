# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the evaluation client by client."""

import functools
from unittest import mock

from fedfish_tff import datasets
from fedfish_tff import evaluation
from fedfish_tff.evaluation import paired_comparison
from launch.results import run_reader
from launch.runs import held_out_evaluation
from tasks.task import Task
from tests.evaluation import softmax_regression

from absl.testing import absltest
import numpy as np


class ScoresTest(absltest.TestCase):
  def test_columns(self):
    scores = held_out_evaluation.Scores()
    by_class = np.ones([2, 2])
    for prefix, size, values in (
      ('global', 'num_examples', {'a': 0.5, 'b': float('nan')}),
      ('after', 'num_unseen', {'a': 0.25}),
    ):
      scores.add(
        prefix,
        {
          name: {'num_examples': np.int64(3), 'loss': v, 'by_class': by_class}
          for name, v in values.items()
        },
        {'num_examples': np.int64(6), 'loss': np.float32(2.5)},
        size=size,
      )
    self.assertEqual(
      scores.rows['a'],
      {
        'num_examples': 3,
        'global/loss': 0.5,
        'num_unseen': 3,
        'after/loss': 0.25,
      },
    )
    self.assertTrue(np.isnan(scores.rows['b']['global/loss']))
    self.assertEqual(
      scores.totals, {'global': {'loss': 2.5}, 'after': {'loss': 2.5}}
    )

  def test_barrier(self):
    batches = datasets.sequential_batches(
      softmax_regression.draw_examples(7, 0), client_id='a', batch_size=4
    )
    rows = held_out_evaluation.barrier_rows(
      [batches],
      evaluation.BarrierScores(
        [{'num_examples': 7, 'loss': 1.0, 'accuracy': 0.75}],
        [{'num_examples': 7, 'loss': 1.5, 'accuracy': 0.5}],
      ),
      higher_is_better={'loss': False, 'accuracy': True},
    )
    self.assertEqual(
      rows,
      {
        'a': {
          'num_examples': 7,
          'client/loss': 1.0,
          'client/accuracy': 0.75,
          'server/loss': 1.5,
          'server/accuracy': 0.5,
          'barrier/loss': 0.5,
          'barrier/accuracy': 0.25,
        }
      },
    )


_summarize = functools.partial(
  held_out_evaluation.summarize, round_number=6, split='test'
)


class SummarizeTest(absltest.TestCase):
  _ROWS = {
    'a': {'num_examples': 4, 'num_unseen': 2, 'before/x': 0.2, 'after/x': 0.6},
    'b': {'num_examples': 8, 'num_unseen': 6, 'before/x': 0.4, 'after/x': 0.4},
    'c': {'num_examples': 1, 'global/x': 1.0},
  }

  def test_statistics_over_the_clients_that_have_the_column(self):
    summary = _summarize('after', self._ROWS, 'x', higher_is_better=True)
    self.assertEqual((summary['num_clients'], summary['num_diverged']), (2, 0))
    self.assertEqual((summary['round'], summary['split']), (6, 'test'))
    self.assertAlmostEqual(summary['mean'], 0.5)
    self.assertAlmostEqual(summary['mean_by_examples'], 0.45)
    self.assertAlmostEqual(summary['worst_tenth'], 0.4)
    # Two clients have no interval.
    self.assertTrue(np.isnan([summary['low'], summary['high']]).all())

  def test_six_clients_have_an_interval(self):
    rows = {
      c: {'num_examples': 1, 'global/x': i} for i, c in enumerate('abcdef')
    }
    summary = _summarize('global', rows, 'x', higher_is_better=True)
    self.assertBetween(summary['low'], 0.8, 1.6)
    self.assertBetween(summary['high'], 3.4, 4.2)

  def test_no_p_is_computed_for_clients(self):
    rows = {str(i): {'num_examples': 1, 'global/x': i} for i in range(20)}
    with mock.patch.object(
      paired_comparison, 'flip_signs', autospec=True
    ) as flip:
      summary = _summarize('global', rows, 'x', higher_is_better=True)
    self.assertLess(summary['low'], summary['high'])
    text = held_out_evaluation.format_summaries([summary])
    self.assertIn('mean [95 % interval]', text)
    flip.assert_not_called()

  def test_differences_are_paired_by_client(self):
    summary = _summarize(
      'after', self._ROWS, 'x', higher_is_better=True, minus='before'
    )
    self.assertEqual(summary['evaluation'], 'after minus before')
    self.assertAlmostEqual(summary['mean'], 0.2)
    self.assertAlmostEqual(summary['worst_tenth'], 0.0)

  def test_no_client_and_a_diverged_client(self):
    summary = _summarize('few_shot_25', self._ROWS, 'x', higher_is_better=True)
    self.assertEqual(summary['num_clients'], 0)
    self.assertIsNone(summary['mean'])
    rows = {'a': {'num_examples': 2, 'global/x': float('nan')}}
    diverged = _summarize('global', rows, 'x', higher_is_better=False)
    self.assertTrue(np.isnan(diverged['mean']))
    text = held_out_evaluation.format_summaries([summary, diverged])
    self.assertNotIn('nan', text)
    self.assertLen(text.splitlines(), 3)
    self.assertEqual(
      (diverged['num_clients'], diverged['num_diverged']), (1, 1)
    )
    self.assertEqual(
      list(summary)[:4], ['evaluation', 'round', 'split', 'metric']
    )
    self.assertEqual(list(summary), list(diverged))

  def test_diverged_clients_are_left_out_and_counted(self):
    rows = self._ROWS | {
      'd': {'num_examples': 4, 'num_unseen': 2, 'after/x': float('nan')},
      'e': {'num_examples': 4, 'num_unseen': 2, 'after/x': float('inf')},
    }
    summary = _summarize('after', rows, 'x', higher_is_better=True)
    alone = _summarize('after', self._ROWS, 'x', higher_is_better=True)
    self.assertEqual((summary['num_clients'], summary['num_diverged']), (4, 2))
    for name in ('mean', 'low', 'high', 'mean_by_examples', 'worst_tenth'):
      np.testing.assert_equal(summary[name], alone[name])
    text = held_out_evaluation.format_summaries([summary])
    self.assertIn('4 (diverged: 2)', text)
    # Two clients have no interval.
    self.assertNotIn('interval', text)
    zero = held_out_evaluation.format_summaries([summary | {'mean': -0.0}])
    self.assertNotIn('-0', zero)

  def test_rows_survive_being_written_and_read(self):
    path = self.create_tempfile('clients.csv').full_path
    rows = self._ROWS | {'d': {'num_examples': 4, 'global/x': float('nan')}}
    with open(path, 'wb') as file:
      file.write(
        held_out_evaluation.rows_to_csv(
          rows, round_number=6, split='validation'
        )
      )
    round_number, clients = run_reader.read_clients(path)
    self.assertEqual(round_number, 6)
    found = {name: row.dropna().to_dict() for name, row in clients.iterrows()}
    # A diverged client is not one that the column does not apply to.
    expected = {'num_examples': 4, 'global/x': np.inf}
    self.assertEqual(found, self._ROWS | {'d': expected})

  def test_the_task_says_how_its_own_metric_is_read(self):
    self.assertEqual(
      held_out_evaluation.metric_directions(
        ['loss', 'accuracy', 'error'],
        mock.create_autospec(
          Task, instance=True, metric='error', higher_is_better=False
        ),
      ),
      {'loss': False, 'accuracy': True, 'error': False},
    )
