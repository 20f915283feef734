# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the evaluation client by client."""

import csv
import functools
import io
from unittest import mock

from fedfish_tff import datasets
from fedfish_tff.client_work import local_training
from fedfish_tff.evaluation import inputs
from fedfish_tff.execution import contexts
from launch.results import run_reader
from launch.runs import held_out_evaluation
from tests.evaluation import softmax_regression

from absl.testing import absltest
import numpy as np
import pytest
import tensorflow_federated as tff

_SIZES = {'a': 9, 'b': 12, 'c': 3, 'd': 1}
_SPEC = datasets.BatchSpec(batch_size=3, epochs=2)
_SEED = 5


def setUpModule():
  contexts.set_default_context()


def _clients(names='abcd'):
  return datasets.InMemoryClientData(
    {
      name: softmax_regression.draw_examples(_SIZES[name], seed)
      for seed, name in enumerate(names)
    }
  )


class HeldOutEvaluationTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self._model = softmax_regression.create_functional_model()
    self._arrays = softmax_regression.initial_weights()
    self._weights = softmax_regression.model_weights(*self._arrays)
    self._training = local_training.build_local_training(
      self._model,
      tff.learning.optimizers.build_sgdm(softmax_regression.LEARNING_RATE),
    )

  def _assert_columns(self, row, prefix, arrays, examples):
    expected = softmax_regression.numpy_metrics(arrays, examples)
    for metric in ('loss', 'accuracy'):
      np.testing.assert_allclose(
        row[f'{prefix}/{metric}'], expected[metric], rtol=2e-5
      )

  def test_global_rows_follow_numpy(self):
    data = _clients()
    rows, pooled = held_out_evaluation.evaluate_global(
      self._model, self._weights, data, batch_size=4
    )
    self.assertEqual(list(rows), list(data.client_ids))
    for client_id, row in rows.items():
      self.assertEqual(row['num_examples'], _SIZES[client_id])
      self._assert_columns(
        row, 'global', self._arrays, data.load_client(client_id)
      )
    every = [data.load_client(client_id) for client_id in data.client_ids]
    expected = softmax_regression.numpy_metrics(
      self._arrays, tuple(map(np.concatenate, zip(*every)))
    )
    np.testing.assert_allclose(pooled['loss'], expected['loss'], rtol=1e-5)
    self.assertEqual(list(pooled), ['loss', 'accuracy'])

  def test_personalized_rows_follow_numpy(self):
    data = _clients()
    rows = held_out_evaluation.evaluate_personalization(
      self._model,
      self._weights,
      self._training,
      data,
      batch_spec=_SPEC,
      eval_batch_size=4,
      seed=_SEED,
    )
    # One example cannot be divided, three cannot be divided into quarters.
    self.assertEqual(sorted(rows), ['a', 'b', 'c'])
    self.assertNotIn('few_shot_25/loss', rows['c'])
    self.assertIn('after/loss', rows['c'])
    for client_id in 'ab':
      for fraction, column in run_reader.FEW_SHOT_COLUMNS.items():
        support, unseen = datasets.split_few_shot(
          data.load_client(client_id),
          fraction=fraction,
          client_id=client_id,
          seed=_SEED,
        )
        arrays = self._arrays
        if fraction:
          arrays = softmax_regression.numpy_train(
            arrays,
            datasets.plan_batches(
              support,
              _SPEC,
              client_id=client_id,
              seed=_SEED,
              round_number=0,
            ),
          )
        self._assert_columns(rows[client_id], column, arrays, unseen)
        self.assertEqual(rows[client_id]['num_unseen'], len(unseen[0]))

  @pytest.mark.thorough
  def test_personalized_rows_do_not_depend_on_how_many_are_in_memory(self):
    def evaluate(at_a_time):
      with mock.patch.object(inputs, '_CLIENTS_AT_A_TIME', at_a_time):
        return held_out_evaluation.evaluate_personalization(
          self._model,
          self._weights,
          self._training,
          _clients(),
          batch_spec=_SPEC,
          eval_batch_size=4,
          seed=_SEED,
        )

    together = evaluate(64)
    for at_a_time in (1, 3):
      self.assertEqual(evaluate(at_a_time), together)

  def test_no_client_is_large_enough_to_personalize(self):
    rows = held_out_evaluation.evaluate_personalization(
      self._model,
      self._weights,
      self._training,
      _clients('d'),
      batch_spec=_SPEC,
      eval_batch_size=4,
      seed=_SEED,
    )
    self.assertEqual(rows, {})

  def test_barrier_rows_follow_numpy(self):
    data = _clients('ab')
    spec = datasets.BatchSpec(batch_size=3, epochs=2, max_examples=7)
    cohort = [
      datasets.plan_batches(
        data.load_client(client_id),
        spec,
        client_id=client_id,
        seed=_SEED,
        round_number=3,
      )
      for client_id in data.client_ids
    ]
    new = [0.5 * w for w in self._arrays]
    rows = held_out_evaluation.evaluate_barrier(
      self._model,
      self._weights,
      softmax_regression.model_weights(*new),
      self._training,
      cohort,
      eval_batch_size=4,
      higher_is_better={'loss': False, 'accuracy': True},
    )
    for client in cohort:
      row, used = rows[client.client_id], np.unique(client.indices)
      examples = tuple(part[used] for part in client.examples)
      self.assertEqual(row['num_examples'], 7)
      trained = softmax_regression.numpy_train(self._arrays, client)
      self._assert_columns(row, 'client', trained, examples)
      self._assert_columns(row, 'server', new, examples)
      self.assertAlmostEqual(
        row['barrier/loss'], row['server/loss'] - row['client/loss']
      )
      self.assertAlmostEqual(
        row['barrier/accuracy'], row['client/accuracy'] - row['server/accuracy']
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
    self.assertBetween(summary['low'], 0.4, 0.5)
    self.assertBetween(summary['high'], 0.5, 0.6)

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
    table = held_out_evaluation.summaries_to_csv([summary, diverged]).decode()
    (first, second) = csv.DictReader(io.StringIO(table))
    self.assertEqual((first['mean'], second['mean']), ('', ''))
    self.assertEqual(
      (second['num_clients'], second['num_diverged']), ('1', '1')
    )
    self.assertEqual(
      list(first)[:4], ['evaluation', 'round', 'split', 'metric']
    )

  def test_diverged_clients_are_left_out_and_counted(self):
    rows = self._ROWS | {
      'd': {'num_examples': 4, 'num_unseen': 2, 'after/x': float('nan')},
      'e': {'num_examples': 4, 'num_unseen': 2, 'after/x': float('inf')},
    }
    summary = _summarize('after', rows, 'x', higher_is_better=True)
    alone = _summarize('after', self._ROWS, 'x', higher_is_better=True)
    self.assertEqual((summary['num_clients'], summary['num_diverged']), (4, 2))
    for name in ('mean', 'low', 'high', 'mean_by_examples', 'worst_tenth'):
      self.assertEqual(summary[name], alone[name])
    text = held_out_evaluation.format_summaries([summary])
    self.assertIn('4 (diverged: 2)', text)

  def test_rows_survive_being_written_and_read(self):
    path = self.create_tempfile('clients.csv').full_path
    rows = self._ROWS | {'d': {'num_examples': 4, 'global/x': float('nan')}}
    with open(path, 'wb') as file:
      file.write(
        held_out_evaluation.rows_to_csv(
          rows, round_number=6, split='validation'
        )
      )
    table = run_reader.read_clients(path)
    self.assertEqual((table.round_number, table.split), (6, 'validation'))
    # A diverged client is not one that the column does not apply to.
    self.assertTrue(np.isnan(table.clients['d'].pop('global/x')))
    self.assertEqual(table.clients.pop('d'), {'num_examples': 4})
    self.assertEqual(table.clients, self._ROWS)

  def test_the_task_says_how_its_own_metric_is_read(self):
    self.assertEqual(
      held_out_evaluation.metric_directions(
        ['loss', 'accuracy', 'error'], 'error', False
      ),
      {'loss': False, 'accuracy': True, 'error': False},
    )


if __name__ == '__main__':
  absltest.main()
