# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of random crops and mirrors."""

from fedfish_tff import errors
from fedfish_tff import models
from fedfish_tff.models import supervised

from absl.testing import parameterized
import numpy as np
import tensorflow as tf

_SHAPE = (5, 4, 2)
_FILL = (-1.0, -2.0)


def _create_model():
  """Returns a model whose outputs are its inputs plus a bias, flattened."""
  size = int(np.prod(_SHAPE))
  return supervised.create_classifier(
    lambda weights, x, training: tf.reshape(x, [-1, size]) + weights[0],
    [np.zeros(size, np.float32)],
    input_shape=_SHAPE,
  )


def _all_augmented(image, padding):
  """Returns each crop and mirror of an image, flattened, by NumPy."""
  height, width, _ = image.shape
  padded = np.empty([height + 2 * padding, width + 2 * padding, 2], np.float32)
  padded[:] = _FILL
  padded[padding : padding + height, padding : padding + width] = image
  crops = [
    padded[top : top + height, left : left + width]
    for top in range(2 * padding + 1)
    for left in range(2 * padding + 1)
  ]
  return np.stack([c[:, ::step].ravel() for c in crops for step in (1, -1)])


class AugmentationTest(parameterized.TestCase):
  def _predict(self, model, x, *, bias=0.0, training=True):
    weights = ([w + np.float32(bias) for w in model.initial_weights[0]], ())
    return model.predict_on_batch(weights, x, training=training).numpy()

  @parameterized.parameters(0, 1, 2)
  def test_images_are_crops_and_mirrors(self, padding):
    model = models.augment_images(_create_model(), padding=padding, fill=_FILL)
    image = np.random.default_rng(0).normal(size=_SHAPE).astype(np.float32)
    expected = _all_augmented(image, padding)
    found = self._predict(model, np.stack([image] * 3000))
    is_equal = (found[:, np.newaxis] == expected).all(axis=-1)
    np.testing.assert_array_equal(is_equal.sum(axis=1), 1)
    # Each as often as the others, by a chi-squared bound of about six sigmas.
    counts = is_equal.sum(axis=0)
    mean = 3000 / len(expected)
    statistic = np.sum((counts - mean) ** 2 / mean)
    freedom = len(expected) - 1
    self.assertLess(statistic, freedom + 6 * np.sqrt(2 * freedom))

  def test_draws_depend_on_batch_and_weights(self):
    model = models.augment_images(_create_model(), fill=_FILL)
    x = np.random.default_rng(0).normal(size=[8, *_SHAPE]).astype(np.float32)
    first = self._predict(model, x)
    np.testing.assert_array_equal(self._predict(model, x), first)
    self.assertTrue(np.any(self._predict(model, x, bias=1.0) - 1 != first))
    other = self._predict(model, np.concatenate([x[:-1], x[-1:] + 1]))
    self.assertTrue(np.any(other[:-1] != first[:-1]))

  def test_evaluation_sees_images_as_they_are(self):
    model = models.augment_images(_create_model(), fill=_FILL)
    x = np.random.default_rng(0).normal(size=[8, *_SHAPE]).astype(np.float32)
    np.testing.assert_array_equal(
      self._predict(model, x, training=False), x.reshape(8, -1)
    )

  @parameterized.parameters(
    (dict(fill=(0.0,)), r'got \(None, 5, 4, 2\) and 1'),
    (dict(fill=_FILL, padding=-1), 'padding must be .*0 or more, got -1'),
  )
  def test_bad_arguments(self, options, regex):
    with self.assertRaisesRegex(errors.InputError, regex):
      models.augment_images(_create_model(), **options)
