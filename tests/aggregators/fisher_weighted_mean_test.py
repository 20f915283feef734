# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The Fisher-weighted mean against NumPy, for types and for values."""

import collections

from fedfish_tff import aggregators
from fedfish_tff import errors

from absl.testing import parameterized
import hypothesis
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
import numpy as np
import tensorflow_federated as tff

_T = tff.to_type([(np.float32, [3]), (np.float32, [2, 2])])
_VALUE = tff.to_type(collections.OrderedDict(delta=_T, fisher=_T))
_WEIGHT = tff.TensorType(np.float32)

_DELTAS = st.floats(-100, 100, width=32)
# Zero, or far enough from float32's smallest number for a product to survive.
_FISHERS = st.one_of(st.just(0.0), st.floats(2**-20, 2**10, width=32))


def _value(flat_delta, flat_fisher):
  def split(a):
    a = np.asarray(a, np.float32)
    return [a[:3], a[3:].reshape(2, 2)]

  return collections.OrderedDict(
    delta=split(flat_delta), fisher=split(flat_fisher)
  )


def _flat(result):
  return np.concatenate([np.ravel(t) for t in result])


class ComputationTest(parameterized.TestCase):
  @parameterized.named_parameters(
    ('other_names', collections.OrderedDict(delta=_T, weight=_T)),
    (
      'other_shapes',
      collections.OrderedDict(delta=_T, fisher=tff.TensorType(np.float32)),
    ),
    (
      'integers',
      collections.OrderedDict(
        delta=tff.TensorType(np.int32), fisher=tff.TensorType(np.int32)
      ),
    ),
    ('tensor', np.float32),
  )
  def test_other_values_are_refused(self, value_type):
    with self.assertRaisesRegex(TypeError, 'delta=T, fisher=T'):
      aggregators.FisherWeightedMeanFactory().create(
        tff.to_type(value_type), _WEIGHT
      )

  def test_negative_floor_is_refused(self):
    with self.assertRaisesRegex(errors.InputError, 'minimum_denominator'):
      aggregators.FisherWeightedMeanFactory(minimum_denominator=-1)


class ExecutionTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.process = aggregators.FisherWeightedMeanFactory(
      diagnostics=True
    ).create(_VALUE, _WEIGHT)

  @hypothesis.settings(max_examples=25)
  @hypothesis.given(data=st.data(), num_clients=st.integers(1, 5))
  def test_equals_numpy(self, data, num_clients):
    shape = (num_clients, 7)
    delta = data.draw(hnp.arrays(np.float32, shape, elements=_DELTAS))
    fisher = data.draw(hnp.arrays(np.float32, shape, elements=_FISHERS))
    weight = data.draw(
      hnp.arrays(
        np.float32, num_clients, elements=st.integers(0, 100).map(float)
      )
    )
    output = self.process.next(
      self.process.initialize(),
      [_value(d, f) for d, f in zip(delta, fisher)],
      list(weight),
    )
    weighted = weight[:, None].astype(np.float64) * fisher
    denominator = weighted.sum(0)
    numerator = (weighted * delta).sum(0)
    expected = np.divide(
      numerator, denominator, out=np.zeros(7), where=denominator > 0
    )
    # Sums of numbers of both signs lose digits relative to their largest term.
    scale = np.abs(delta).max() + 1
    np.testing.assert_allclose(
      _flat(output.result['delta']), expected, atol=1e-5 * scale, rtol=1e-5
    )
    self.assertAlmostEqual(
      output.measurements['zero_denominator_share'],
      np.mean(denominator == 0),
      places=6,
    )

  def test_measurements_equal_numpy(self):
    rng = np.random.default_rng(0)
    delta = rng.normal(size=(3, 7)).astype(np.float32)
    fisher = rng.uniform(size=(3, 7)).astype(np.float32)
    fisher[:, 1] = 0.0
    weight = [1.0, 2.0, 5.0]
    output = self.process.next(
      self.process.initialize(),
      [_value(d, f) for d, f in zip(delta, fisher)],
      weight,
    )
    denominator = (np.array(weight)[:, None] * fisher).sum(0)
    quantiles = output.measurements['fisher_sum']['0_3']
    for name, q in (('p05', 0.05), ('p50', 0.5), ('p95', 0.95)):
      expected = np.quantile(denominator[:3], q, method='nearest')
      self.assertAlmostEqual(quantiles[name], expected, places=5)
    weighted = np.array(weight)[:, None] * fisher
    used = denominator > 0
    mean = np.zeros(7)
    mean[used] = (weighted * delta).sum(0)[used] / denominator[used]
    plain = (np.array(weight)[:, None] * delta).sum(0) / sum(weight)
    effective = np.zeros(7)
    effective[used] = (
      1 / np.square(weighted / np.where(used, denominator, 1)).sum(0)[used]
    )
    found = output.measurements['effective_clients']
    self.assertAlmostEqual(
      found['0_3']['mean'], effective[:3][used[:3]].mean(), places=5
    )
    self.assertEqual(found['0_3']['p05'], 0.0)
    self.assertAlmostEqual(
      found['1_2x2']['p95'],
      np.quantile(effective[3:], 0.95, method='nearest'),
      places=5,
    )
    self.assertAlmostEqual(
      output.measurements['effective_clients_mean'],
      effective[used].mean(),
      places=5,
    )
    for name, expected in (
      ('cosine_to_mean', mean @ plain / np.linalg.norm(mean)),
      ('norm_to_mean', np.linalg.norm(mean)),
    ):
      self.assertAlmostEqual(
        output.measurements[name], expected / np.linalg.norm(plain), places=5
      )
    self.assertAlmostEqual(
      output.measurements['largest_client_share'],
      weighted.sum(1).max() / weighted.sum(),
      places=5,
    )

  def test_effective_clients_at_their_limits(self):
    # All count alike, one decides, and the scale does not matter.
    for scale in (1e-15, 1.0, 1e15):
      fisher = scale * np.eye(3, 7)
      fisher[:, 3:] = scale
      output = self.process.next(
        self.process.initialize(),
        [_value(np.ones(7), f) for f in fisher],
        [1.0] * 3,
      )
      found = output.measurements['effective_clients']
      self.assertAlmostEqual(found['0_3']['mean'], 1.0, places=5)
      self.assertAlmostEqual(found['1_2x2']['mean'], 3.0, places=5)

  def test_scale_of_the_fisher_does_not_matter(self):
    rng = np.random.default_rng(1)
    delta = rng.normal(size=(3, 7))
    fisher = rng.uniform(0.1, 1, size=(3, 7))

    def run(scale):
      return _flat(
        self.process.next(
          self.process.initialize(),
          [_value(d, f * scale) for d, f in zip(delta, fisher)],
          [1.0, 2.0, 3.0],
        ).result['delta']
      )

    for scale in (1e-12, 1e-6, 1e6, 1e12):
      np.testing.assert_allclose(run(scale), run(1.0), rtol=1e-5)

  def test_denominators_at_the_floor_count_as_zero(self):
    process = aggregators.FisherWeightedMeanFactory(
      minimum_denominator=0.5
    ).create(_VALUE, _WEIGHT)
    fisher = [0.0, 0.25, 0.5, 0.75, 1.0, 1.0, -1.0]
    output = process.next(
      process.initialize(), [_value([2.0] * 7, fisher)], [1.0]
    )
    np.testing.assert_array_equal(
      _flat(output.result['delta']), [0, 0, 0, 2, 2, 2, 0]
    )


