# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of zero-shot, few-shot and personalised scores on a target."""

import csv
import io

from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff.client_work import local_training
from fedfish_tff.execution import contexts
from fedfish_tff.models import language_model
from launch.runs import held_out_evaluation
from launch.runs import transfer_evaluation
from tests import tolerance
from tests.evaluation import softmax_regression

from absl.testing import absltest
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_SIZES = {'a': 9, 'b': 12, 'c': 3, 'd': 1, 'e': 4}
_SPEC = datasets.BatchSpec(batch_size=3, epochs=2)
_SEED = 5
_VOCABULARY = 7
_COLUMNS = ('before', 'few_shot_25', 'after')


def setUpModule():
  contexts.set_default_context()


def _clients():
  return datasets.InMemoryClientData(
    {
      name: softmax_regression.draw_examples(size, seed)
      for seed, (name, size) in enumerate(_SIZES.items())
    }
  )


def _select(**options):
  return transfer_evaluation.select_clients(
    'news', _clients(), seed=0, **options
  )


def _train_with(model, rate):
  return local_training.build_local_training(
    model, tff.learning.optimizers.build_sgdm(rate)
  )


def _evaluate(model, rate, weights, clients, spec=_SPEC):
  return transfer_evaluation.TransferEvaluation(
    model,
    _train_with(model, rate),
    fine_tune_spec=spec,
    eval_batch_size=2,
    seed=_SEED,
  )(weights, clients)


def _bigram_model():
  """A language model of a table of logits by the token before."""
  table = np.random.default_rng(3).normal(size=(_VOCABULARY, _VOCABULARY))
  return language_model.create_language_model(
    lambda weights, x, training: tf.gather(weights[0], x),
    [table.astype(np.float32)],
    special_tokens=datasets.DEFAULT_SPECIAL_TOKENS,
  )


def _chunks():
  rng = np.random.default_rng(4)
  clients = {}
  for name, size in _SIZES.items():
    x, y = rng.integers(1, _VOCABULARY, size=(2, size, 5)).astype(np.int32)
    y[-1, 2:] = 0  # Padding.
    clients[name] = (x, y)
  return datasets.InMemoryClientData(clients)


class SelectClientsTest(absltest.TestCase):
  def test_small_clients_are_counted(self):
    data, num_too_small = _select()
    self.assertEqual(list(data.client_ids), ['a', 'b', 'e'])
    self.assertEqual(num_too_small, 2)

  def test_some_are_drawn(self):
    data, num_too_small = _select(max_clients=4)
    self.assertEqual(len(data.client_ids) + num_too_small, 4)
    again, _ = _select(max_clients=4)
    self.assertEqual(list(data.client_ids), list(again.client_ids))
    self.assertLen(_select(max_clients=5).data.client_ids, 3)

  def test_a_target_of_small_clients_only(self):
    with self.assertRaisesRegex(
      errors.InputError, 'None of the 2 held-out clients of target news has the'
    ):
      transfer_evaluation.select_clients(
        'news', _clients().select(['c', 'd']), seed=0
      )


