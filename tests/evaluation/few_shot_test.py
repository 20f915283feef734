# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of zero-shot, few-shot and personalised scores of clients."""

from unittest import mock

from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff.client_work import local_training
from fedfish_tff.evaluation import few_shot
from fedfish_tff.evaluation import round_evaluation
from fedfish_tff.evaluation import scorer_inputs
from fedfish_tff.models import language_model
from tests import tolerance
from tests.evaluation import softmax_regression

from absl.testing import absltest
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_federated as tff

_SIZES = {'a': 9, 'b': 12, 'c': 3, 'd': 1, 'e': 4}
_SPEC = datasets.BatchSpec(batch_size=3, epochs=2)
_SEED = 5
_VOCABULARY = 7
_FRACTIONS = (0.0, 0.25, 0.5)


def _clients():
  return datasets.InMemoryClientData(
    {
      name: softmax_regression.draw_examples(size, seed)
      for seed, (name, size) in enumerate(_SIZES.items())
    }
  )


def _evaluate(
  model, rate, weights, clients, *, fractions=_FRACTIONS, spec=_SPEC
):
  """Returns the scores by fraction."""
  training = local_training.build_local_training(
    model, tff.learning.optimizers.build_sgdm(rate)
  )
  evaluate = few_shot.FewShotEvaluation(
    round_evaluation.SharedComputations(model, lambda: training),
    fine_tune_spec=spec,
    eval_batch_size=2,
    seed=_SEED,
  )
  return {f: evaluate(weights, clients, f) for f in fractions}


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


class FewShotEvaluationTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self._model = softmax_regression.create_functional_model()
    self._arrays = softmax_regression.initial_weights()
    self._weights = softmax_regression.model_weights(*self._arrays)

  def _score(self, clients, rate=softmax_regression.LEARNING_RATE, **options):
    return _evaluate(self._model, rate, self._weights, clients, **options)

  def test_scores_follow_numpy(self):
    data = _clients()
    scores = self._score(data)
    # One example cannot be divided, three cannot be divided into quarters.
    self.assertEqual(
      {fraction: ''.join(s.per_client) for fraction, s in scores.items()},
      {0.0: 'abce', 0.25: 'abe', 0.5: 'abce'},
    )
    for fraction, (per_client, _) in scores.items():
      for client_id, metrics in per_client.items():
        split = datasets.split_few_shot
        if client_id == 'c':
          split = datasets.split_rows
        examples = data.load_client(client_id)
        support, unseen = (
          datasets.take_examples(examples, rows)
          for rows in split(
            datasets.count_examples(examples),
            fraction=0.5 if client_id == 'c' else fraction,
            client_id=client_id,
            seed=_SEED,
          )
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
        expected = softmax_regression.numpy_metrics(arrays, unseen)
        for metric in ('loss', 'accuracy'):
          np.testing.assert_allclose(
            metrics[metric], expected[metric], rtol=2e-5
          )
        self.assertEqual(metrics['num_examples'], len(unseen[0]))

  @pytest.mark.thorough
  def test_scores_do_not_depend_on_how_many_are_in_memory(self):
    def evaluate(at_a_time):
      with mock.patch.object(scorer_inputs, '_CLIENTS_AT_A_TIME', at_a_time):
        scores = self._score(_clients())
      return {fraction: s.per_client for fraction, s in scores.items()}

    together = evaluate(64)
    for at_a_time in (1, 3):
      self.assertEqual(evaluate(at_a_time), together)

  def test_no_client_is_large_enough(self):
    for scores in self._score(_clients().select(['d'])).values():
      self.assertEqual(scores, ({}, {}))

  def test_a_share_of_no_example_is_not_scored(self):
    """With a tenth, only `b` of 12 examples has one to fine-tune on."""
    scores = self._score(_clients(), fractions=[0.1])
    self.assertEqual(list(scores[0.1].per_client), ['b'])

  def test_bad_fractions(self):
    for fraction, message in (
      (0.6, 'fraction must be a number from 0 to 0.5, got 0.6'),
      (float('nan'), 'fraction must be .*got nan'),
      (0.25, 'must be 0 without a fine_tune_spec, got 0.25'),
    ):
      with self.assertRaisesRegex(errors.InputError, message):
        self._score(_clients(), fractions=[fraction], spec=None)

  def test_all_shares_are_scored_on_one_half(self):
    """Fine-tuning that changes nothing leaves every score as it is."""
    data = _clients().select(['a', 'b', 'e'])
    before, *others = self._score(data, rate=0.0).values()
    for client_id, metrics in before.per_client.items():
      self.assertEqual(metrics['num_examples'], -(-_SIZES[client_id] // 2))
    for scores in others:
      self.assertEqual(scores.per_client, before.per_client)
      self.assertEqual(scores.total, before.total)

  def test_pooled_metrics_of_tokens_follow_numpy(self):
    model = _bigram_model()
    weights = tff.learning.models.ModelWeights(
      *map(list, model.initial_weights)
    )
    data = _chunks().select(['a', 'b', 'e'])
    scores = _evaluate(model, 0.1, weights, data)
    table = np.float64(model.initial_weights[0][0])
    log_p = table - np.log(np.exp(table).sum(axis=1, keepdims=True))
    losses, hits = {}, {}
    for client_id in data.client_ids:
      x, y = data.load_client(client_id)
      _, unseen = datasets.split_few_shot(
        len(y), fraction=0, client_id=client_id, seed=_SEED
      )
      x, y = x[unseen], y[unseen]
      kept = y != 0
      losses[client_id] = -log_p[x, y][kept]
      hits[client_id] = (table.argmax(axis=1)[x] == y)[kept]
    rows, before = scores[0.0]
    for client_id, row in rows.items():
      loss = losses[client_id].mean()
      self.assertEqual(row['num_tokens'], len(losses[client_id]))
      np.testing.assert_allclose(row['loss'], loss, rtol=1e-5)
      np.testing.assert_allclose(row['perplexity'], np.exp(loss), rtol=1e-5)
    pooled = np.concatenate(list(losses.values()))
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
        - np.mean([row['perplexity'] for row in rows.values()])
      ),
      1e-4,
    )
    rows, after = scores[0.5]
    tolerance.assert_close(after['perplexity'], np.exp(after['loss']))
    tolerance.assert_close(
      after['loss'],
      np.average(
        [row['loss'] for row in rows.values()],
        weights=[row['num_tokens'] for row in rows.values()],
      ),
    )