_CLIPPED = tff.aggregators.clipping_factory(0.1, tff.aggregators.SumFactory())
# 32 bits over [-10, 10]: the resolution 20 / 2^32 is 5e-9 of the range.
_SECURE = tff.aggregators.SecureSumFactory(10.0, -10.0)
_NOISELESS = tff.aggregators.DifferentiallyPrivateFactory.gaussian_fixed(
  noise_multiplier=0.0, clients_per_round=4.0, clip=0.1
)


class RatioUnderInexactSumsTest(parameterized.TestCase):
  """The error of a true ratio of 2 under the sums people compose with."""

  def _ratio_error(self, sum_factory, fisher, minimum):
    process = aggregators.FisherWeightedMeanFactory(
      sum_factory, minimum_denominator=minimum
    ).create(_VALUE, _WEIGHT)
    output = process.next(
      process.initialize(),
      [_value([2.0] * 7, [fisher] * 7)] * 4,
      [1.0] * 4,
    )
    return np.abs(_flat(output.result['delta']) - 2.0).max()

  @parameterized.parameters(
    (_CLIPPED, 1e-3, 0.0, 1e-5),
    (_CLIPPED, 1.0, 0.0, 1e-5),
    (_CLIPPED, 1e3, 0.0, 1e-5),
    (_NOISELESS, 1.0, 0.0, 1e-5),
    (_SECURE, 1.0, 1e-7, 1e-3),
    (_SECURE, 0.01, 1e-7, 0.1),
    # Damping keeps what is lost below.
    (_SECURE, 1e-9 + 0.1, 1e-7, 1e-3),
  )
  def test_joint_sums_keep_the_ratio(self, sum_factory, fisher, minimum, bound):
    self.assertLess(self._ratio_error(sum_factory, fisher, minimum), bound)

  def test_secure_sums_lose_a_tiny_fisher(self):
    self.assertEqual(self._ratio_error(_SECURE, 1e-9, 1e-7), 2.0)

  def test_separate_clipping_would_not_keep_it(self):
    # What the joint structure avoids: clipping the two sums on their own.
    alone = _CLIPPED.create(_T)
    value = _value([2.0] * 7, [1.0] * 7)
    numerator = alone.next(
      alone.initialize(), [[2 * f for f in value['fisher']]]
    ).result
    denominator = alone.next(alone.initialize(), [value['fisher']]).result
    self.assertGreater(
      np.abs(_flat(numerator) / _flat(denominator) - 2).max(), 0.9
    )
