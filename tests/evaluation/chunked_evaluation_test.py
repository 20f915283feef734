# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Evaluation in groups of clients: exact for any metric, one group at a time."""

import collections
import functools
import gc
from unittest import mock
import weakref

from fedfish_tff import errors
from fedfish_tff.evaluation import chunked_evaluation
from fedfish_tff.execution import cohort_context
from fedfish_tff.execution import contexts
from tests.evaluation import softmax_regression

from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_CLIENTS = tuple(
  softmax_regression.draw_examples(n, seed)
  for seed, n in enumerate((9, 4, 1, 12, 5))
)
_EMPTY = softmax_regression.draw_examples(0, 0)


def setUpModule():
  contexts.set_default_context()


@functools.cache
def _evaluation(name):
  """Tracing takes most of the time here, so every test has the same."""
  return chunked_evaluation.ChunkedEvaluation(softmax_regression.MODELS[name])


def _chunks(clients, size):
  for start in range(0, len(clients), size):
    yield [
      softmax_regression.to_dataset(c) for c in clients[start : start + size]
    ]


def _model_of_a_root():
  """A model with a metric that no mean over groups of clients gives."""
  model = softmax_regression.create_functional_model()
  metrics = tff.learning.metrics.create_functional_metric_fns(
    lambda: collections.OrderedDict(root_mean_square=_RootMeanSquare())
  )
  return tff.learning.models.FunctionalModel(
    initial_weights=model.initial_weights,
    predict_on_batch_fn=model.predict_on_batch,
    loss_fn=model.loss,
    metrics_fns=metrics,
    input_spec=model.input_spec,
  )


class _RootMeanSquare(tf.keras.metrics.Metric):
  """The root of the mean square of the largest output."""

  def __init__(self):
    super().__init__(name='root_mean_square')
    self._sum = self.add_weight('sum', initializer='zeros')
    self._count = self.add_weight('count', initializer='zeros')

  def update_state(self, y_true, y_pred, sample_weight=None):
    del y_true, sample_weight
    largest = tf.reduce_max(y_pred, axis=-1)
    self._sum.assign_add(tf.reduce_sum(largest**2))
    self._count.assign_add(tf.cast(tf.size(largest), tf.float32))

  def result(self):
    return tf.sqrt(tf.math.divide_no_nan(self._sum, self._count))


class ChunkedEvaluationTest(parameterized.TestCase):
  @parameterized.product(name=('functional', 'keras'), size=(1, 2, 5))
  def test_follows_numpy(self, name, size):
    model = softmax_regression.MODELS[name]
    weights = softmax_regression.start_weights(model)
    result = _evaluation(name)(weights, _chunks(_CLIENTS, size))
    arrays = softmax_regression.as_arrays(weights)
    pooled = tuple(np.concatenate(parts) for parts in zip(*_CLIENTS))
    self.assertLen(result.per_client, len(_CLIENTS))
    for actual, examples in [
      (result.total, pooled),
      *zip(result.per_client, _CLIENTS),
    ]:
      expected = softmax_regression.numpy_metrics(arrays, examples)
      self.assertEqual(actual['num_examples'], len(examples[1]))
      for metric in ('loss', 'accuracy'):
        np.testing.assert_allclose(actual[metric], expected[metric], rtol=1e-5)

  def test_a_metric_that_is_no_mean(self):
    model = _model_of_a_root()
    evaluate = chunked_evaluation.ChunkedEvaluation(model)
    weights = softmax_regression.model_weights(
      *softmax_regression.initial_weights()
    )
    together = evaluate(weights, _chunks(_CLIENTS, 5))
    apart = evaluate(weights, _chunks(_CLIENTS, 2))
    kernel, bias = softmax_regression.initial_weights()
    pooled = np.concatenate([x for x, _ in _CLIENTS])
    expected = np.sqrt(np.mean(np.max(pooled @ kernel + bias, axis=1) ** 2))
    for result in (together, apart):
      np.testing.assert_allclose(
        result.total['root_mean_square'], expected, rtol=1e-5
      )

  def test_clients_without_examples_are_missing(self):
    model = softmax_regression.MODELS['functional']
    weights = softmax_regression.start_weights(model)
    evaluate = _evaluation('functional')
    result = evaluate(weights, _chunks([_EMPTY, _CLIENTS[0], _EMPTY], 1))
    alone = evaluate(weights, _chunks(_CLIENTS[:1], 1))
    self.assertEqual(result.total, alone.total)
    self.assertTrue(np.isnan(result.per_client[0]['loss']))
    self.assertEqual(result.per_client[1], alone.per_client[0])
    nobody = evaluate(weights, _chunks([_EMPTY], 1))
    self.assertTrue(np.isnan(nobody.total['loss']))

  def test_one_group_is_asked_for_at_a_time(self):
    model = softmax_regression.MODELS['functional']
    weights = softmax_regression.start_weights(model)
    evaluate = _evaluation('functional')
    totals, log = evaluate._totals, []

    def record(weights, chunk):
      log.append('evaluate')
      return totals(weights, chunk)

    def chunks():
      for chunk in _chunks(_CLIENTS, 2):
        log.append('load')
        yield chunk

    with mock.patch.object(evaluate, '_totals', record):
      evaluate(weights, chunks())
    self.assertEqual(log, ['load', 'evaluate'] * 3)

  def test_one_group_is_in_memory_at_a_time(self):
    model = softmax_regression.MODELS['functional']
    weights = softmax_regression.start_weights(model)
    groups = weakref.WeakSet()

    class Group(list):
      """A list that a weak reference can be held to."""

      __hash__ = object.__hash__

    def chunks():
      for chunk in map(Group, _chunks(_CLIENTS, 2)):
        if groups:
          gc.collect()
        groups.add(chunk)
        self.assertLen(groups, 1)
        yield chunk
        del chunk

    _evaluation('functional')(weights, chunks())
    if groups:
      gc.collect()
    self.assertEmpty(groups)

  def test_no_client(self):
    model = softmax_regression.MODELS['functional']
    evaluate = _evaluation('functional')
    with self.assertRaisesRegex(errors.InputError, 'no client to evaluate on'):
      evaluate(softmax_regression.start_weights(model), [])

  @parameterized.parameters('functional', 'keras')
  def test_runs_as_graphs(self, name):
    model = softmax_regression.MODELS[name]
    context = cohort_context.SyncCohortExecutionContext()
    weights = softmax_regression.start_weights(model)
    with tff.framework.get_context_stack().install(context):
      chunked_evaluation.ChunkedEvaluation(model)(weights, _chunks(_CLIENTS, 2))
    self.assertEmpty(context.general_path_reasons)
