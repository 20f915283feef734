# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedPer and LG-FedAvg against NumPy, and exact limits."""

import functools
from unittest import mock

from fedfish_tff import algorithms
from fedfish_tff import errors
from fedfish_tff import models
from tasks import networks
from tests import numpy_reference as ref
from tests import rounds

from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_federated as tff

_RATE, _SERVER_RATE, _EPOCHS = 0.3, 0.7, 2


@functools.cache
def _build(kind='functional', local=rounds.HEAD, **kwargs):
  return algorithms.build_fed_per(
    rounds.MODELS[kind],
    rounds.sgd(_RATE),
    rounds.sgd(_SERVER_RATE),
    local_tensors=local,
    **kwargs,
  )


def _rounds(*args, **kwargs):
  return rounds.Rounds(_build(*args, **kwargs), epochs=_EPOCHS)


class FedPerTest(rounds.TestCase):
  def _check_follows_numpy(self, run, *, local=rounds.HEAD, **kwargs):
    start = run.server()
    method = rounds.partially_local(
      functools.partial(ref.train, rate=_RATE, epochs=_EPOCHS),
      server_rate=_SERVER_RATE,
      local=local,
      **kwargs,
    )
    self.check_follows(run, rounds.reference(start, **method))
    kept = iter(run.clients['a']['local'])
    for own, server, first, t in zip(
      run.own('a'), run.server(), start, local, strict=True
    ):
      self.assert_same(own, next(kept) if t else server)
      if t:
        # The server's own is nobody's.
        self.assert_same(server, first)

  @parameterized.parameters((rounds.HEAD,), ((False, True, True, False),))
  def test_follows_numpy_with_partial_participation(self, local):
    self._check_follows_numpy(_rounds(local=local), local=local)

  @pytest.mark.thorough
  def test_a_variable_model_follows_numpy_with_uniform_weights(self):
    uniform = tff.learning.ClientWeighting.UNIFORM
    self._check_follows_numpy(
      _rounds('variable', client_weighting=uniform), uniform=True
    )

  @pytest.mark.thorough
  def test_with_nothing_local_it_is_fed_avg(self):
    """Bit for bit: the same operations in the same order."""
    self.check_same(
      _rounds(local=(False,) * 4),
      algorithms.build_fed_avg(
        rounds.MODELS['functional'], rounds.sgd(_RATE), rounds.sgd(_SERVER_RATE)
      ),
    )


_MOMENTUM, _EPSILON = 0.8, 0.01


def _create_normalized() -> tf.keras.Model:
  return tf.keras.Sequential(
    [
      tf.keras.Input([ref.NUM_FEATURES]),
      tf.keras.layers.BatchNormalization(momentum=_MOMENTUM, epsilon=_EPSILON),
      tf.keras.layers.Dense(
        ref.NUM_CLASSES, kernel_initializer=tf.keras.initializers.Ones()
      ),
    ]
  )


def _train_normalized(weights, batches):
  """Trains scale, offset, kernel and bias; then come mean and variance."""
  scale, offset, kernel, bias, mean, variance = map(np.float64, weights)
  for x, y in list(batches) * _EPOCHS:
    center, spread = x.mean(axis=0), x.var(axis=0)
    normal = (x - center) / np.sqrt(spread + _EPSILON)
    inputs = scale * normal + offset
    logits = inputs @ kernel + bias
    error = np.exp(logits - logits.max(axis=1, keepdims=True))
    error /= error.sum(axis=1, keepdims=True)
    error = (error - np.eye(ref.NUM_CLASSES)[y]) / len(y)
    back = error @ kernel.T
    scale = scale - _RATE * (back * normal).sum(axis=0)
    offset = offset - _RATE * back.sum(axis=0)
    kernel = kernel - _RATE * inputs.T @ error
    bias = bias - _RATE * error.sum(axis=0)
    mean = _MOMENTUM * mean + (1 - _MOMENTUM) * center
    variance = _MOMENTUM * variance + (1 - _MOMENTUM) * spread
  return scale, offset, kernel, bias, mean, variance


