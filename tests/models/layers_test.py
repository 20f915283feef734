# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what layers of several models share."""

from fedfish_tff import errors
from fedfish_tff.datasets import random_streams
from fedfish_tff.models import layers

from absl.testing import parameterized
import numpy as np
from scipy import stats


class LayersTest(parameterized.TestCase):
  def test_sizes(self):
    layers.check_sizes(filters=(1, np.int64(2)), units=())
    for value in (0, -1, 1.5, '3', None):
      with self.assertRaisesRegex(
        errors.InputError, f'units must hold positive integers, got {value!r}'
      ):
        layers.check_sizes(filters=(1,), units=(2, value))

  def test_image_shapes(self):
    layers.check_image_shape((1, 2, 3))
    layers.check_image_shape([6, 7, 1], least=6)

  @parameterized.parameters(
    ((28, 28), 1, 'height, width and channels.*2'),
    ((1, 28, 28, 1), 1, r'4 size\(s\)'),
    ((28, 28, 0), 1, 'input_shape .*0'),
    ((6, 5, 1), 6, 'images of at least 6x6.*6x5'),
  )
  def test_bad_image_shapes(self, shape, least, regex):
    with self.assertRaisesRegex(errors.InputError, regex):
      layers.check_image_shape(shape, least=least)

  @parameterized.parameters(
    (((7, 5), (5, 3)),), (((5, 5, 3, 8), (3, 3, 8, 4), (64, 2)),)
  )
  def test_glorot_weights(self, shapes):
    weights = layers.glorot_weights(shapes, 4)
    pairs = layers.kernels_and_biases(weights)
    self.assertLen(pairs, len(shapes))
    for number, (shape, (kernel, bias)) in enumerate(zip(shapes, pairs)):
      fan_in = np.prod(shape[:-1])
      fan_out = np.prod(shape[:-2]) * shape[-1]
      stream = random_streams.random_generator('initial weights', 4, number)
      unit = stream.uniform(-1, 1, shape)
      np.testing.assert_allclose(
        kernel, np.sqrt(6 / (fan_in + fan_out)) * unit, rtol=1e-5
      )
      np.testing.assert_array_equal(bias, np.zeros(shape[-1]))
      self.assertEqual((kernel.dtype, bias.dtype), (np.float32, np.float32))

  def test_embedding(self):
    table = layers.draw_embedding(99, 40, 0)
    self.assertEqual((table.shape, table.dtype), ((99, 40), np.float32))
    test = stats.kstest(table.ravel() * np.sqrt(40), 'norm')
    self.assertGreater(test.pvalue, 1e-3)
    np.testing.assert_array_equal(table, layers.draw_embedding(99, 40, 0))