class TransferEvaluationTest(absltest.TestCase):
  def test_clients_score_as_in_the_evaluation_of_personalisation(self):
    model = softmax_regression.create_functional_model()
    weights = softmax_regression.model_weights(
      *softmax_regression.initial_weights()
    )
    rate = softmax_regression.LEARNING_RATE
    data = _select().data
    scores = _evaluate(model, rate, weights, data)
    expected = held_out_evaluation.evaluate_personalization(
      model,
      weights,
      _train_with(model, rate),
      data,
      batch_spec=_SPEC,
      eval_batch_size=2,
      seed=_SEED,
    )
    self.assertEqual(list(scores.rows), list(expected))
    for client_id, row in expected.items():
      self.assertEqual(row.keys(), scores.rows[client_id].keys())
      for name, value in row.items():
        np.testing.assert_allclose(scores.rows[client_id][name], value)

  def test_all_shares_are_scored_on_one_half(self):
    """Fine-tuning that changes nothing leaves every score as it is."""
    model = softmax_regression.create_functional_model()
    weights = softmax_regression.model_weights(
      *softmax_regression.initial_weights()
    )
    data = _select().data
    rows, totals = _evaluate(model, 0.0, weights, data)
    for client_id, row in rows.items():
      self.assertEqual(row['num_unseen'], -(-_SIZES[client_id] // 2))
      for metric in ('loss', 'accuracy'):
        self.assertLen({row[f'{column}/{metric}'] for column in _COLUMNS}, 1)
    self.assertEqual(totals['before'], totals['few_shot_25'])
    self.assertEqual(totals['before'], totals['after'])
    # And that half is no part of what is fine-tuned on.
    for client_id in data.client_ids:
      halves = [
        datasets.split_few_shot(
          data.load_client(client_id),
          fraction=fraction,
          client_id=client_id,
          seed=_SEED,
        )
        for fraction in (0.25, 0.5)
      ]
      for support, unseen in halves:
        np.testing.assert_array_equal(unseen[0], halves[0][1][0])
        seen = {x.tobytes() for x in support[0]}
        self.assertNoCommonElements(seen, {x.tobytes() for x in unseen[0]})

  def test_pooled_metrics_of_tokens_follow_numpy(self):
    model = _bigram_model()
    weights = tff.learning.models.ModelWeights(
      *map(list, model.initial_weights)
    )
    data = _chunks().select(['a', 'b', 'e'])
    rows, totals = _evaluate(model, 0.1, weights, data)
    table = np.float64(model.initial_weights[0][0])
    log_p = table - np.log(np.exp(table).sum(axis=1, keepdims=True))
    losses, hits = {}, {}
    for client_id in data.client_ids:
      _, (x, y) = datasets.split_few_shot(
        data.load_client(client_id), fraction=0, client_id=client_id, seed=_SEED
      )
      kept = y != 0
      losses[client_id] = -log_p[x, y][kept]
      hits[client_id] = (table.argmax(axis=1)[x] == y)[kept]
    for client_id, row in rows.items():
      loss = losses[client_id].mean()
      self.assertEqual(row['before/num_tokens'], len(losses[client_id]))
      np.testing.assert_allclose(row['before/loss'], loss, rtol=1e-5)
      np.testing.assert_allclose(
        row['before/perplexity'], np.exp(loss), rtol=1e-5
      )
    pooled = np.concatenate(list(losses.values()))
    before = totals['before']
    self.assertEqual(before['num_tokens'], len(pooled))
    np.testing.assert_allclose(before['loss'], pooled.mean(), rtol=1e-5)
    np.testing.assert_allclose(
      before['perplexity'], np.exp(pooled.mean()), rtol=1e-5
    )
    np.testing.assert_allclose(
      before['accuracy'],
      np.concatenate(list(hits.values())).mean(),
      rtol=1e-6,
    )
    # Not the mean of the clients' perplexities.
    self.assertGreater(
      abs(
        before['perplexity']
        - np.mean([row['before/perplexity'] for row in rows.values()])
      ),
      1e-4,
    )
    after = totals['after']
    tolerance.assert_close(
      after['perplexity'],
      np.exp(after['loss']),
      relative=tolerance.FLOAT32_SUMS,
    )
    tolerance.assert_close(
      after['loss'],
      np.average(
        [row['after/loss'] for row in rows.values()],
        weights=[row['after/num_tokens'] for row in rows.values()],
      ),
      relative=tolerance.FLOAT32_SUMS,
    )

  def test_without_personalisation(self):
    model = _bigram_model()
    weights = tff.learning.models.ModelWeights(
      *map(list, model.initial_weights)
    )
    scores = _evaluate(
      model, 0.1, weights, _chunks().select(['a', 'b']), spec=None
    )
    self.assertEqual(list(scores.totals), ['before'])
    self.assertNotIn('after/loss', scores.rows['a'])


class TablesTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    nan = float('nan')
    self._scores = transfer_evaluation.TransferScores(
      rows={
        client_id: {'num_unseen': 3}
        | {f'{column}/loss': value for column, value in zip(_COLUMNS, values)}
        for client_id, values in {
          'a': (1.0, 2.0, 3.0),
          'b,': (2.0, 4.0, nan),
        }.items()
      },
      totals={column: {'loss': 7.5} for column in _COLUMNS},
    )
    self._found = transfer_evaluation.summarize(
      self._scores,
      {'loss': False},
      target='news',
      round_number=6,
      split='test',
      num_too_small=4,
    )

  def test_a_row_a_share(self):
    self.assertEqual([s.percent for s in self._found], [0, 25, 50])
    self.assertEqual([s.mean for s in self._found], [1.5, 3.0, 3.0])
    self.assertEqual([s.num_diverged for s in self._found], [0, 0, 1])
    for score in self._found:
      self.assertEqual((score.num_clients, score.num_too_small), (2, 4))
      self.assertEqual(score.all_tokens, 7.5)
    self.assertEqual((self._found[0].low, self._found[0].high), (1.0, 2.0))

  def test_csv(self):
    content = transfer_evaluation.scores_to_csv(self._found).decode()
    rows = list(csv.DictReader(io.StringIO(content)))
    self.assertLen(rows, 3)
    self.assertEqual((rows[1]['percent'], rows[1]['mean']), ('25', '3.0'))
    # One client has no interval.
    self.assertEqual(rows[2]['low'], '')
    content = transfer_evaluation.clients_to_csv(
      {('news', 6): self._scores}, ['loss'], split='test'
    ).decode()
    self.assertEqual(
      content.splitlines(),
      [
        'target,client_id,round,split,percent,num_unseen,loss',
        'news,a,6,test,0,3,1.0',
        'news,a,6,test,25,3,2.0',
        'news,a,6,test,50,3,3.0',
        'news,"b,",6,test,0,3,2.0',
        'news,"b,",6,test,25,3,4.0',
        'news,"b,",6,test,50,3,nan',
      ],
    )

  def test_text(self):
    # A count is no score.
    found = [*self._found, self._found[0]._replace(metric='num_tokens')]
    head, line = transfer_evaluation.format_scores(found).splitlines()
    self.assertEqual(
      head.split(),
      ['target', 'round', 'metric', 'clients', '0', '%', '25', '%', '50', '%'],
    )
    self.assertIn('2 (4 too small)', line)
    self.assertIn('1.5 [1, 2], all 7.5', line)
    self.assertIn('3, all 7.5 (diverged: 1)', line)


if __name__ == '__main__':
  absltest.main()
