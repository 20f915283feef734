# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for empty_factors."""

from tests.execution import client_computations
from tests.execution import two_contexts

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff


def _weight(x, y):
  """Returns the share of x in the elements of x and y."""
  counts = [tf.cast(tf.reduce_prod(tf.shape(t)), tf.float32) for t in (x, y)]
  return counts[0] / tf.reduce_sum(tf.stack(counts))


# A function of x, without elements, and of y, zeros; and its value.
_CASES = dict(
  # As discretizations of TFF measure their distortion.
  weighted=(
    lambda x, y: tf.reduce_mean(tf.square(x)) * _weight(x, y),
    0,
  ),
  deviation=(lambda x, y: _weight(x, y) * tf.math.reduce_std(x), 0),
  ratio=(
    lambda x, y: tf.reduce_sum(x) / tf.cast(tf.size(x), tf.float32) * 0.0,
    0,
  ),
  maximum=(lambda x, y: tf.cast(tf.reduce_max(x), tf.float64) * 0.0, 0),
  divisor=(lambda x, y: 0.0 / tf.reduce_mean(x), 0),
  matrices=(
    lambda x, y: tf.reshape(tf.reduce_mean(x), [1, 1]) @ tf.zeros([1, 1]),
    [[0]],
  ),
  branch=(
    lambda x, y: tf.cond(
      y[0] < 1, lambda: 0.0 * tf.reduce_mean(x), lambda: 1.0
    ),
    0,
  ),
  function=(
    lambda x, y: tf.function(lambda x: tf.reduce_mean(x) * 0.0)(x),
    0,
  ),
  alone=(lambda x, y: tf.reduce_mean(x), np.nan),
  zero_of_a_client=(lambda x, y: tf.reduce_mean(x) * y[0], np.nan),
  not_all_zeros=(lambda x, y: tf.reduce_mean(x) * [0.0, 1.0], [np.nan] * 2),
)
# The number of elements is constant in these.
_WEIGHTED = ('weighted', 'deviation', 'ratio')


class EmptyFactorsTest(two_contexts.TestCase, parameterized.TestCase):
  @parameterized.parameters(
    *((case, 0, at_clients) for case in _CASES for at_clients in (True, False)),
    *((case, None, True) for case in _CASES if case not in _WEIGHTED),
  )
  def test_as_in_the_runtime_of_tff(self, case, size, at_clients):
    fn, expected = _CASES[case]
    local = tff.tensorflow.computation(
      fn,
      tff.TensorType(np.float32, [size]),
      tff.TensorType(np.float32, [3]),
    )
    args = [np.zeros(0, np.float32), np.zeros(3, np.float32)]
    if at_clients:
      comp = client_computations.at_clients(local)
      here, there = (run(comp, [args])[0] for run in (self.here, self.there))
    else:
      here, there = (run(local, *args) for run in (self.here, self.there))
    np.testing.assert_array_equal(here, expected)
    np.testing.assert_array_equal(there, expected)

  def test_a_client_that_diverged_remains_visible(self):
    comp = tff.tensorflow.computation(
      lambda x, y: (tf.reduce_mean(x) + tf.reduce_mean(y)) * 0.0,
      tff.TensorType(np.float32, [0]),
      tff.TensorType(np.float32, [1]),
    )
    x = np.zeros(0, np.float32)
    self.assertTrue(np.isnan(self.here(comp, x, np.float32([np.nan]))))


if __name__ == '__main__':
  absltest.main()
