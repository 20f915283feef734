# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of Keras classifiers as functional models, against Keras itself."""

import contextlib
from unittest import mock

from fedfish_tff import algorithms
from fedfish_tff import client_work
from fedfish_tff import errors
from fedfish_tff import models
from fedfish_tff.models import keras_classifier
from fedfish_tff.models import keras_conversion
from tests import tolerance
from tests.models import graph_rounds

from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_federated as tff

_TOKENS = tf.TensorSpec([None, None], tf.int32)
_ROWS = tf.TensorSpec([None, 4])


class _Block(tf.keras.layers.Layer):
  def __init__(self, rate, **kwargs):
    super().__init__(**kwargs)
    self._dense = tf.keras.layers.Dense(6, activation='swish', name='dense')
    self._dropout = tf.keras.layers.Dropout(rate)

  def call(self, x, training):
    return x + self._dropout(self._dense(x), training=training)


class _Subclassed(tf.keras.Model):
  """A model that cannot be cloned: embeddings, a loop and frozen weights."""

  def __init__(self, rate=0.0):
    super().__init__()
    self._embedding = tf.keras.layers.Embedding(20, 6, name='embedding')
    self._blocks = [_Block(rate, name=f'block_._{i}') for i in range(2)]
    self._recurrent = tf.keras.layers.SimpleRNN(5, name='recurrent')
    self._frozen = tf.keras.layers.Dense(4, name='frozen', trainable=False)
    self._head = tf.keras.layers.Dense(3, name='head')

  def call(self, x, training=False):
    x = self._embedding(x)
    for block in self._blocks:
      x = block(x, training=training)
    return self._head(self._frozen(self._recurrent(x)))


def _create_keras_model(rate=0.0):
  model = _Subclassed(rate)
  model(np.zeros([1, 2], np.int32))
  rng = np.random.default_rng(0)
  model.set_weights([0.5 * rng.normal(size=w.shape) for w in model.weights])
  return model


def _stack(*layers, shape=(4,)):
  return tf.keras.Sequential([tf.keras.Input(shape), *layers])


def _convert(keras_model, input_spec=_ROWS, **kwargs):
  return keras_classifier.create_keras_classifier(
    keras_model, input_spec=input_spec, **kwargs
  )


def _batch(rows, seed=0):
  rng = np.random.default_rng(seed)
  x = rng.integers(0, 20, [rows, 7]).astype(np.int32)
  return x, rng.integers(0, 3, rows).astype(np.int32)


def _gradients(weights, predict, x, y):
  """Returns dense gradients of Keras' own cross-entropy."""
  with tf.GradientTape() as tape:
    tape.watch(weights)
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)(
      y, predict(x)
    )
  return [
    tf.convert_to_tensor(gradient) for gradient in tape.gradient(loss, weights)
  ]


@contextlib.contextmanager
def _policy(name):
  """Sets the types of layers, as a script or floatx in keras.json does."""
  tf.keras.mixed_precision.set_global_policy(name)
  try:
    yield
  finally:
    tf.keras.mixed_precision.set_global_policy('float32')


