# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The packed triangle against NumPy, and the sums it goes through."""

import collections

from fedfish_tff import aggregators

from absl.testing import absltest
from absl.testing import parameterized
import hypothesis
from hypothesis import strategies as st
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_VALUE = tff.to_type(
  collections.OrderedDict(
    gram=tff.TensorType(np.float32, [3, 3]),
    moments=tff.TensorType(np.float32, [3, 2]),
  )
)


def _symmetric(size, seed):
  matrix = np.random.default_rng(seed).normal(size=[size, size])
  return (matrix + matrix.T).astype(np.float32)


def _value(seed):
  return collections.OrderedDict(
    gram=_symmetric(3, seed),
    moments=np.random.default_rng(seed).normal(size=[3, 2]).astype(np.float32),
  )


class PackingTest(absltest.TestCase):
  @hypothesis.settings(max_examples=30)
  @hypothesis.given(
    size=st.integers(1, 12), dtype=st.sampled_from([np.float32, np.float64])
  )
  def test_keeps_the_upper_triangle_and_nothing_else(self, size, dtype):
    # Distinct numbers, so that each must be in its place.
    matrix = np.arange(1, size * size + 1, dtype=dtype).reshape(size, size)
    packed = aggregators.pack_upper_triangle(tf.constant(matrix)).numpy()
    upper = matrix[np.triu_indices(size)]
    self.assertCountEqual(packed.ravel(), upper)
    expected = np.triu(matrix) + np.triu(matrix, 1).T
    np.testing.assert_array_equal(
      aggregators.unpack_upper_triangle(tf.constant(packed)), expected
    )


class UpperTriangleSumFactoryTest(parameterized.TestCase):
  def _sum(self, inner, values):
    process = aggregators.UpperTriangleSumFactory(['gram'], inner).create(
      _VALUE
    )
    return process.next(process.initialize(), values)

  def test_equals_numpy(self):
    values = [_value(seed) for seed in range(4)]
    result = self._sum(None, values).result
    for name in values[0]:
      # Three additions, each rounded.
      size = sum(np.abs(v[name], dtype=np.float64) for v in values)
      np.testing.assert_array_less(
        np.abs(result[name] - sum(v[name].astype(np.float64) for v in values)),
        3 * 2.0**-24 * size,
      )

  @parameterized.named_parameters(
    # Integers below 2^32 stand for numbers from -100 to 100; each of three
    # clients' is off by a step at most.
    ('secure', tff.aggregators.SecureSumFactory(100.0, -100.0), 600 / 2**32),
    (
      'noiseless_privacy',
      tff.aggregators.DifferentiallyPrivateFactory.gaussian_fixed(
        noise_multiplier=0.0, clients_per_round=1.0, clip=1e3
      ),
      0.0,
    ),
  )
  def test_inner_factories_compose(self, inner, tolerance):
    values = [_value(seed) for seed in range(3)]
    result = self._sum(inner, values).result
    for name in values[0]:
      # Besides, float32 rounds sums of up to ten, and on the way to them.
      np.testing.assert_allclose(
        result[name],
        sum(v[name].astype(np.float64) for v in values),
        atol=tolerance + 10 * 2.0**-22,
        rtol=0,
      )

  def test_privacy_s_noise_is_symmetric(self):
    noisy = tff.aggregators.DifferentiallyPrivateFactory.gaussian_fixed(
      noise_multiplier=1.0, clients_per_round=1.0, clip=1.0
    )
    gram = self._sum(noisy, [_value(0)]).result['gram']
    np.testing.assert_array_equal(gram, np.transpose(gram))
    self.assertGreater(np.abs(gram - _value(0)['gram']).max(), 1e-3)

  @parameterized.named_parameters(
    ('tensor', np.float32),
    ('missing', collections.OrderedDict(moments=np.float32)),
    (
      'not_square',
      collections.OrderedDict(gram=tff.TensorType(np.float32, [2, 3])),
    ),
  )
  def test_other_values_are_refused(self, value_type):
    with self.assertRaisesRegex(TypeError, 'square matrices called gram'):
      aggregators.UpperTriangleSumFactory(['gram']).create(
        tff.to_type(value_type)
      )
