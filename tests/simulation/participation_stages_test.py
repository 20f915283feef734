# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of stages whose cohorts double."""

import itertools

from fedfish_tff import errors
from fedfish_tff.evaluation import metric_names
from fedfish_tff.simulation import participation_stages

from absl.testing import absltest
from absl.testing import parameterized
from hypothesis import given
from hypothesis import strategies as st
import numpy as np
from scipy import optimize
from scipy import special


def _search_changes(sizes):
  """Returns the distances at which stages change best, and the stages' limits.

  With limits f_n = n^-1/2 and q = sqrt(1 - a), the stage of n clients takes
  log((s_before - f_n) / (s_after - f_n)) / log(1 / q) rounds between two
  distances s at which stages change, and each costs the slowest of them.

  Args:
    sizes: Those of the stages; the last is of all.
  """
  # H_x = digamma(x + 1) + gamma.
  times = special.digamma(sizes[-1] + 1)
  times -= special.digamma(sizes[-1] - sizes + 1)
  limits = sizes**-0.5
  # What is before and after does not move the changes between.
  start, end = 2 * limits[0], 1.01 * limits[-1]

  def changes_at(logarithms):
    # Each is above the limit of the stage that it ends.
    return limits[:-1] * (1 + np.exp(logarithms))

  def cost(logarithms):
    distances = np.concatenate([[start], changes_at(logarithms), [end]])
    before, after = distances[:-1], distances[1:]
    if np.any(after >= before) or np.any(after <= limits):
      return np.inf
    return float(np.sum(times * np.log((before - limits) / (after - limits))))

  best = optimize.minimize(
    cost,
    np.full(len(sizes) - 1, np.log(0.2)),
    method='Nelder-Mead',
    options={'xatol': 1e-9, 'fatol': 1e-12, 'maxiter': 20_000},
  )
  return changes_at(best.x), limits


class EqualStagesTest(parameterized.TestCase):
  def test_of_the_experiments(self):
    """SRPFL's: 10, 20, 40, 80 and 100 clients, 10 rounds each, then all."""
    stages = participation_stages.equal_stages(
      10, most=100, rounds_per_stage=10
    )
    sizes = [stages.size(r) for r in range(1, 151)]
    self.assertEqual(
      sizes, [10] * 10 + [20] * 10 + [40] * 10 + [80] * 10 + [100] * 110
    )
    self.assertEqual(
      [stages.first_round(r) for r in (1, 10, 11, 20, 21, 150)],
      [1, 1, 11, 11, 21, 41],
    )

  @given(
    n0=st.integers(1, 50), more=st.integers(0, 500), tau=st.integers(1, 20)
  )
  def test_sizes_double_up_to_the_most(self, n0, more, tau):
    stages = participation_stages.equal_stages(
      n0, most=n0 + more, rounds_per_stage=tau
    )
    self.assertEqual(stages.sizes[0], n0)
    self.assertEqual(stages.sizes[-1], n0 + more)
    for one, following in itertools.pairwise(stages.sizes[:-1]):
      self.assertEqual(following, 2 * one)
    self.assertTrue(np.all(np.diff(stages.sizes) > 0))
    self.assertEqual(set(np.diff(stages.first_rounds)) - {tau}, set())

  @parameterized.parameters(
    ((11, 10, 1), 'n0.*most 10 clients take part.*11'),
    ((0, 10, 1), 'n0 must be .*got 0'),
    ((1, 10, 0), 'rounds_per_stage must be .*got 0'),
  )
  def test_refuses(self, numbers, message):
    n0, most, rounds = numbers
    with self.assertRaisesRegex(errors.InputError, message):
      participation_stages.equal_stages(n0, most=most, rounds_per_stage=rounds)

  def test_rounds_begin_with_1(self):
    stages = participation_stages.equal_stages(1, most=2, rounds_per_stage=1)
    with self.assertRaisesRegex(errors.InputError, 'round .*0'):
      stages.size(0)


