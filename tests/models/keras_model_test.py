# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of Keras models in rounds, against Keras' own `fit` at each client."""

import collections

from fedfish_tff import algorithms
from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff import evaluation
from fedfish_tff import models
from fedfish_tff import simulation

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_federated as tff

_RATE, _BATCH = 0.1, 4
# No batch has one example, which batch normalisation would make constant.
_SIZES = (8, 6, 4)
_layers = tf.keras.layers


class _AddsLoss(tf.keras.layers.Layer):
  def call(self, x):
    self.add_loss(0.1 * tf.reduce_mean(x**2))
    return x


def _regression():
  rng = np.random.default_rng(0)
  clients = [
    (rng.normal(size=[n, 5]).astype('f'), rng.normal(size=[n]).astype('f'))
    for n in _SIZES
  ]
  dense = _layers.Dense(
    4, 'tanh', kernel_regularizer=tf.keras.regularizers.L2()
  )
  layers = [_layers.Input([5]), dense, _AddsLoss(), _layers.Dense(1)]
  return clients, tf.keras.Sequential(layers), 'mse', ['mae']


def _several_labels():
  rng = np.random.default_rng(1)
  clients = [
    (
      rng.normal(size=[n, 5]).astype('f'),
      rng.integers(0, 2, [n, 3]).astype('f'),
    )
    for n in _SIZES
  ]
  model = tf.keras.Sequential(
    [
      _layers.Input([5]),
      _layers.Dense(6, activity_regularizer='l2'),
      _layers.ReLU(),
      _layers.Dense(3),
    ]
  )
  loss = tf.keras.losses.BinaryCrossentropy(from_logits=True)
  return clients, model, loss, [tf.keras.metrics.BinaryAccuracy('hits')]


def _several_inputs():
  rng = np.random.default_rng(2)
  clients = [
    (
      collections.OrderedDict(
        words=rng.integers(0, 7, [n, 3]).astype(np.int32),
        age=rng.normal(size=[n, 1]).astype('f'),
      ),
      rng.integers(0, 3, n).astype(np.int32),
    )
    for n in _SIZES
  ]
  words = tf.keras.Input([3], dtype=tf.int32, name='words')
  age = tf.keras.Input([1], name='age')
  embedded = _layers.Flatten()(_layers.Embedding(7, 2)(words))
  joined = _layers.Concatenate()([embedded, age])
  model = tf.keras.Model(
    {'words': words, 'age': age}, _layers.Dense(3, 'softmax')(joined)
  )
  return clients, model, 'sparse_categorical_crossentropy', ['accuracy']


def _pictures():
  """Returns a network with batch normalisation, twice, and a frozen layer."""
  rng = np.random.default_rng(3)
  clients = [
    (
      rng.normal(size=[n, 6, 6, 1]).astype('f'),
      np.eye(3, dtype='f')[rng.integers(0, 3, n)],
    )
    for n in _SIZES
  ]
  model = tf.keras.Sequential(
    [
      _layers.Input([6, 6, 1]),
      _layers.Conv2D(3, 3, trainable=False),
      _layers.BatchNormalization(momentum=0.6),
      _layers.ReLU(),
      _layers.Flatten(),
      _layers.Dense(4),
      _layers.BatchNormalization(momentum=0.3),
      _layers.Dense(3),
    ]
  )
  loss = tf.keras.losses.CategoricalCrossentropy(from_logits=True)
  return clients, model, loss, ['accuracy']


_KINDS = {
  'regression': _regression,
  'several_labels': _several_labels,
  'several_inputs': _several_inputs,
  'pictures': _pictures,
}


def _spec(clients):
  return tf.nest.map_structure(
    lambda array: tf.TensorSpec([None, *array.shape[1:]], array.dtype),
    clients[0],
  )


def _convert(kind, **kwargs):
  tf.keras.utils.set_random_seed(0)
  clients, keras_model, loss, metrics = _KINDS[kind]()
  model = models.create_keras_model(
    keras_model,
    input_spec=_spec(clients),
    loss=loss,
    metrics=metrics,
    **kwargs,
  )
  keras_model.compile(tf.keras.optimizers.SGD(_RATE), loss, metrics)
  return clients, keras_model, model


