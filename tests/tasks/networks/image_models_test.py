# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the convolutional networks, against TFF's and Keras's."""

import itertools

from fedfish_tff import errors
from tasks.networks import image_models
from tests import tolerance

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_EMNIST = (28, 28, 1)
_CIFAR100 = (24, 24, 3)
_PUBLISHED = {
  'cnn': image_models.create_fed_avg_cnn,
  'cnn_dropout': image_models.create_dropout_cnn,
}


def _tff_model(model_id, only_digits):
  """Returns the Keras model of TFF's task on EMNIST."""
  task = tff.simulation.baselines.emnist.create_character_recognition_task(
    tff.simulation.baselines.ClientSpec(num_epochs=1, batch_size=2),
    model_id=model_id,
    only_digits=only_digits,
    use_synthetic_data=True,
  )
  return task.model_fn()._keras_model


def _random_weights(model, rng):
  return [
    (w + 0.1 * rng.standard_normal(w.shape) * (w.ndim == 1)).astype(np.float32)
    for w in model.initial_weights[0]
  ]


def _assert_same_in_keras(model, *keras_layers):
  """Asserts that a Keras model of these layers computes the same."""
  rng = np.random.default_rng(0)
  weights = _random_weights(model, rng)
  input_shape = model.input_spec[0].shape[1:]
  keras_model = tf.keras.Sequential(
    [tf.keras.layers.InputLayer(input_shape), *keras_layers]
  )
  keras_model.set_weights(weights)
  x = rng.standard_normal([3, *input_shape]).astype(np.float32)
  expected = keras_model(x)
  tolerance.assert_close(
    model.predict_on_batch((weights, ()), x, training=False),
    expected,
    relative=tolerance.FLOAT32_STEPS,
  )
  return expected, model.predict_on_batch((weights, ()), x, training=True)


def _count(model):
  return sum(w.size for w in model.initial_weights[0])


class ImageModelsTest(parameterized.TestCase):
  @parameterized.product(
    name=tuple(_PUBLISHED), only_digits=(True, False), training=(True, False)
  )
  def test_are_tffs_models_up_to_the_softmax(self, name, only_digits, training):
    if name == 'cnn_dropout' and training:
      self.skipTest('What is dropped differs.')
    rng = np.random.default_rng(0)
    model = _PUBLISHED[name](
      input_shape=_EMNIST, num_classes=10 if only_digits else 62, seed=0
    )
    weights = _random_weights(model, rng)
    keras_model = _tff_model(name, only_digits)
    keras_model.set_weights(weights)
    x = rng.random([3, *_EMNIST], np.float32)
    logits = model.predict_on_batch((weights, ()), x, training=training)
    tolerance.assert_close(
      tf.nn.softmax(logits),
      keras_model(x, training=training),
      relative=tolerance.FLOAT32_STEPS,
    )

  @parameterized.parameters(
    (image_models.create_fed_avg_cnn, 10, 1_663_370),
    (image_models.create_fed_avg_cnn, 62, 1_690_046),
    (image_models.create_dropout_cnn, 10, 1_199_882),
    (image_models.create_dropout_cnn, 62, 1_206_590),
    (image_models.create_compact_cnn, 62, 46_110),
    # By hand.
    (image_models.create_lenet5, 10, 235_522),
    (image_models.create_vgg9, 10, 2_573_450),
  )
  def test_numbers_of_weights(self, create, num_classes, expected):
    """As TFF, McMahan et al. and Reddi et al. publish them."""
    model = create(input_shape=_EMNIST, num_classes=num_classes, seed=0)
    self.assertEqual(_count(model), expected)

  @parameterized.parameters(
    (_EMNIST, 62, (16, 32, 32)),
    (_CIFAR100, 100, (32, 32, 32)),
    ((7, 10, 2), 3, (4,)),
  )
  def test_compact_cnn_is_the_same_in_keras(
    self, input_shape, num_classes, filters
  ):
    layers = tf.keras.layers
    _assert_same_in_keras(
      image_models.create_compact_cnn(
        input_shape=input_shape,
        num_classes=num_classes,
        filters=filters,
        seed=0,
      ),
      *(
        layers.Conv2D(count, size, 2, padding='same', activation='relu')
        for count, size in zip(
          filters, itertools.chain([5], itertools.repeat(3))
        )
      ),
      layers.Flatten(),
      layers.Dense(num_classes),
    )

  @parameterized.parameters(
    dict(),
    dict(filters=(64, 128), hidden_units=(256, 128), dropout=0.6),
    dict(filters=(20, 50), hidden_units=(500,)),
  )
  def test_lenet5_is_the_same_in_keras(self, **options):
    layers = tf.keras.layers
    first, second = options.get('filters', (64, 64))
    expected, trained = _assert_same_in_keras(
      image_models.create_lenet5(
        input_shape=(32, 30, 3), num_classes=7, seed=0, **options
      ),
      layers.Conv2D(first, 5, activation='relu'),
      layers.MaxPool2D(),
      layers.Conv2D(second, 5, activation='relu'),
      layers.MaxPool2D(),
      layers.Flatten(),
      *(
        layers.Dense(units, 'relu')
        for units in options.get('hidden_units', (120, 64))
      ),
      layers.Dense(7),
    )
    # Weights of the last layer see that hidden units were dropped.
    self.assertEqual(
      np.allclose(trained, expected, rtol=1e-2), 'dropout' not in options
    )

  def test_vgg9_is_the_same_in_keras(self):
    layers = tf.keras.layers

    def block(*filters):
      convolutions = (
        layers.Conv2D(f, 3, padding='same', activation='relu') for f in filters
      )
      return *convolutions, layers.MaxPool2D()

    _assert_same_in_keras(
      image_models.create_vgg9(
        input_shape=(17, 8, 3),
        num_classes=7,
        seed=0,
        filters=(4, 5, 6, 7, 20, 9),
        hidden_units=(30, 40),
      ),
      *block(4, 5),
      *block(6, 7),
      *block(20, 9),
      layers.Flatten(),
      layers.Dense(30, 'relu'),
      layers.Dense(40, 'relu'),
      layers.Dense(7),
    )

  def test_vgg9_drops_channels_and_units(self):
    """Weights of layers that pass on their inputs: ones."""
    model = image_models.create_vgg9(
      input_shape=(8, 8, 1),
      num_classes=400,
      seed=0,
      filters=(1, 1, 1, 400, 400, 400),
      hidden_units=(400, 400),
    )
    identity = np.zeros([3, 3, 400, 400], np.float32)
    identity[1, 1] = np.eye(400)
    spread = np.zeros([3, 3, 1, 400], np.float32)
    spread[1, 1] = 1
    one = spread[..., :1]
    bias = np.zeros(400, np.float32)
    weights = []
    for kernel in (one, one, one, spread, identity, identity):
      weights += [kernel, bias[: kernel.shape[-1]]]
    weights += [np.eye(400, dtype=np.float32), bias] * 3
    x = np.ones([50, 8, 8, 1], np.float32)
    found = model.predict_on_batch((weights, ()), x, training=True).numpy()
    kept = 0.95 * 0.9 * 0.9
    np.testing.assert_allclose(np.unique(found.round(4)), [0, 1 / kept], 1e-4)
    self.assertAlmostEqual(np.mean(found > 0), kept, delta=0.02)

  @parameterized.parameters(
    (image_models.create_lenet5, dict(input_shape=(15, 16, 1)), 'least 16x16'),
    (image_models.create_lenet5, dict(filters=(4,)), r'filters .*\(4,\)'),
    (image_models.create_lenet5, dict(hidden_units=()), r'hidden_units .*\(\)'),
    (image_models.create_lenet5, dict(dropout=1.0), 'dropout .*1.0'),
    (image_models.create_vgg9, dict(input_shape=(7, 8, 1)), 'at least 8x8'),
    (image_models.create_vgg9, dict(filters=(4,)), r'filters .*\(4,\)'),
    (image_models.create_vgg9, dict(hidden_units=(4,)), r'got .*\(4,\)'),
    (image_models.create_dropout_cnn, dict(input_shape=(5, 6, 1)), '6x6'),
    (image_models.create_compact_cnn, dict(filters=()), 'filters .*none'),
  )
  def test_refuses(self, create, options, message):
    with self.assertRaisesRegex(errors.InputError, message):
      create(**{'input_shape': _EMNIST, 'num_classes': 2, 'seed': 0, **options})

  def test_smallest_images(self):
    model = image_models.create_dropout_cnn(
      input_shape=(6, 7, 1), num_classes=2, seed=0
    )
    logits = model.predict_on_batch(
      model.initial_weights, np.zeros([3, 6, 7, 1], np.float32)
    )
    self.assertEqual(logits.shape, (3, 2))


class DropoutTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    rng = np.random.default_rng(0)
    self._model = image_models.create_dropout_cnn(
      input_shape=_EMNIST, num_classes=10, seed=0
    )
    self._weights = _random_weights(self._model, rng)
    self._x = rng.random([2, *_EMNIST], np.float32)

  def _predict(self, weights, x, training=True):
    return self._model.predict_on_batch(
      (weights, ()), x, training=training
    ).numpy()

  def test_is_a_function_of_batch_and_last_bias(self):
    first = self._predict(self._weights, self._x)
    np.testing.assert_array_equal(first, self._predict(self._weights, self._x))
    # Steps that hardly change the function, but what is dropped.
    moved = self._weights[:-1] + [self._weights[-1] + np.float32(1e-6)]
    for other in (
      self._predict(self._weights, self._x + np.float32(1e-6)),
      self._predict(moved, self._x),
    ):
      self.assertGreater(np.abs(first - other).max(), 1e-2)
    moved = [self._weights[0] + np.float32(1e-6), *self._weights[1:]]
    np.testing.assert_allclose(first, self._predict(moved, self._x), atol=1e-3)

  def test_keeps_the_mean_and_drops_half(self):
    """Dropout of hidden units, seen through an identity as last layer."""
    *weights, _, _ = self._weights
    model = image_models.create_dropout_cnn(
      input_shape=_EMNIST, num_classes=128, seed=0
    )
    weights = [*weights, np.eye(128, dtype=np.float32)]
    bias = np.zeros(128, np.float32)
    # Without the first dropout: all features are offsets.
    weights[4] = 0 * weights[4]
    weights[5] = np.ones(128, np.float32)
    outputs = np.stack(
      [
        model.predict_on_batch(
          ([*weights, bias + np.float32(step)], ()), self._x, training=True
        )
        - step
        for step in range(1, 65)
      ]
    )
    np.testing.assert_allclose(np.unique(outputs.round(4)), [0, 2])
    self.assertAlmostEqual(outputs.mean(), 1, delta=0.05)
