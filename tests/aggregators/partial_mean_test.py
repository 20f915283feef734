# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The mean over senders: published vectors, NumPy, and inner sums."""

import collections

from fedfish_tff import aggregators
from fedfish_tff import errors
from tests import tolerance

from absl.testing import parameterized
import hypothesis
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
import numpy as np
import tensorflow_federated as tff

_T = tff.to_type([(np.float32, [3]), (np.float32, [2, 2])])
_PER_TENSOR = tff.to_type([np.bool_, np.bool_])
_PER_COORDINATE = tff.to_type([(np.bool_, [3]), (np.bool_, [2, 2])])
_WEIGHT = tff.TensorType(np.float32)


def _value_type(mask=_PER_TENSOR, delta=_T):
  return tff.to_type(collections.OrderedDict(delta=delta, mask=mask))


def _value(flat, masks):
  flat = np.asarray(flat, np.float32)
  return collections.OrderedDict(
    delta=[flat[:3], flat[3:].reshape(2, 2)], mask=list(masks)
  )


def _run(process, values, weights):
  return process.next(
    process.initialize(), values, [np.float32(w) for w in weights]
  )


class TypesTest(parameterized.TestCase):
  @parameterized.named_parameters(
    ('integers', _value_type(delta=tff.to_type([np.int32, np.int32]))),
    ('masks_of_other_shapes', _value_type([(np.bool_, [2]), np.bool_])),
    ('too_few_masks', _value_type([np.bool_])),
    ('masks_of_floats', _value_type([np.float32, np.float32])),
    ('no_mask', tff.to_type(collections.OrderedDict(delta=_T, fisher=_T))),
    ('tensor', tff.to_type(np.float32)),
  )
  def test_other_values_are_refused(self, value_type):
    with self.assertRaisesRegex(TypeError, 'delta=T, mask=M'):
      aggregators.PartialMeanFactory().create(value_type, _WEIGHT)

  def test_negative_floor_is_refused(self):
    with self.assertRaisesRegex(errors.InputError, 'minimum_denominator'):
      aggregators.PartialMeanFactory(minimum_denominator=-1)


class ValuesTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.processes = [
      aggregators.PartialMeanFactory().create(_value_type(mask_type), _WEIGHT)
      for mask_type in (_PER_TENSOR, _PER_COORDINATE)
    ]

  @parameterized.parameters(
    ({0: 1, 2: 3}, (50 * 1 + 100 * 3) / 150),
    ({0: 1, 1: 2, 3: 4}, (50 + 100 + 800) / 300),
    ({1: 7}, 7),
    ({}, 0),
  )
  def test_vectors_of_fl4health(self, sent, expected):
    process = aggregators.PartialMeanFactory().create(
      _value_type([np.bool_, np.bool_]), _WEIGHT
    )
    values = [
      _value([sent.get(i, 99)] * 7, [i in sent, True]) for i in range(4)
    ]
    result = _run(process, values, [50, 50, 100, 200]).result['delta']
    tolerance.assert_close(
      result[0], [expected] * 3, relative=tolerance.FLOAT32
    )

  @hypothesis.settings(max_examples=25)
  @hypothesis.given(
    data=st.data(), num_clients=st.integers(1, 5), coordinates=st.booleans()
  )
  def test_equals_numpy(self, data, num_clients, coordinates):
    process = self.processes[coordinates]
    delta = data.draw(
      hnp.arrays(
        np.float32, (num_clients, 7), elements=st.floats(-100, 100, width=32)
      )
    )
    if coordinates:
      flat = data.draw(hnp.arrays(np.bool_, (num_clients, 7)))
      masks = [[m[:3], m[3:].reshape(2, 2)] for m in flat]
    else:
      two = data.draw(hnp.arrays(np.bool_, (num_clients, 2)))
      masks = [[np.bool_(m[0]), np.bool_(m[1])] for m in two]
      flat = np.repeat(two, [3, 4], axis=1)
    weight = data.draw(
      hnp.arrays(
        np.float32, num_clients, elements=st.integers(0, 100).map(float)
      )
    )
    result = _run(
      process, [_value(d, m) for d, m in zip(delta, masks)], weight
    ).result['delta']
    actual = np.concatenate([np.ravel(t) for t in result])
    weights = weight.astype(np.float64)[:, np.newaxis] * flat
    total = weights.sum(axis=0)
    expected = np.where(
      total > 0,
      (weights * delta).sum(axis=0) / np.where(total > 0, total, 1),
      0,
    )
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-4)

  def test_what_was_not_sent_may_be_anything(self):
    process = self.processes[False]
    values = [
      _value([np.nan] * 3 + [1] * 4, [False, True]),
      _value([2] * 7, [True, True]),
    ]
    first, second = _run(process, values, [1, 1]).result['delta']
    np.testing.assert_array_equal(first, [2] * 3)
    np.testing.assert_array_equal(second, np.full((2, 2), 1.5))

  def test_everything_sent_is_tffs_mean_bit_for_bit(self):
    rng = np.random.default_rng(0)
    deltas = rng.normal(size=(5, 7)).astype(np.float32)
    weights = rng.integers(1, 100, 5)
    partial = aggregators.PartialMeanFactory().create(_value_type(), _WEIGHT)
    mean = tff.aggregators.MeanFactory().create(_T, _WEIGHT)
    values = [_value(d, [True, True]) for d in deltas]
    tolerance.assert_same(
      _run(partial, values, weights).result['delta'],
      _run(mean, [v['delta'] for v in values], weights).result,
    )


class InnerSumsTest(parameterized.TestCase):
  """The ratio survives what is done to its two sums together."""

  def _check(self, factory, expected, tolerance, **kwargs):
    process = aggregators.PartialMeanFactory(factory, **kwargs).create(
      _value_type(), _WEIGHT
    )
    values = [
      _value([1] * 7, [True, False]),
      _value([3] * 7, [True, False]),
      _value([8] * 7, [False, False]),
    ]
    first, second = _run(process, values, [3, 5, 4]).result['delta']
    np.testing.assert_allclose(first, [expected] * 3, rtol=tolerance)
    np.testing.assert_array_equal(second, np.zeros((2, 2)))

  def test_secure_sum(self):
    self._check(
      tff.aggregators.SecureSumFactory(100.0, -100.0),
      18 / 8,
      1e-3,
      minimum_denominator=1e-3,
    )

  def test_joint_clipping_is_another_weight_of_the_client(self):
    # One norm over a client's numerator and denominator: both shrink alike.
    weights = []
    for value, weight in ((1, 3), (3, 5)):
      norm = np.sqrt(3 * (weight * value) ** 2 + weight**2)
      weights.append(weight * min(1, 0.5 / norm))
    self._check(
      tff.aggregators.clipping_factory(0.5, tff.aggregators.SumFactory()),
      (weights[0] + 3 * weights[1]) / sum(weights),
      1e-5,
    )