def _datasets(clients):
  return [
    tf.data.Dataset.from_tensor_slices(client).batch(_BATCH)
    for client in clients
  ]


def _fit(keras_model, clients, rounds, kept=None):
  """Runs FedAvg by Keras: the mean of all weights after `fit`, by examples.

  Clients keep the weights that `kept` names, and the model gets the last one's.
  """
  kept = kept or [False] * len(keras_model.variables)
  sizes = [len(y) for _, y in clients]
  own = [keras_model.get_weights() for _ in clients]
  start = own[0]
  for _ in range(rounds):
    for i, (x, y) in enumerate(clients):
      keras_model.set_weights(
        [mine if k else w for w, mine, k in zip(start, own[i], kept)]
      )
      keras_model.fit(x, y, batch_size=_BATCH, shuffle=False, verbose=0)
      own[i] = keras_model.get_weights()
    start = [np.average(ws, axis=0, weights=sizes) for ws in zip(*own)]
  keras_model.set_weights(
    [mine if k else w for w, mine, k in zip(start, own[-1], kept)]
  )


class KerasModelTest(parameterized.TestCase):
  @parameterized.parameters('regression', 'pictures')
  def test_rounds_are_those_of_keras(self, kind):
    self._check_rounds(kind)

  @pytest.mark.thorough
  @parameterized.parameters('several_labels', 'several_inputs')
  def test_rounds_of_other_models_are_those_of_keras(self, kind):
    self._check_rounds(kind)

  @pytest.mark.thorough
  def test_joined_outputs_train_as_several_of_keras(self):
    tf.keras.utils.set_random_seed(0)
    rng = np.random.default_rng(4)
    x = rng.normal(size=[8, 5]).astype('f')
    kind, value = rng.integers(0, 3, 8), rng.normal(size=8)
    y = np.stack([kind, value], axis=1).astype('f')
    inputs = _layers.Input([5])
    hidden = _layers.Dense(4, 'tanh')(inputs)
    outputs = [_layers.Dense(3)(hidden), _layers.Dense(1)(hidden)]
    of_class = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    def loss(labels, predictions):
      return of_class(labels[:, 0], predictions[:, :3]) + 0.5 * tf.reduce_mean(
        (labels[:, 1:] - predictions[:, 3:]) ** 2
      )

    model = models.create_keras_model(
      tf.keras.Model(inputs, _layers.Concatenate()(outputs)),
      input_spec=_spec([(x, y)]),
      loss=loss,
    )
    process = algorithms.build_fed_avg(
      model, tff.learning.optimizers.build_sgdm(_RATE)
    )
    state, _ = process.next(process.initialize(), _datasets([(x, y)]))
    several = tf.keras.Model(inputs, outputs)
    several.compile(
      tf.keras.optimizers.SGD(_RATE), [of_class, 'mse'], loss_weights=[1, 0.5]
    )
    several.fit(x, [kind, value], batch_size=_BATCH, shuffle=False, verbose=0)
    found = process.get_model_weights(state).trainable
    for tensor, expected in zip(found, several.get_weights(), strict=True):
      np.testing.assert_allclose(tensor, expected, rtol=1e-5, atol=1e-6)

  def _check_rounds(self, kind):
    clients, keras_model, model = _convert(kind)
    process = algorithms.build_fed_avg(
      model, tff.learning.optimizers.build_sgdm(_RATE)
    )
    state = process.initialize()
    for _ in range(2):
      state, _ = process.next(state, _datasets(clients))
    weights = process.get_model_weights(state)
    _fit(keras_model, clients, rounds=2)
    for found, variables in (
      (weights.trainable, keras_model.trainable_variables),
      (
        weights.non_trainable,
        [v for v in keras_model.variables if 'moving' in v.name],
      ),
    ):
      self.assertLen(found, len(variables))
      for tensor, variable in zip(found, variables):
        np.testing.assert_allclose(tensor, variable, rtol=1e-5, atol=2e-6)
    # And all metrics, on all clients' data.
    x, y = tf.nest.map_structure(
      lambda *arrays: np.concatenate(arrays), *clients
    )
    expected = keras_model.evaluate(x, y, return_dict=True, verbose=0)
    chunks = evaluation.load_chunks(
      datasets.InMemoryClientData({'all': (x, y)}), eval_batch_size=5
    )
    found = dict(evaluation.ClientScorer(model)(weights, chunks).total)
    self.assertEqual(found.pop('num_examples'), len(y))
    self.assertEqual(set(found), set(expected))
    for name, value in expected.items():
      self.assertAlmostEqual(found[name], value, places=5)

  def test_no_aggregator_but_plain_sums(self):
    model = _convert('pictures')[2]
    optimizer = tff.learning.optimizers.build_sgdm(_RATE)
    for build in (algorithms.build_fed_avg, algorithms.build_fed_nova):
      with self.assertRaisesRegex(errors.InputError, 'would escape its clip'):
        build(
          model,
          optimizer,
          model_aggregator=tff.learning.robust_aggregator(),
        )
    build = algorithms.build_fed_fish
    with self.assertRaisesRegex(errors.InputError, 'would escape its clip'):
      build(model, optimizer, sum_factory=tff.aggregators.SecureSumFactory(1.0))
    for build in (algorithms.build_fed_nova, algorithms.build_fed_fish):
      build(model, optimizer)

  @pytest.mark.thorough
  def test_clients_keep_batch_normalization(self):
    clients, keras_model, model = _convert('pictures')
    process = algorithms.build_fed_per(
      model,
      tff.learning.optimizers.build_sgdm(_RATE),
      local_tensors=model.normalization_tensors,
      local_statistics=True,
    )
    state = process.initialize()
    own = [process.initialize_client(state)] * len(clients)
    for _ in range(3):
      output = process.next(state, own, _datasets(clients))
      state, own = output.state, output.client_states
    kept = ['batch_normalization' in v.name for v in keras_model.variables]
    _fit(keras_model, clients, rounds=3, kept=kept)
    expected = keras_model.trainable_variables
    found = process.get_model_weights(state)
    self.assertEqual(sum(model.normalization_tensors), 4)
    for tensor, variable, local in zip(
      found.trainable, expected, model.normalization_tensors, strict=True
    ):
      if not local:
        np.testing.assert_allclose(tensor, variable, rtol=1e-5, atol=2e-6)
    # The last client's, which Keras' model has.
    last = process.client_model_weights(state, own[-1])
    statistics = [v for v in keras_model.variables if 'moving' in v.name]
    for tensors, variables in (
      (
        [t for t, o in zip(last.trainable, model.normalization_tensors) if o],
        [v for v, o in zip(expected, model.normalization_tensors) if o],
      ),
      (last.non_trainable, statistics),
    ):
      for tensor, variable in zip(tensors, variables, strict=True):
        np.testing.assert_allclose(tensor, variable, rtol=1e-5, atol=2e-6)

  def test_frozen_statistics_and_layers_are_not_sent(self):
    clients, keras_model, frozen = _convert('pictures', freeze_statistics=True)
    _, _, averaged = _convert('pictures')
    sent = []
    for model in (frozen, averaged):
      process = algorithms.build_fed_avg(
        model, tff.learning.optimizers.build_sgdm(_RATE)
      )
      sent.append(simulation.measure_wire_bytes(process))
    # The means and variances of 3 and 4 channels, float32.
    self.assertEqual(sent[1].download - sent[0].download, 4 * 2 * 7)
    # And the client's weight in their mean.
    self.assertEqual(sent[1].upload - sent[0].upload, 4 * 2 * 7 + 4)
    # The weights themselves, without the kernel and bias of the first layer.
    trained = sum(v.numpy().nbytes for v in keras_model.trainable_variables)
    self.assertEqual(sent[0].download, trained)
    # Keras' layers that are not trainable keep their statistics in training.
    x, _ = clients[0]
    for layer in keras_model.layers:
      layer.trainable = False
    np.testing.assert_allclose(
      frozen.predict_on_batch(frozen.initial_weights, x, training=True),
      keras_model(x, training=True),
      rtol=1e-5,
      atol=1e-6,
    )

  def test_algorithms_of_tff_refuse_what_they_would_leave_out(self):
    sgd = tff.learning.optimizers.build_sgdm(_RATE)
    for kind in ('regression', 'pictures'):
      _, _, model = _convert(kind)
      with self.assertRaisesRegex(Exception, 'by the algorithms of fedfish'):
        tff.learning.algorithms.build_weighted_fed_avg(model, sgd, sgd)

  def test_faults(self):
    dense = _layers.Dense(3)
    keras_model = tf.keras.Sequential([_layers.Input([5]), dense])
    spec = (tf.TensorSpec([None, 5]), tf.TensorSpec([None], tf.int32))
    none = tf.keras.losses.Reduction.NONE
    for message, changed in (
      ("loss of Keras, .*got 'mes'", {'loss': 'mes'}),
      ("A metric must be .*got 'hits'", {'metrics': ['hits']}),
      ('different names, .*got mse, mse', {'metrics': ['mse', 'mse']}),
      (
        'one output, such as several joined by Concatenate, got 2',
        {'keras_model': _two_outputs()},
      ),
      ('must have an output without a mask', {'keras_model': _masked()}),
      ('add losses that are one number', {'keras_model': _adding_by_example()}),
      ("'own' must have all arguments, .* for bound", {'metrics': [_Own(0.9)]}),
    ):
      with self.assertRaisesRegex(errors.InputError, message):
        models.create_keras_model(
          **{'keras_model': keras_model, 'loss': 'mse', **changed},
          input_spec=spec,
        )
    model = models.create_keras_model(
      keras_model,
      input_spec=spec,
      loss=tf.keras.losses.SparseCategoricalCrossentropy(reduction=none),
    )
    with self.assertRaisesRegex(errors.InputError, "number per batch.*'none'"):
      model.loss(np.ones([2, 3], 'f'), np.zeros(2, 'i'))

  def test_a_functions_models_have_the_same_names(self):
    def create_model():
      model = tf.keras.Sequential([_layers.Input([5]), _layers.Dense(1)])
      model.compile(
        loss='binary_crossentropy', metrics=[tf.keras.metrics.AUC()]
      )
      return model

    before = _layers.Dense(1).name
    spec = (tf.TensorSpec([None, 5]), tf.TensorSpec([None], tf.int32))
    names = set()
    for _ in range(2):
      model = models.create_functional(create_model, spec)
      metrics = model.finalize_metrics(model.initialize_metrics_state())
      names.add((model.tensor_names, tuple(metrics)))
    self.assertEqual(
      names,
      {(('dense/kernel', 'dense/bias'), ('loss', 'auc', 'num_examples'))},
    )
    # The caller's own layers go on as if nothing was made.
    self.assertNotEqual(_layers.Dense(1).name, before)

  def test_a_classifier_with_a_regularizer_scores_classes(self):
    tf.keras.utils.set_random_seed(0)
    keras_model = tf.keras.Sequential(
      [_layers.Input([4]), _layers.Dense(3, kernel_regularizer='l2')]
    )
    model = models.create_keras_classifier(
      keras_model,
      input_spec=tf.TensorSpec([None, 4]),
      class_names=('a', 'b', 'c'),
    )
    x = np.random.default_rng(0).normal(size=[9, 4]).astype('f')
    y = np.arange(9, dtype=np.int32) % 3
    scores = evaluation.ClientScorer(model)(
      tff.learning.models.ModelWeights(*model.initial_weights),
      evaluation.load_chunks(
        datasets.InMemoryClientData({'all': (x, y)}), eval_batch_size=4
      ),
    )
    found = keras_model(x).numpy().argmax(1)
    total = dict(scores.total)
    self.assertAlmostEqual(total['accuracy'], np.mean(found == y), places=6)


def _masked():
  return tf.keras.Sequential(
    [
      _layers.Input([5]),
      _layers.Embedding(7, 2, mask_zero=True),
      _layers.Dense(1),
    ]
  )


class _ByExample(_layers.Layer):
  def call(self, x):
    self.add_loss(tf.reduce_sum(x**2, axis=1))
    return x


def _adding_by_example():
  return tf.keras.Sequential(
    [_layers.Input([5]), _ByExample(), _layers.Dense(1)]
  )


class _Own(tf.keras.metrics.Mean):
  """A metric that does not tell its argument."""

  def __init__(self, bound=0.5, name='own', dtype=None):
    super().__init__(name, dtype)
    self._bound = bound


def _two_outputs():
  x = tf.keras.Input([5])
  return tf.keras.Model(x, [_layers.Dense(1)(x), _layers.Dense(2)(x)])


if __name__ == '__main__':
  absltest.main()