class ExponentialStagesTest(parameterized.TestCase):
  @parameterized.parameters((4, 64), (4, 256), (1, 8))
  def test_is_the_formula_where_all_double(self, n0, most):
    contraction = 0.9
    stages = participation_stages.exponential_stages(
      n0, most=most, contraction=contraction
    )

    def slowest(n):
      # H_x = digamma(x + 1) + gamma.
      return special.digamma(most + 1) - special.digamma(most - int(n) + 1)

    rounds = [
      np.ceil(
        2
        * np.log(
          np.sqrt(2)
          * (slowest(2 * n) - slowest(n))
          / (slowest(n) - slowest(n / 2))
        )
        / np.log(1 / contraction)
      )
      for n in stages.sizes[:-1]
    ]
    np.testing.assert_array_equal(np.diff(stages.first_rounds), rounds)

  @parameterized.parameters(
    ((5, 10, 20, 40, 80),),
    # Of which the last stage is not twice the one before.
    ((25, 50, 80),),
  )
  def test_no_other_doubling_is_faster(self, sizes):
    """Compared with a search for the distances at which stages change best."""
    contraction = 0.99
    stages = participation_stages.exponential_stages(
      sizes[0], most=80, contraction=contraction
    )
    self.assertEqual(stages.sizes, sizes)
    changes, limits = _search_changes(np.array(sizes))
    # Of the first stage, the formula assumes one before it.
    before, after, limit = changes[:-1], changes[1:], limits[1:-1]
    rounds = 2 * np.log((before - limit) / (after - limit))
    rounds /= np.log(1 / contraction)
    np.testing.assert_array_equal(
      np.diff(stages.first_rounds)[1:], np.ceil(rounds)
    )

  @parameterized.parameters((64, 0.406), (256, 0.313), (1024, 0.248))
  def test_saves_the_time_that_the_model_promises(self, most, saved):
    """A logarithmic factor over all clients in all rounds (Theorem 4.6).

    The model of a run: distance <- q distance + (1 - q) n^-1/2, with q^2 = 0.9,
    down to 1.2 times the limit of all clients. It begins where the stage before
    n0 = 4 would have ended. The figures were computed independently of the code.
    """
    contraction = 0.9
    stages = participation_stages.exponential_stages(
      4, most=most, contraction=contraction
    )

    def slowest(n):
      return special.digamma(most + 1) - special.digamma(most - n + 1)

    def spend(size):
      """Returns the expected time of a run."""
      distance = slowest(4) * 2**-0.5 - slowest(2) * 4**-0.5
      distance /= slowest(4) - slowest(2)
      rounds, seconds = 0, 0.0
      while distance > 1.2 * most**-0.5:
        rounds += 1
        n = size(rounds)
        distance = n**-0.5 + contraction**0.5 * (distance - n**-0.5)
        seconds += slowest(n)
      return seconds

    self.assertAlmostEqual(
      spend(stages.size) / spend(lambda _: most), saved, places=3
    )

  @parameterized.parameters(0.0, 1.0, -0.5)
  def test_refuses_contractions(self, contraction):
    with self.assertRaisesRegex(errors.InputError, 'contraction'):
      participation_stages.exponential_stages(
        1, most=2, contraction=contraction
      )


def _row(gradient, allowed=1.0):
  return {
    metric_names.GRADIENT: gradient,
    metric_names.ALLOWED_GRADIENT: allowed,
  }


def _observe(stages, gradients, *, first=1):
  """Returns the sizes of the rounds that are decided, as a run would ask."""
  for round_number, gradient in enumerate(gradients, start=first):
    stages.observe(round_number, _row(gradient))
  return [stages.size(r) for r in range(1, first + len(gradients) + 2)]


class AccuracyStagesTest(absltest.TestCase):
  def test_by_hand(self):
    stages = participation_stages.AccuracyStages(2, most=12)
    self.assertEqual(stages.sizes, (2, 4, 8, 12))
    self.assertEqual([stages.size(1), stages.size(2)], [2, 2])
    # The evaluation of the initial model decides nothing.
    stages.observe(0, {'eval/global/loss': 1.0})
    gradients = [3.0, 1.0, 0.5, 7.0, 7.0, np.nan, 0.9, 0.9, 0.9]
    self.assertEqual(
      _observe(stages, gradients),
      # Rounds 2 and 7 end stages, and 9 that which begins with it; 3 and 8
      # belong to stages that have ended.
      [2, 2, 2, 4, 4, 4, 4, 4, 8, 8, 12],
    )
    self.assertEqual(
      [stages.first_round(r) for r in (3, 4, 8, 9, 10, 11)],
      [1, 4, 4, 9, 9, 11],
    )

  def test_what_is_not_decided_is_not_guessed(self):
    stages = participation_stages.AccuracyStages(1, most=4)
    stages.observe(1, _row(0.0))
    self.assertEqual(stages.size(3), 2)
    for ask in (stages.size, stages.first_round):
      with self.assertRaisesRegex(ValueError, 'the row of round 2, which'):
        ask(4)

  def test_rounds_that_come_again_replace_what_they_decided(self):
    """As where metrics.csv has rows after the checkpoint of a killed run."""
    stages = participation_stages.AccuracyStages(1, most=8)
    self.assertEqual(_observe(stages, [0, 2, 0, 0, 0]), [1, 1, 2, 2, 4, 4, 8])
    resumed = _observe(stages, [2, 0, 2, 2], first=3)
    self.assertEqual(resumed, [1, 1, 2, 2, 2, 4, 4, 4])

  def test_rounds_of_a_start_decide_nothing(self):
    stages = participation_stages.AccuracyStages(1, most=4)
    stages.observe(50, {'eval/global/loss': 1.0})
    sizes = _observe(stages, [0.0, 2.0, 2.0], first=51)
    self.assertEqual(sizes[50:], [1, 1, 2, 2, 2])
