# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of quantised sums: levels, the distribution on them, and bytes."""

from fedfish_tff import aggregators
from fedfish_tff import errors
from fedfish_tff import simulation

from absl.testing import parameterized
import numpy as np
from scipy import stats
import tensorflow_federated as tff

_MANY = 20_000


def _create(*shapes, bits, **options):
  value_type = tff.to_type([tff.TensorType(np.float32, s) for s in shapes])
  factory = aggregators.QuantizedSumFactory(bits, **options)
  return factory.create(value_type), factory.message_bytes(value_type)


def _sum(process, values, rounds=1):
  """The sum in the last of some rounds with the same values."""
  state = process.initialize()
  for _ in range(rounds):
    output = process.next(state, values)
    state = output.state
  return output.result


def _levels(tensor, bits):
  """The places of a tensor's numbers among the levels, in float64."""
  tensor = np.asarray(tensor, np.float64)
  low, high = tensor.min(), tensor.max()
  return (tensor - low) / (high - low) * (2**bits - 1)


class QuantizedSumTest(parameterized.TestCase):
  @parameterized.product(bits=(1, 4, 16), seed=(None, 3))
  def test_goes_to_the_levels_of_each_client_and_tensor(self, bits, seed):
    draw = np.random.default_rng(bits).normal
    values = [
      [draw(size=(9, 5)).astype(np.float32), draw(size=6).astype(np.float32)]
      for _ in range(2)
    ]
    process, _ = _create((9, 5), (6,), bits=bits, threshold=6, seed=seed)
    for client in values:
      found = _sum(process, [client])
      # At or below the threshold.
      np.testing.assert_array_equal(found[1], client[1])
      places = _levels(client[0], bits)
      low, high = client[0].min(), client[0].max()
      levels = (found[0] - low) / (high - low) * (2**bits - 1)
      np.testing.assert_allclose(levels, np.round(levels), atol=2**bits * 1e-6)
      self.assertLess(
        np.abs(levels - places).max(),
        (1.0 if seed is not None else 0.5) + 2**bits * 1e-6,
      )
    separate = [_sum(process, [client])[0] for client in values]
    # Each client's rounding depends on its own numbers alone.
    np.testing.assert_allclose(
      _sum(process, values)[0], separate[0] + separate[1], atol=1e-5
    )

  def test_stochastic_rounding_has_two_values_with_the_right_mean(self):
    """A share of 0.3 goes up for a number at 0.3 between two levels."""
    bits, share = 2, 0.3
    tensor = np.full(_MANY, 1.0 + share, np.float32)
    tensor[:2] = 0.0, 3.0  # Levels are 0, 1, 2 and 3.
    process, _ = _create((_MANY,), bits=bits, seed=11)
    (found,) = _sum(process, [[tensor]])
    np.testing.assert_allclose(found[:2], tensor[:2], atol=1e-6)
    inner = found[2:]
    up = int((inner > 1.5).sum())
    np.testing.assert_allclose(inner, np.round(inner), atol=1e-6)
    self.assertLessEqual(set(np.round(inner)), {1.0, 2.0})
    self.assertGreater(stats.binomtest(up, len(inner), share).pvalue, 1e-3)

  def test_nearest_rounding_is_biased(self):
    tensor = np.full(_MANY, 1.3, np.float32)
    tensor[:2] = 0.0, 3.0
    process, _ = _create((_MANY,), bits=2)
    np.testing.assert_allclose(_sum(process, [[tensor]])[0][2:], 1.0, atol=1e-6)

  def test_draws_follow_seed_round_client_and_tensor(self):
    tensor = np.linspace(0, 1, 50, dtype=np.float32)
    other = tensor.copy()
    other[7] += 1e-3
    one, again, seeded = (
      _create((50,), (50,), bits=1, seed=seed)[0] for seed in (5, 5, 6)
    )
    first = _sum(one, [[tensor, tensor]])
    np.testing.assert_array_equal(first, _sum(again, [[tensor, tensor]]))
    for different in (
      _sum(seeded, [[tensor, tensor]])[0],
      _sum(one, [[tensor, tensor]], rounds=2)[0],
      _sum(one, [[other, tensor]])[0],
      first[1],
    ):
      self.assertGreater((np.abs(first[0] - different) > 0.5).sum(), 5)

  def test_a_constant_tensor_stays(self):
    process, _ = _create((3,), bits=4, seed=0)
    (found,) = _sum(process, [[np.full(3, -0.7, np.float32)]])
    np.testing.assert_array_equal(found, np.full(3, -0.7, np.float32))

  @parameterized.product(bits=(3, 8, 16), seed=(None, 3))
  def test_bytes_are_those_of_the_types_that_are_sent(self, bits, seed):
    process, message_bytes = _create(
      (7, 30), (5,), (), bits=bits, threshold=5, seed=seed
    )
    sent = simulation.measure_wire_bytes(process.next).upload
    self.assertEqual(message_bytes, sent)
    self.assertLess(message_bytes, 4 * (7 * 30 + 5 + 1))

  def test_runs_as_a_graph(self):
    context = tff.framework.get_context_stack().current
    self.assertEqual(context.runner.general_path_reasons, ())

  def test_payload_is_of_who_weighs_something(self):
    value_type = tff.to_type([tff.TensorType(np.float32, (3,))])
    process = aggregators.measure_payload(
      tff.aggregators.MeanFactory(), lambda found: 100 * len(found)
    ).create(value_type, tff.TensorType(np.float32))
    value = [np.ones(3, np.float32)]
    output = process.next(process.initialize(), [value] * 3, [2.0, 0.0, 1.0])
    self.assertEqual(output.measurements['payload_bytes'], 200)
    np.testing.assert_array_equal(output.result[0], value[0])

  @parameterized.parameters(
    ({'bits': 0}, 'bits .*got 0'),
    ({'bits': 17}, 'bits .*17'),
    ({'bits': 8, 'threshold': -1}, 'threshold .*0 or more.*-1'),
  )
  def test_bad_arguments(self, options, message):
    with self.assertRaisesRegex(errors.InputError, message):
      aggregators.QuantizedSumFactory(**options)
