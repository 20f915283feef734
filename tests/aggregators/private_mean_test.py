# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of clipped and noised means."""

import collections
import itertools

from fedfish_tff import aggregators
from fedfish_tff import errors

from absl.testing import parameterized
import numpy as np
from scipy import stats
import tensorflow_federated as tff

_MANY = 20_000  # Coordinates, for statistics.


def _value(norm, size=3):
  """A client's update of two tensors and some L2 norm."""
  direction = np.full(2 * size, norm / np.sqrt(2 * size), np.float32)
  return collections.OrderedDict(a=direction[:size], b=direction[size:])


def _create(*args, size=3, **kwargs):
  tensor = tff.TensorType(np.float32, (size,))
  return aggregators.PrivateMeanFactory(*args, **kwargs).create(
    tff.to_type(collections.OrderedDict(a=tensor, b=tensor)),
    tff.TensorType(np.float32),
  )


def _run(process, rounds):
  """The outputs of rounds, each of them a list of updates."""
  state, outputs = process.initialize(), []
  for values in rounds:
    # Weights, which must not count.
    weights = [float(w) for w in range(3, 3 + len(values))]
    outputs.append(process.next(state, values, weights))
    state = outputs[-1].state
  return outputs


def _norm(result):
  return np.linalg.norm(np.concatenate([result['a'], result['b']]))


class PrivateMeanTest(parameterized.TestCase):
  def test_is_the_mean_without_noise_and_clipping(self):
    values = [_value(norm) for norm in (1.0, -2.0, 0.3)]
    (output,) = _run(_create(0.0, 2.0**40, expected_clients=3), [values])
    expected = np.sum([v['a'] for v in values], axis=0) / np.float32(3)
    np.testing.assert_array_equal(output.result['a'], expected)

  @parameterized.parameters(100.0, 1e18, 1e25, -3e38)
  def test_a_client_moves_it_by_the_clip_over_the_clients(self, norm):
    """Also one whose norm overflows in float32."""
    others = [_value(0.3)] * 4
    process = _create(0.0, 0.5, expected_clients=5)
    without, with_it = _run(process, [others, [*others, _value(norm)]])
    moved = _norm(
      {k: with_it.result[k] - without.result[k] for k in without.result}
    )
    self.assertLessEqual(moved, 0.5 / 5 * (1 + 1e-5))
    # Clipped as one vector, not tensor by tensor.
    self.assertAlmostEqual(moved, 0.1 if abs(norm) < 1e19 else 0.0, places=5)

  def test_noise_is_normal_and_independent(self):
    """Also where nobody comes: that nobody did must not be seen."""
    process = _create(1.5, 0.7, expected_clients=10, size=_MANY)
    one, two = _run(process, [[], []])
    noises = [one.result['a'], one.result['b'], two.result['a']]
    for noise in noises:
      self.assertGreater(
        stats.kstest(noise, stats.norm(scale=1.5 * 0.7 / 10).cdf).pvalue, 1e-3
      )
    correlation = np.corrcoef(noises)[np.triu_indices(3, 1)]
    self.assertLess(np.abs(correlation).max(), 4.5 / np.sqrt(_MANY))

  def test_the_bound_adapts_to_the_quantile(self):
    norms = np.array([1.0, 2.0, 3.0, 4.0, 50.0])
    process = _create(0.0, 0.5, expected_clients=5, target_quantile=0.5)
    outputs = _run(process, [[_value(n) for n in norms]] * 60)
    bound = 0.5
    for output in outputs:
      clipped = np.minimum(norms, bound).sum() / 5
      self.assertAlmostEqual(_norm(output.result) / clipped, 1, places=4)
      bound *= np.exp(-0.2 * (np.mean(norms <= bound) - 0.5))
      measured = output.measurements['dp_query_metrics']['clip']
      self.assertAlmostEqual(measured / bound, 1, places=4)
    self.assertBetween(bound, 2.5, 3.5)

  def test_an_adapting_bound_has_the_noise_that_was_asked_for(self):
    """1 / z^2 of the update and of the count of clipped clients add up."""
    process = _create(0.8, 0.5, expected_clients=10, target_quantile=0.5)
    (output,) = _run(process, [[]])
    update, count = (e.noise_multiplier for e in output.state.dp_event.events)
    self.assertAlmostEqual((update**-2 + count**-2) ** -0.5, 0.8, places=6)
    with self.assertRaisesRegex(
      errors.InputError, 'below 1 .* 10 clients .*1.0'
    ):
      _create(1.0, 0.5, expected_clients=10, target_quantile=0.5)

  @parameterized.parameters(
    dict(noise_multiplier=-1.0),
    dict(noise_multiplier=np.nan),
    dict(clip_norm=0.0),
    dict(clip_norm=np.inf),
    dict(expected_clients=0),
    dict(target_quantile=1.5),
    dict(rounds_per_tree=0),
  )
  def test_bad_arguments(self, **changes):
    usual = dict(noise_multiplier=0.0, clip_norm=1.0, expected_clients=2)
    ((name, value),) = changes.items()
    with self.assertRaisesRegex(
      errors.InputError, f'{name} must .*got {value}'
    ):
      aggregators.PrivateMeanFactory(**(usual | changes))


class TreeTest(parameterized.TestCase):
  def test_noise_of_the_sum_of_rounds_grows_as_their_logarithm(self):
    """As Honaker (2015) has it for each node of the tree, and restarts."""
    process = _create(
      2.0, 0.5, expected_clients=4, rounds_per_tree=32, noise_seed=1, size=_MANY
    )
    outputs = _run(process, [[]] * 40)
    sums = itertools.accumulate(output.result['b'] for output in outputs)
    for rounds, total in enumerate(sums, start=1):
      trees, rest = divmod(rounds, 32)
      expected = trees * 32 / 63 + sum(
        2**h / (2 ** (h + 1) - 1) for h in range(5) if rest >> h & 1
      )
      ratio = np.var(total) / (2.0 * 0.5 / 4) ** 2
      self.assertAlmostEqual(ratio / expected, 1, delta=0.06)
    # Nothing but the noise is drawn anew.
    again = _run(process, [[]])
    np.testing.assert_array_equal(again[0].result['b'], outputs[0].result['b'])

  def test_the_bound_adapts_with_the_next_tree(self):
    process = _create(
      0.0, 0.5, expected_clients=2, target_quantile=0.5, rounds_per_tree=3
    )
    outputs = _run(process, [[_value(9.0)] * 2] * 5)
    norms = [_norm(output.result) for output in outputs]
    adapted = 0.5 * np.exp(3 * 0.2 * 0.5)
    np.testing.assert_allclose(norms, [0.5] * 3 + [adapted] * 2, rtol=1e-4)
