# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the evaluation after fine-tuning."""

import collections
import functools

from fedfish_tff.evaluation import chunked_evaluation
from fedfish_tff.execution import cohort_context
from fedfish_tff.execution import contexts
from tests.evaluation import softmax_regression

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

  @parameterized.parameters('functional', 'keras')
  def test_no_epoch_and_no_example_leave_the_scores_as_they_are(self, name):
    for client_data in (
      _client_data(_TRAIN, _TEST, epochs=0),
      _client_data((_EMPTY, _EMPTY), _TEST),
    ):
      (_, per_client), start = self._evaluate(name, client_data)
      for result, test in zip(per_client, _TEST):
        expected = softmax_regression.numpy_metrics(
          softmax_regression.as_arrays(start), test
        )
        np.testing.assert_allclose(result['loss'], expected['loss'], rtol=2e-5)

  def test_a_client_without_unseen_examples_is_missing(self):
    (_, per_client), _ = self._evaluate(
      'functional', _client_data(_TRAIN, (_EMPTY, _TEST[1]))
    )
    self.assertEqual(per_client[0]['num_examples'], 0)
    self.assertTrue(np.isnan(per_client[0]['accuracy']))

  @pytest.mark.thorough
  def test_runs_as_graphs(self):
    context = cohort_context.SyncCohortExecutionContext()
    with tff.framework.get_context_stack().install(context):
      self._evaluate('functional', _client_data(_TRAIN, _TEST))
    self.assertEmpty(context.general_path_reasons)