class KerasClassifierTest(parameterized.TestCase):
  def test_equals_the_keras_model(self):
    keras_model = _create_keras_model()
    model = _convert(keras_model, _TOKENS)
    trainable, others = model.initial_weights
    # Those of the frozen layer are constants.
    self.assertEmpty(others)
    for weight, variable in zip(
      trainable, keras_model.trainable_variables, strict=True
    ):
      np.testing.assert_array_equal(weight, variable.numpy())
    x, y = _batch(5)
    for training in (False, True):
      tolerance.assert_close(
        model.predict_on_batch(model.initial_weights, x, training=training),
        keras_model(x, training=training),
      )
    weights = list(map(tf.constant, trainable))
    found = _gradients(
      weights,
      lambda x: model.predict_on_batch((weights, others), x, training=True),
      x,
      y,
    )
    expected = _gradients(
      keras_model.trainable_variables,
      lambda x: keras_model(x, training=True),
      x,
      y,
    )
    tolerance.assert_all_close(found, expected)

  def test_the_keras_model_may_change_and_weights_come_from_outside(self):
    keras_model = _create_keras_model()
    model = _convert(keras_model, _TOKENS)
    x, _ = _batch(4)
    before = keras_model(x).numpy()
    for variable in keras_model.trainable_variables:
      variable.assign_add(tf.fill(variable.shape, 0.1))
    changed = ([v.numpy() for v in keras_model.trainable_variables], ())
    for weights, expected in (
      (model.initial_weights, before),
      (changed, keras_model(x)),
    ):
      tolerance.assert_close(
        model.predict_on_batch(weights, x, training=False), expected
      )

  def test_names(self):
    # A second model of the process has another name.
    for _ in range(2):
      self.assertEqual(
        keras_conversion.keras_tensor_names(_create_keras_model()),
        (
          'embedding/embeddings',
          'block_0/dense/kernel',
          'block_0/dense/bias',
          'block_1/dense/kernel',
          'block_1/dense/bias',
          'recurrent/simple_rnn_cell/kernel',
          'recurrent/simple_rnn_cell/recurrent_kernel',
          'recurrent/simple_rnn_cell/bias',
          'head/kernel',
          'head/bias',
        ),
      )

  def test_equal_names_become_unique(self):
    keras_model = tf.keras.Sequential(
      [tf.keras.layers.Dense(2, input_shape=(2,))]
    )
    (kernel, bias) = keras_model.trainable_variables
    twice = mock.Mock(
      spec=tf.keras.Model, trainable_variables=[kernel, kernel, bias, kernel]
    )
    twice.name = kernel.name.partition('/')[0]
    self.assertEqual(
      keras_conversion.keras_tensor_names(twice),
      ('kernel', 'kernel_1', 'bias', 'kernel_2'),
    )

  def test_dropout(self):
    keras_model = _create_keras_model(rate=0.25)
    model = _convert(keras_model, _TOKENS)
    x, _ = _batch(64)
    weights = model.initial_weights

    def predict(weights, x):
      return model.predict_on_batch(weights, x, training=True).numpy()

    first = predict(weights, x)
    np.testing.assert_array_equal(predict(weights, x), first)
    evaluated = model.predict_on_batch(weights, x, training=False)
    tolerance.assert_close(evaluated, keras_model(x))
    self.assertGreater(np.abs(first - evaluated).max(), 1e-3)
    # The step before has moved the last bias.
    moved = ([*weights[0][:-1], weights[0][-1] + 0.5], weights[1])
    self.assertGreater(np.abs(predict(moved, x) - 0.5 - first).max(), 1e-3)
    # And another batch, of which the first rows are the same.
    other = np.concatenate([x[:-1], x[-1:] * 0])
    self.assertGreater(np.abs(predict(weights, other) - first)[:-1].max(), 1e-3)

  def test_dropout_keeps_its_share(self):
    dropout = tf.keras.layers.Dropout
    keras_model = _stack(dropout(0.3), dropout(0.5), shape=[1000])
    bias = tf.Variable(np.zeros([1000], np.float32))
    keras_model._trainable_weights.append(bias)
    model = _convert(
      keras_model,
      tf.TensorSpec([None, 1000]),
      call=lambda x, training: keras_model(x, training=training) + bias,
    )
    found = model.predict_on_batch(
      model.initial_weights, np.ones([50, 1000], np.float32), training=True
    ).numpy()
    # What both keep, which draw independently of each other.
    self.assertAlmostEqual(np.mean(found > 0), 0.7 * 0.5, delta=0.01)
    np.testing.assert_allclose(found[found > 0], 1 / (0.7 * 0.5), rtol=1e-5)

  def test_refuses_a_layer_that_draws_in_a_loop(self):
    dropout = tf.keras.layers.Dropout(0.5, name='drop')

    class Looping(tf.keras.Model):
      def __init__(self):
        super().__init__()
        self.dense, self.drop = tf.keras.layers.Dense(2), dropout

      def call(self, x, training=False):
        x = self.dense(x)
        for _ in tf.range(2):
          x = self.drop(x, training=training)
        return x

    keras_model = Looping()
    keras_model(np.zeros([1, 4]))
    self._assert_refused("'drop' .* draws .* in a loop", keras_model)

  @parameterized.named_parameters(
    ('flip', lambda layers: layers.RandomFlip('horizontal')),
    ('crop', lambda layers: layers.RandomCrop(4, 4)),
    ('rotation', lambda layers: layers.RandomRotation(0.2)),
    ('zoom', lambda layers: layers.RandomZoom(0.2)),
    ('translation', lambda layers: layers.RandomTranslation(0.2, 0.2)),
    ('contrast', lambda layers: layers.RandomContrast(0.5)),
    ('brightness', lambda layers: layers.RandomBrightness(0.2)),
  )
  def test_augmentation(self, make):
    layer = make(tf.keras.layers)
    keras_model = _stack(
      layer,
      tf.keras.layers.Flatten(),
      tf.keras.layers.Dense(3),
      shape=[8, 8, 1],
    )
    model = _convert(keras_model, tf.TensorSpec([None, 8, 8, 1]))
    rng = np.random.default_rng(0)
    x = rng.uniform(size=[6, 8, 8, 1]).astype(np.float32)
    weights = model.initial_weights
    first, again, other = (
      model.predict_on_batch(weights, batch, training=True).numpy()
      for batch in (x, x, np.concatenate([x[:-1], x[-1:] / 2]))
    )
    np.testing.assert_array_equal(again, first)
    self.assertGreater(np.abs(other - first)[:-1].max(), 1e-3)
    evaluated = model.predict_on_batch(weights, x, training=False)
    np.testing.assert_allclose(
      evaluated, keras_model(x, training=False), rtol=1e-5, atol=1e-6
    )
    # The layer itself draws anew, as before.
    draws = [layer(x, training=True).numpy() for _ in range(8)]
    self.assertTrue(any(np.any(draw != draws[0]) for draw in draws))

  def test_mirrors_each_image_by_itself(self):
    keras_model = _stack(
      tf.keras.layers.RandomFlip('horizontal'),
      tf.keras.layers.Flatten(),
      tf.keras.layers.Dense(2, kernel_initializer='identity'),
      shape=[1, 2, 1],
    )
    model = _convert(keras_model, tf.TensorSpec([None, 1, 2, 1]))
    x = np.tile(np.float32([[[1], [2]]]), [400, 1, 1, 1])
    found = model.predict_on_batch(model.initial_weights, x, training=True)
    mirrored = found.numpy()[:, 0] == 2
    np.testing.assert_array_equal(
      found, np.where(mirrored[:, None], [2, 1], [1, 2])
    )
    self.assertBetween(mirrored.mean(), 0.4, 0.6)

  def test_recurrent_dropout_has_one_mask_for_a_sequence(self):
    layer = tf.keras.layers.SimpleRNN(
      50,
      activation='linear',
      kernel_initializer='identity',
      recurrent_initializer='identity',
      recurrent_dropout=0.5,
    )
    model = _convert(_stack(layer, shape=[6, 50]), tf.TensorSpec([None, 6, 50]))
    # The state grows by what its mask keeps, doubled: 1, 3, 7, ..., or stays 1.
    found = model.predict_on_batch(
      model.initial_weights, np.ones([8, 6, 50], np.float32), training=True
    ).numpy()
    self.assertEqual(set(found.ravel()), {1, 63})
    self.assertBetween(np.mean(found == 63), 0.4, 0.6)

  def test_frozen_statistics(self):
    normalize = tf.keras.layers.BatchNormalization()
    keras_model = _stack(normalize, tf.keras.layers.Dense(3))
    mean, variance = np.arange(4.0), np.arange(1, 5.0)
    normalize.moving_mean.assign(mean)
    normalize.moving_variance.assign(variance)
    model = _convert(keras_model, freeze_statistics=True)
    self.assertTrue(normalize.trainable)
    (scale, offset, kernel, bias), statistics = model.initial_weights
    self.assertEmpty(statistics)
    rng = np.random.default_rng(0)
    x = rng.normal(size=[5, 4]).astype(np.float32)
    weights = ([scale * 2, offset + 1, kernel, bias], statistics)
    expected = (x - mean) / np.sqrt(variance + normalize.epsilon) * 2 + 1
    for training in (True, False):
      np.testing.assert_allclose(
        model.predict_on_batch(weights, x, training=training),
        expected @ kernel,
        rtol=1e-4,
        atol=1e-5,
      )

  @pytest.mark.thorough
  def test_trains_on_the_fast_path(self):
    model = _convert(
      _create_keras_model(rate=0.25),
      _TOKENS,
      class_names=('one', 'two', 'three'),
    )
    data = [
      tf.data.Dataset.from_tensor_slices(_batch(rows, seed=rows)).batch(4)
      for rows in (9, 6)
    ]
    process = algorithms.build_fed_avg(
      model, tff.learning.optimizers.build_adamw(0.01)
    )
    weights, metrics = graph_rounds.check(process, data, num_rounds=3)
    self.assertEqual(metrics['num_examples'], 15)
    self.assertIn('f1_two', metrics)
    for found, initial in zip(
      weights.trainable, model.initial_weights[0], strict=True
    ):
      self.assertGreater(np.abs(found - initial).max(), 0)
    tolerance.assert_same(weights.non_trainable, model.initial_weights[1])

  def _assert_refused(self, regex, keras_model, input_spec=_ROWS, **kwargs):
    with self.assertRaisesRegex(errors.InputError, regex):
      _convert(keras_model, input_spec, **kwargs)

  def test_faults(self):
    dense = tf.keras.layers.Dense(2, name='dense')
    keras_model = _stack(dense)
    for regex, model, *spec in (
      (
        r'an output of shape .*2, 1\)',
        _stack(dense, tf.keras.layers.Reshape([2, 1])),
      ),
      ('Keras 2, itself, .*got a builtins.function', lambda: keras_model),
      (
        r'that of a batch of x, .*shape=\(4,\)',
        keras_model,
        tf.TensorSpec([4]),
      ),
      ('that of a batch of x', keras_model, (_ROWS, _ROWS)),
    ):
      self._assert_refused(regex, model, *spec)
    self._assert_refused(
      "float32 .*'dense/kernel:0' .*read",
      keras_model,
      call=lambda x, training: x,
    )

  @pytest.mark.thorough
  def test_steps_are_those_of_from_keras_model(self):
    dense = tf.keras.layers.Dense
    normal = tf.keras.initializers.RandomNormal
    for policy in ('float32', 'mixed_bfloat16'):
      with self.subTest(policy):

        def create(policy=policy):
          with _policy(policy):
            norm = tf.keras.layers.BatchNormalization()
            keras_model = _stack(
              dense(5, 'relu', kernel_initializer=normal(seed=1)),
              norm,
              dense(5, kernel_initializer=normal(seed=2), trainable=False),
              dense(3, kernel_initializer=normal(seed=3), dtype='float32'),
            )
            norm.trainable = False
            return keras_model

        rng = np.random.default_rng(0)
        x = rng.normal(size=[6, 4]).astype(np.float32)
        y = rng.integers(0, 3, 6).astype(np.int32)
        weights = [
          np.asarray(
            client_work.build_local_training(
              model, tff.learning.optimizers.build_sgdm(0.5)
            )(
              models.build_initial_weights(model)(),
              tf.data.Dataset.from_tensor_slices((x, y)).batch(2),
            ).trainable[0]
          )
          for model in (
            _convert(create()),
            lambda: tff.learning.models.from_keras_model(
              create(),
              loss=tf.keras.losses.SparseCategoricalCrossentropy(
                from_logits=True
              ),
              input_spec=(_ROWS, tf.TensorSpec([None], tf.int32)),
              metrics=[],
            ),
          )
        ]
        np.testing.assert_array_equal(*weights)

  def test_refuses_what_a_functional_model_cannot_hold(self):
    dense = tf.keras.layers.Dense
    activation = 'must end without an activation.*got {}'
    for regex, *layers in (
      (
        "'.*/kernel:0' .* no constraint",
        dense(2, kernel_constraint='non_neg'),
      ),
      (activation.format('Softmax'), dense(2, 'softmax')),
      (
        activation.format('Sigmoid'),
        dense(2, 'sigmoid'),
        tf.keras.layers.Flatten(),
      ),
    ):
      self._assert_refused(regex, _stack(*layers))
    compiled = _stack(dense(2))
    compiled.compile('sgd', 'mse')
    self._assert_refused('must not be compiled', compiled)

  def test_refuses_types_of_other_policies(self):
    dense = tf.keras.layers.Dense
    with _policy('mixed_float16'):
      self._assert_refused(
        "output of float32, by dtype='float32' .*float16", _stack(dense(2))
      )
    with _policy('float64'):
      self._assert_refused(
        'got .*float64 .*read', _stack(dense(2), dense(2, dtype='float32'))
      )

  def test_refuses_what_cannot_be_repeated(self):
    def loop(x):
      for _ in tf.range(2):
        x += tf.random.uniform([2])
      return x

    for op, change in (
      ('RandomShuffle', tf.random.shuffle),
      ('RandomUniform', tf.function(loop)),
      (
        'RandomStandardNormal',
        lambda x: tf.cond(
          tf.shape(x)[0] > 2, lambda: x + tf.random.normal([2]), lambda: x
        ),
      ),
      ('RandomGamma', lambda x: x + tf.random.gamma([2], 1.0)),
      (
        'Multinomial',
        lambda x: tf.cast(tf.random.categorical(x, 2), tf.float32) + x,
      ),
    ):
      with self.subTest(op):
        keras_model = _stack(tf.keras.layers.Dense(2))
        self._assert_refused(
          f'draws random numbers by {op} .*must be a Keras layer',
          keras_model,
          call=lambda x, training, m=keras_model, c=change: c(m(x)),
        )
