# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the convolutional networks, against TFF's and Keras's."""

import functools
import itertools

from fedfish_tff import algorithms
from fedfish_tff import client_work
from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff import models
from fedfish_tff.execution import cohort_context
from fedfish_tff.models import image_models
from tests import named_tensors
from tests import tolerance

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import pytest
from scipy import stats
import tensorflow as tf
import tensorflow_federated as tff

_EMNIST = (28, 28, 1)
_CIFAR100 = (24, 24, 3)
_PUBLISHED = {
  'cnn': image_models.create_fed_avg_cnn,
  'cnn_dropout': image_models.create_dropout_cnn,
}
_ALL = (
  image_models.create_compact_cnn,
  image_models.create_lenet5,
  image_models.create_vgg9,
  *_PUBLISHED.values(),
)


def _tff_model(model_id, only_digits):
  """Returns the Keras model of TFF's task on EMNIST."""
  task = tff.simulation.baselines.emnist.create_character_recognition_task(
    tff.simulation.baselines.ClientSpec(num_epochs=1, batch_size=2),
    model_id=model_id,
    only_digits=only_digits,
    use_synthetic_data=True,
  )
  return task.model_fn()._keras_model


def _compact_keras_model(input_shape, num_classes, filters):
  layers = tf.keras.layers
  return tf.keras.Sequential(
    [layers.InputLayer(input_shape)]
    + [
      layers.Conv2D(count, size, 2, padding='same', activation='relu')
      for count, size in zip(filters, itertools.chain([5], itertools.repeat(3)))
    ]
    + [layers.Flatten(), layers.Dense(num_classes)]
  )


def _random_weights(model, rng):
  return [
    (w + 0.1 * rng.standard_normal(w.shape) * (w.ndim == 1)).astype(np.float32)
    for w in model.initial_weights[0]
  ]


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
    rng = np.random.default_rng(0)
    model = image_models.create_compact_cnn(
      input_shape=input_shape,
      num_classes=num_classes,
      filters=filters,
      seed=0,
    )
    weights = _random_weights(model, rng)
    keras_model = _compact_keras_model(input_shape, num_classes, filters)
    keras_model.set_weights(weights)
    x = rng.standard_normal([3, *input_shape]).astype(np.float32)
    np.testing.assert_allclose(
      model.predict_on_batch((weights, ()), x, training=True),
      keras_model(x),
      rtol=1e-4,
      atol=1e-4,
    )

  @parameterized.parameters(
    dict(),
    dict(filters=(64, 128), hidden_units=(256, 128), dropout=0.6),
    dict(filters=(20, 50), hidden_units=(500,)),
  )
  def test_lenet5_is_the_same_in_keras(self, **options):
    rng = np.random.default_rng(0)
    model = image_models.create_lenet5(
      input_shape=(32, 30, 3), num_classes=7, seed=0, **options
    )
    weights = _random_weights(model, rng)
    layers = tf.keras.layers
    first, second = options.get('filters', (64, 64))
    keras_model = tf.keras.Sequential(
      [
        layers.InputLayer((32, 30, 3)),
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
      ]
    )
    keras_model.set_weights(weights)
    x = rng.standard_normal([3, 32, 30, 3]).astype(np.float32)
    tolerance.assert_close(
      model.predict_on_batch((weights, ()), x, training=False),
      keras_model(x),
      relative=tolerance.FLOAT32_STEPS,
    )
    # Weights of the last layer see that hidden units were dropped.
    trained = model.predict_on_batch((weights, ()), x, training=True)
    self.assertEqual(
      np.allclose(trained, keras_model(x), rtol=1e-2), 'dropout' not in options
    )

  def test_bad_lenet5(self):
    create = functools.partial(
      image_models.create_lenet5, num_classes=2, seed=0
    )
    for options, message in (
      (dict(input_shape=(15, 16, 1)), '15x16; at least 16x16'),
      (dict(filters=(4,)), r'filters is \(4,\)'),
      (dict(hidden_units=()), r'hidden_units \(\)'),
      (dict(dropout=1.0), 'dropout 1.0'),
    ):
      with self.assertRaisesRegex(errors.InputError, message):
        create(**{'input_shape': _EMNIST, **options})

  def test_vgg9_is_the_same_in_keras(self):
    rng = np.random.default_rng(0)
    model = image_models.create_vgg9(
      input_shape=(17, 8, 3),
      num_classes=7,
      seed=0,
      filters=(4, 5, 6, 7, 20, 9),
      hidden_units=(30, 40),
    )
    weights = _random_weights(model, rng)
    layers = tf.keras.layers

    def block(*filters):
      convolutions = (
        layers.Conv2D(f, 3, padding='same', activation='relu') for f in filters
      )
      return *convolutions, layers.MaxPool2D()

    keras_model = tf.keras.Sequential(
      [
        layers.InputLayer((17, 8, 3)),
        *block(4, 5),
        *block(6, 7),
        *block(20, 9),
        layers.Flatten(),
        layers.Dense(30, 'relu'),
        layers.Dense(40, 'relu'),
        layers.Dense(7),
      ]
    )
    keras_model.set_weights(weights)
    x = rng.standard_normal([3, 17, 8, 3]).astype(np.float32)
    tolerance.assert_close(
      model.predict_on_batch((weights, ()), x, training=False),
      keras_model(x),
      relative=tolerance.FLOAT32_STEPS,
    )

  def test_vgg9_drops_channels_and_units(self):
    """Of layers that pass on what they are given: ones."""
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

  def test_bad_vgg9(self):
    create = functools.partial(image_models.create_vgg9, num_classes=2, seed=0)
    for options, message in (
      (dict(input_shape=(7, 8, 1)), '7x8; at least 8x8'),
      (dict(filters=(4,)), r'filters is \(4,\)'),
      (dict(hidden_units=(4,)), r'hidden_units \(4,\)'),
    ):
      with self.assertRaisesRegex(errors.InputError, message):
        create(**{'input_shape': _EMNIST, **options})

  @parameterized.parameters(*_ALL)
  def test_initial_weights(self, create):
    create = functools.partial(create, input_shape=_EMNIST, num_classes=62)
    weights = create(seed=1).initial_weights[0]
    for kernel, bias in zip(weights[::2], weights[1::2], strict=True):
      np.testing.assert_array_equal(bias, 0)
      fan_in = np.prod(kernel.shape[:-1])
      fan_out = np.prod(kernel.shape[:-2]) * kernel.shape[-1]
      limit = np.sqrt(6 / (fan_in + fan_out))
      test = stats.kstest(kernel.ravel()[:5000] / limit, 'uniform', (-1, 2))
      self.assertGreater(test.pvalue, 1e-3)
    again, other = (create(seed=s).initial_weights[0] for s in (1, 2))
    for a, b, c in zip(weights[::2], again[::2], other[::2], strict=True):
      np.testing.assert_array_equal(a, b)
      self.assertFalse(np.array_equal(a, c))

  @parameterized.parameters(*_ALL)
  def test_bad_sizes(self, create):
    for sizes in (
      dict(input_shape=(28, 28, 0), num_classes=2),
      dict(input_shape=_EMNIST, num_classes=0),
    ):
      with self.assertRaisesRegex(errors.InputError, 'holds 0; positive'):
        create(**sizes, seed=0)
    with self.assertRaisesRegex(errors.InputError, r'has 2 size\(s\)'):
      create(input_shape=(28, 28), num_classes=2, seed=0)

  def test_smallest_images(self):
    create = functools.partial(
      image_models.create_dropout_cnn, num_classes=2, seed=0
    )
    model = create(input_shape=(6, 7, 1))
    logits = model.predict_on_batch(
      model.initial_weights, np.zeros([3, 6, 7, 1], np.float32)
    )
    self.assertEqual(logits.shape, (3, 2))
    with self.assertRaisesRegex(errors.InputError, '5x6; at least 6x6 was'):
      create(input_shape=(5, 6, 1))

  def test_bad_filters(self):
    with self.assertRaisesRegex(errors.InputError, 'filters holds 1.5'):
      image_models.create_compact_cnn(
        input_shape=_EMNIST, num_classes=2, filters=(1.5,), seed=0
      )
    with self.assertRaisesRegex(errors.InputError, 'filters is empty'):
      image_models.create_compact_cnn(
        input_shape=_EMNIST, num_classes=2, filters=(), seed=0
      )