class FedBnTest(rounds.TestCase):
  def test_follows_numpy_with_partial_participation(self):
    """Scales, offsets and statistics stay at the clients."""
    local = models.batch_normalization_tensors(_create_normalized())
    self.assertEqual(local, (True, True, False, False))
    process = algorithms.build_fed_per(
      lambda: tff.learning.models.from_keras_model(
        _create_normalized(),
        loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        input_spec=ref.input_spec(),
      ),
      rounds.sgd(_RATE),
      rounds.sgd(_SERVER_RATE),
      local_tensors=local,
      local_statistics=True,
    )
    run = rounds.Rounds(process, epochs=_EPOCHS)

    def server(run):
      return (*run.server(), *process.get_model_weights(run.state)[1])

    method = rounds.partially_local(
      _train_normalized,
      server_rate=_SERVER_RATE,
      local=(*local, True, True),
    )
    self.check_follows(
      run, rounds.reference(server(run), **method), server=server
    )
    weights = process.client_model_weights(run.state, run.clients['a'])
    self.assert_same(weights.non_trainable, run.clients['a']['statistics'])

  def test_refuses_models_without_statistics(self):
    with self.assertRaisesRegex(errors.InputError, 'batch normalisation'):
      models.batch_normalization_tensors(
        tf.keras.Sequential([tf.keras.Input([2]), tf.keras.layers.Dense(2)])
      )


class LgFedAvgTest(rounds.TestCase):
  def test_clients_keep_what_is_not_global(self):
    """FedPer with the complement, so NumPy's body stays at the clients."""
    process = algorithms.build_lg_fed_avg(
      rounds.MODELS['functional'], rounds.sgd(0.3), global_tensors=rounds.HEAD
    )
    run = rounds.Rounds(process, epochs=2)
    method = rounds.partially_local(
      functools.partial(ref.train, rate=0.3, epochs=2), local=rounds.BODY
    )
    self.check_follows(run, rounds.reference(run.server(), **method))


class MatchedLayersTest(parameterized.TestCase):
  def test_layers_of_each_kind(self):
    cnn = networks.create_compact_cnn(
      input_shape=(7, 6, 2), num_classes=3, seed=0, filters=(4, 5)
    )
    self.assertEqual(
      algorithms.find_hidden_layers(cnn), [(4, (0, 1), (2,)), (5, (2, 3), (4,))]
    )
    rnn = networks.create_stackoverflow_rnn(
      vocabulary_size=9, seed=0, embedding_size=4, lstm_size=5
    )
    layers = algorithms.find_hidden_layers(rnn)
    self.assertEqual(
      layers, [(4, (0,), (1,)), (5, (1, 2, 3), (2, 4)), (4, (4, 5), (6,))]
    )
    self.assertEqual(layers[1].matched, (1, 3))
    self.assertEqual(layers[1].recurrent, (2,))

  def test_one_layer_is_the_last(self):
    model = models.create_mlp_classifier(
      num_features=4, num_classes=3, hidden_units=(), seed=0
    )
    self.assertEqual(algorithms.find_hidden_layers(model), [])

  @parameterized.parameters(
    lambda: networks.create_cifg_lstm(
      vocabulary_size=9, seed=0, embedding_size=4, lstm_size=5
    ),
    lambda: networks.create_transformer(
      vocabulary_size=9, seed=0, **networks.TRANSFORMER_SIZES['tiny']
    ),
  )
  def test_models_of_other_layers_are_refused(self, create):
    with self.assertRaisesRegex(errors.InputError, 'FedMA can match'):
      algorithms.find_hidden_layers(create())

  def test_who_hears_the_last_layer_is_a_dense_one(self):
    weights = networks.create_character_lstm(
      vocabulary_size=9, seed=0, embedding_size=4, lstm_size=5
    ).initial_weights[0]
    model = mock.create_autospec(tff.learning.models.FunctionalModel)
    model.initial_weights = (weights[:4], ())
    with self.assertRaisesRegex(errors.InputError, 'FedMA can match'):
      algorithms.find_hidden_layers(model)
