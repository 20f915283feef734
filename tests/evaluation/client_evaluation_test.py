# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the evaluation on clients."""

import functools

from fedfish_tff.evaluation import client_evaluation
from fedfish_tff.execution import contexts
from fedfish_tff.models import model_functions
from tests.evaluation import softmax_regression

from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_CLIENTS = tuple(
  softmax_regression.draw_examples(n, seed) for seed, n in enumerate((9, 4, 1))
)
_EMPTY = softmax_regression.draw_examples(0, 0)


@functools.cache
def _client_evaluation(name):
  """Tracing takes most of the time here, so every test has the same."""
  return client_evaluation.build_client_evaluation(
    softmax_regression.MODELS[name]
  )


@functools.cache
def _global_evaluation(name):
  return client_evaluation.build_global_evaluation(
    softmax_regression.MODELS[name]
  )


def setUpModule():
  contexts.set_default_context()


class ClientEvaluationTest(parameterized.TestCase):
  def _assert_metrics(self, actual, expected):
    self.assertEqual(actual['num_examples'], expected['num_examples'])
    for metric in ('loss', 'accuracy'):
      np.testing.assert_allclose(actual[metric], expected[metric], rtol=1e-5)

  @parameterized.parameters('functional', 'keras')
  def test_type_signature(self, name):
    model = softmax_regression.MODELS[name]
    evaluation = _client_evaluation(name)
    self.assertEqual(
      list(evaluation.type_signature.parameter),
      [
        tff.FederatedType(model_functions.weights_type(model), tff.SERVER),
        tff.FederatedType(model_functions.data_type(model), tff.CLIENTS),
      ],
    )
    result = evaluation.type_signature.result
    self.assertEqual(result.placement, tff.CLIENTS)
    self.assertEqual(result.member[0], tff.TensorType(np.int64))
    self.assertEqual(result.member.num_examples, tff.TensorType(np.int64))
    self.assertEqual(result.member.loss, tff.TensorType(np.float32))
    self.assertEqual(result.member.accuracy, tff.TensorType(np.float32))

  @parameterized.parameters('functional', 'keras')
  def test_each_client_follows_numpy(self, name):
    model = softmax_regression.MODELS[name]
    weights = softmax_regression.start_weights(model)
    evaluation = _client_evaluation(name)
    results = evaluation(
      weights, [softmax_regression.to_dataset(c) for c in _CLIENTS]
    )
    self.assertLen(results, len(_CLIENTS))
    for result, examples in zip(results, _CLIENTS):
      self._assert_metrics(
        result,
        softmax_regression.numpy_metrics(
          softmax_regression.as_arrays(weights), examples
        ),
      )

  @parameterized.parameters('functional', 'keras')
  def test_the_total_is_that_of_the_pooled_examples(self, name):
    model = softmax_regression.MODELS[name]
    weights = softmax_regression.start_weights(model)
    evaluation = _global_evaluation(name)
    self.assertEqual(evaluation.type_signature.result.placement, tff.SERVER)
    result = evaluation(
      weights, [softmax_regression.to_dataset(c) for c in _CLIENTS]
    )
    pooled = tuple(np.concatenate(parts) for parts in zip(*_CLIENTS))
    self._assert_metrics(
      result,
      softmax_regression.numpy_metrics(
        softmax_regression.as_arrays(weights), pooled
      ),
    )

  @parameterized.parameters('functional', 'keras')
  def test_no_example_is_missing_and_changes_no_total(self, name):
    model = softmax_regression.MODELS[name]
    weights = softmax_regression.start_weights(model)
    datasets = [softmax_regression.to_dataset(c) for c in (_CLIENTS[0], _EMPTY)]
    full, empty = _client_evaluation(name)(weights, datasets)
    self.assertEqual(empty['num_examples'], 0)
    self.assertTrue(np.isnan(empty['loss']) and np.isnan(empty['accuracy']))
    evaluation = _global_evaluation(name)
    self._assert_metrics(evaluation(weights, datasets), full)
    nothing = evaluation(weights, datasets[1:])
    self.assertEqual(nothing['num_examples'], 0)
    self.assertTrue(np.isnan(nothing['accuracy']))

  @parameterized.product(
    name=('functional', 'keras'), value=(float('nan'), float('inf'))
  )
  def test_a_model_that_has_diverged_has_no_metrics(self, name, value):
    model = softmax_regression.MODELS[name]
    start = softmax_regression.start_weights(model)
    kernel, bias = (np.array(w) for w in start.trainable)
    bias[1] = value  # An accuracy could still be computed.
    weights = tff.learning.models.ModelWeights(
      type(start.trainable)((kernel, bias)), start.non_trainable
    )
    dataset = softmax_regression.to_dataset(_CLIENTS[0])
    (client,) = _client_evaluation(name)(weights, [dataset])
    total = _global_evaluation(name)(weights, [dataset])
    for metrics in (client, total):
      self.assertEqual(metrics['num_examples'], 9)
      self.assertTrue(np.isnan(metrics['loss']))
      self.assertTrue(np.isnan(metrics['accuracy']))

  def test_a_batch_given_as_a_mapping(self):
    def create_model():
      keras_model = tf.keras.Sequential(
        [tf.keras.layers.Dense(1, use_bias=False, input_shape=[1])]
      )
      return tff.learning.models.from_keras_model(
        keras_model,
        loss=tf.keras.losses.MeanSquaredError(),
        input_spec=dict(
          x=tf.TensorSpec([None, 1], tf.float32),
          y=tf.TensorSpec([None, 1], tf.float32),
        ),
      )

    dataset = tf.data.Dataset.from_tensors(
      dict(x=[[1.0], [2.0]], y=[[2.0], [5.0]])
    )
    result = client_evaluation.build_global_evaluation(create_model)(
      tff.learning.models.ModelWeights([np.float32([[2.0]])], []), [dataset]
    )
    self.assertEqual((result['num_examples'], result['loss']), (2, 0.5))