@pytest.mark.thorough
class CohortContextTest(parameterized.TestCase):
  @parameterized.parameters(
    (image_models.create_compact_cnn, (8, 8, 1)),
    # With max pooling too, as FedAvg's.
    (image_models.create_dropout_cnn, (8, 8, 1)),
  )
  def test_rounds_run_as_graphs_and_repeat(self, create, input_shape):
    model = create(input_shape=input_shape, num_classes=4, seed=0)
    process = algorithms.build_fed_fish(
      model,
      tff.learning.optimizers.build_sgdm(0.1),
      tff.learning.optimizers.build_sgdm(1.0),
      local_epochs=2,
      fisher_estimator=client_work.FisherEstimator.SAMPLED_LABEL,
      label_sampler=models.categorical_label_sampler(),
    )
    rng = np.random.default_rng(0)
    spec = datasets.BatchSpec(batch_size=2, epochs=2)
    cohort = [
      datasets.plan_batches(
        (
          rng.random([n, *input_shape], np.float32),
          rng.integers(0, 4, n).astype(np.int32),
        ),
        spec,
        client_id=str(n),
        seed=0,
        round_number=0,
      )
      for n in (3, 4)
    ]
    context = cohort_context.SyncCohortExecutionContext()
    with tff.framework.get_context_stack().install(context):
      first, again = (
        process.get_model_weights(
          process.next(process.initialize(), cohort).state
        )
        for _ in range(2)
      )
    self.assertEmpty(context.general_path_reasons)
    for before, a, b in zip(
      model.initial_weights[0], first.trainable, again.trainable, strict=True
    ):
      np.testing.assert_array_equal(a, b)
      self.assertTrue(np.isfinite(a).all())
      self.assertFalse(np.array_equal(a, before))


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
    """Of hidden units, seen through a last layer that passes them on."""
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


class TensorNamesTest(parameterized.TestCase):
  @parameterized.parameters(
    (image_models.create_compact_cnn, image_models.COMPACT_CNN_TENSORS),
    (image_models.create_fed_avg_cnn, image_models.FED_AVG_CNN_TENSORS),
    (image_models.create_dropout_cnn, image_models.DROPOUT_CNN_TENSORS),
    (image_models.create_lenet5, image_models.LENET5_TENSORS),
    (image_models.create_vgg9, image_models.VGG9_TENSORS),
  )
  def test_fit_the_tensors(self, create, names):
    model = create(input_shape=(16, 16, 1), num_classes=3, seed=0)
    named_tensors.assert_named(names, model.initial_weights[0])
