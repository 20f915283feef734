# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the evaluation before and after fine-tuning."""

import collections
import functools

from fedfish_tff.evaluation import chunked_evaluation
from fedfish_tff.evaluation import personalization
from fedfish_tff.execution import cohort_context
from fedfish_tff.execution import contexts
from tests.evaluation import softmax_regression

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow_federated as tff

_TRAIN = tuple(
  softmax_regression.draw_examples(n, seed) for seed, n in enumerate((9, 6))
)
_TEST = tuple(
  softmax_regression.draw_examples(n, seed) for seed, n in enumerate((7, 5))
)
_EMPTY = softmax_regression.draw_examples(0, 0)


@functools.cache
def _build(name):
  return personalization.build_personalization_evaluation(
    softmax_regression.MODELS[name],
    softmax_regression.build_local_training(name),
  )


@functools.cache
def _build_totals(name):
  return chunked_evaluation.ChunkedEvaluation(
    softmax_regression.MODELS[name],
    softmax_regression.build_local_training(name),
  )


def _client_data(train, test, epochs=1):
  return [
    collections.OrderedDict(
      train=softmax_regression.to_dataset(t, epochs=epochs),
      test=softmax_regression.to_dataset(e),
    )
    for t, e in zip(train, test)
  ]


def setUpModule():
  contexts.set_default_context()


class PersonalizationTest(parameterized.TestCase):
  @parameterized.parameters('functional', 'keras')
  def test_before_and_after_follow_numpy(self, name):
    model = softmax_regression.MODELS[name]
    start = softmax_regression.start_weights(model)
    results = _build(name)(start, _client_data(_TRAIN, _TEST, epochs=3))
    arrays = softmax_regression.as_arrays(start)
    for result, train, test in zip(results, _TRAIN, _TEST):
      self.assertEqual(list(result), ['before', 'after', 'num_examples'])
      self.assertEqual(result['num_examples'], len(test[0]))
      tuned = softmax_regression.numpy_train(
        arrays, softmax_regression.to_batches(train, epochs=3)
      )
      for when, weights in (('before', arrays), ('after', tuned)):
        expected = softmax_regression.numpy_metrics(weights, test)
        for metric, value in expected.items():
          np.testing.assert_allclose(result[when][metric], value, rtol=2e-5)

  @parameterized.parameters('functional', 'keras')
  def test_no_epoch_and_no_example_leave_the_scores_as_they_are(self, name):
    model = softmax_regression.MODELS[name]
    evaluation = _build(name)
    start = softmax_regression.start_weights(model)
    for client_data in (
      _client_data(_TRAIN, _TEST, epochs=0),
      _client_data((_EMPTY, _EMPTY), _TEST),
    ):
      for result in evaluation(start, client_data):
        self.assertEqual(result['before'], result['after'])

  @parameterized.parameters('functional', 'keras')
  def test_fine_tuning_that_diverges_has_no_score_after(self, name):
    model = softmax_regression.MODELS[name]
    start = softmax_regression.start_weights(model)
    x, y = _TRAIN[0]
    train = (np.float32(3e38) * np.sign(x), y)
    (result,) = _build(name)(start, _client_data((train,), _TEST[:1], epochs=2))
    expected = softmax_regression.numpy_metrics(
      softmax_regression.as_arrays(start), _TEST[0]
    )
    self.assertAlmostEqual(
      result['before']['accuracy'], expected['accuracy'], places=6
    )
    self.assertTrue(np.isnan(result['after']['accuracy']))
    self.assertTrue(np.isnan(result['after']['loss']))

  def test_a_client_without_unseen_examples_is_missing(self):
    model = softmax_regression.MODELS['functional']
    start = softmax_regression.start_weights(model)
    (result,) = _build('functional')(start, _client_data(_TRAIN[:1], (_EMPTY,)))
    self.assertEqual(result['num_examples'], 0)
    self.assertTrue(np.isnan(result['before']['accuracy']))
    self.assertTrue(np.isnan(result['after']['accuracy']))


class PersonalizationTotalsTest(parameterized.TestCase):
  def _evaluate(self, name, client_data):
    model = softmax_regression.MODELS[name]
    start = softmax_regression.start_weights(model)
    chunks = [client_data[:1], client_data[1:]]
    return _build_totals(name)(start, chunks), start

  @parameterized.parameters('functional', 'keras')
  def test_clients_and_total_follow_numpy(self, name):
    (total, per_client), start = self._evaluate(
      name, _client_data(_TRAIN, _TEST, epochs=3)
    )
    expected = [
      softmax_regression.numpy_metrics(
        softmax_regression.numpy_train(
          softmax_regression.as_arrays(start),
          softmax_regression.to_batches(train, epochs=3),
        ),
        test,
      )
      for train, test in zip(_TRAIN, _TEST)
    ]
    sizes = [len(test[0]) for test in _TEST]
    self.assertEqual([c['num_examples'] for c in per_client], sizes)
    self.assertEqual(total['num_examples'], sum(sizes))
    for metric in ('loss', 'accuracy'):
      values = [client[metric] for client in expected]
      np.testing.assert_allclose(
        [client[metric] for client in per_client], values, rtol=2e-5
      )
      np.testing.assert_allclose(
        total[metric], np.average(values, weights=sizes), rtol=2e-5
      )

  @parameterized.parameters('functional', 'keras')
  def test_a_client_that_diverges_is_not_in_the_total(self, name):
    x, y = _TRAIN[0]
    diverging = (np.float32(3e38) * np.sign(x), y)
    (total, per_client), _ = self._evaluate(
      name, _client_data((diverging, _TRAIN[1]), _TEST, epochs=2)
    )
    self.assertTrue(np.isnan(per_client[0]['loss']))
    for metric in ('num_examples', 'loss', 'accuracy'):
      self.assertEqual(total[metric], per_client[1][metric])

  @pytest.mark.thorough
  def test_runs_as_graphs(self):
    context = cohort_context.create_sync_cohort_execution_context()
    with tff.framework.get_context_stack().install(context):
      self._evaluate('functional', _client_data(_TRAIN, _TEST))
    self.assertEmpty(context.general_path_reasons)


if __name__ == '__main__':
  absltest.main()
