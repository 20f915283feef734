# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of cohorts of clients who are slow, or do not answer."""

from fedfish_tff import errors
from fedfish_tff.simulation import client_speeds
from fedfish_tff.simulation import deadlines
from fedfish_tff.simulation import participation
from fedfish_tff.simulation import participation_stages
from fedfish_tff.simulation import power_of_choice
from fedfish_tff.simulation import speed_participation

from absl.testing import absltest
from absl.testing import parameterized
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
import numpy as np
from scipy import stats

_IDS = tuple(f'client {i:03}' for i in range(100))
# By the round, so that who is fast changes.
_SECONDS = {
  1: {'a': 3.0, 'b': 1.0, 'c': 2.0, 'd': 1.0},
  2: {'a': 0.5, 'b': 4.0, 'c': 2.0, 'd': 3.0},
}


def _speeds(round_number, client_ids):
  return np.array([_SECONDS[round_number][c] for c in client_ids])


def _stages(n0=10, most=100, rounds_per_stage=10):
  return participation_stages.equal_stages(
    n0, most=most, rounds_per_stage=rounds_per_stage
  )


class FastestParticipationTest(absltest.TestCase):
  def test_by_hand(self):
    fastest = speed_participation.fastest_participation(
      lambda _: ('d', 'c', 'b', 'a'), size=3, speeds=_speeds
    )
    # Equally fast ones as they are asked.
    self.assertEqual(fastest(1), ('d', 'b', 'c'))
    self.assertEqual(fastest(2), ('a', 'c', 'd'))
    by_round = speed_participation.fastest_participation(
      lambda _: ('d', 'c'), size=lambda r: r, speeds=_speeds
    )
    self.assertEqual(by_round(1), ('d',))
    self.assertEqual(by_round(2), ('c', 'd'))

  def test_where_fewer_answer_all_do(self):
    fastest = speed_participation.fastest_participation(
      lambda _: ('c', 'b'), size=3, speeds=_speeds
    )
    self.assertEqual(fastest(1), ('b', 'c'))
    nobody = speed_participation.fastest_participation(
      lambda _: (), size=3, speeds=_speeds
    )
    self.assertEqual(nobody(1), ())


class DropOutTest(absltest.TestCase):
  @settings(max_examples=30)
  @given(
    seed=st.integers(0, 2**40),
    round_number=st.integers(1, 10**6),
    asked=st.lists(st.sampled_from(_IDS), unique=True),
    probability=st.floats(0, 1, exclude_max=True),
  )
  def test_who_else_is_asked_changes_nothing(
    self, seed, round_number, asked, probability
  ):
    everyone = speed_participation.drop_out(
      lambda _: _IDS, probability, seed=seed
    )(round_number)
    some = speed_participation.drop_out(lambda _: asked, probability, seed=seed)
    some(round_number + 1)
    self.assertEqual(
      some(round_number), tuple(c for c in asked if c in everyone)
    )

  def test_all_fail_as_often_and_independently(self):
    answering = speed_participation.drop_out(lambda _: _IDS, 0.3, seed=1)
    answers = np.array(
      [[c in came for c in _IDS] for came in map(answering, range(1, 301))]
    )
    test = stats.binomtest(int(answers.sum()), answers.size, 0.7)
    self.assertGreater(test.pvalue, 1e-3)
    # Numbers a round, and a client, vary as binomial ones do.
    for axis, size in ((0, 300), (1, 100)):
      counts = answers.sum(axis=axis)
      dispersion = np.sum((counts - 0.7 * size) ** 2) / (0.21 * size)
      p_value = stats.chi2(len(counts)).sf(dispersion)
      self.assertBetween(p_value, 1e-3, 1 - 1e-3)

  def test_refuses_sizes(self):
    def speeds(_, ids):
      return np.ones(len(ids))

    stages = participation_stages.equal_stages(1, most=2, rounds_per_stage=1)
    builders = (
      lambda n: speed_participation.fastest_participation(
        lambda _: _IDS, size=n, speeds=speeds
      ),
      lambda n: speed_participation.flanp_participation(
        _IDS, stages=stages, speeds=speeds, seed=0, cohort_size=n
      ),
      lambda n: deadlines.Deadline(
        lambda _: _IDS, size=n, seconds=1.0, speeds=speeds
      ),
      lambda n: power_of_choice.PowerOfChoice(lambda _: _IDS, size=n),
    )
    for size in (0, -1, 1.5):
      for build in builders:
        with self.assertRaisesRegex(
          errors.InputError, f'size must be a positive integer, got {size}'
        ):
          build(size)

  def test_refuses_probabilities(self):
    for probability in (-0.1, 1.0):
      with self.assertRaisesRegex(errors.InputError, 'drop out'):
        speed_participation.drop_out(lambda _: _IDS, probability, seed=0)


class FlanpParticipationTest(absltest.TestCase):
  def test_the_fastest_of_all_stay(self):
    speeds = client_speeds.fixed_exponential_speeds(seed=3)
    flanp = speed_participation.flanp_participation(
      reversed(_IDS), stages=_stages(), speeds=speeds, seed=3
    )
    ranked = [_IDS[i] for i in np.argsort(speeds(1, _IDS))]
    for round_number, size in ((1, 10), (10, 10), (11, 20), (41, 100)):
      self.assertEqual(flanp(round_number), tuple(ranked[:size]))
    # Equally fast ones by id.
    flanp = speed_participation.flanp_participation(
      'dcba', stages=_stages(1, 4), speeds=_speeds, seed=3
    )
    self.assertEqual(flanp(50), ('b', 'd', 'c', 'a'))

  def test_draws_from_a_pool_that_is_larger_than_the_cohort(self):
    speeds = client_speeds.fixed_exponential_speeds(seed=3)
    flanp = speed_participation.flanp_participation(
      _IDS, stages=_stages(), speeds=speeds, seed=3, cohort_size=20
    )
    ranked = [_IDS[i] for i in np.argsort(speeds(1, _IDS))]
    self.assertEqual(flanp(5), tuple(ranked[:10]))
    for rounds, size in (((21, 30), 40), ((41, 140), 100)):
      came = [flanp(r) for r in range(rounds[0], rounds[1] + 1)]
      for cohort in came:
        self.assertLen(set(cohort), 20)
      self.assertEqual({c for cohort in came for c in cohort}, {*ranked[:size]})

  def test_refuses_stages_of_more_clients_than_there_are(self):
    with self.assertRaisesRegex(
      errors.InputError, 'at most the 4 training clients, got 100'
    ):
      speed_participation.flanp_participation(
        'abcd', stages=_stages(), speeds=_speeds, seed=0
      )


class SrpflParticipationTest(parameterized.TestCase):
  @settings(max_examples=40)
  @given(
    seed=st.integers(0, 2**40),
    round_number=st.integers(1, 60),
    sampled=st.integers(10, 100),
    resample=st.sampled_from(['stage', 'round']),
    dropout=st.sampled_from([0.0, 0.4]),
  )
  def test_takes_the_fastest_answers_of_the_sample(
    self, seed, round_number, sampled, resample, dropout
  ):
    speeds = client_speeds.dynamic_exponential_speeds(seed=seed)
    stages = _stages(most=sampled, rounds_per_stage=7)
    cohort = speed_participation.srpfl_participation(
      reversed(_IDS),
      stages=stages,
      speeds=speeds,
      seed=seed,
      sampled=sampled,
      resample=resample,
      dropout=dropout,
    )(round_number)
    drawn_in = round_number
    if resample == 'stage':
      drawn_in = round_number - (round_number - 1) % 7
      # All rounds from the last stage's first on have one sample.
      drawn_in = min(drawn_in, 1 + 7 * (len(stages.sizes) - 1))
    sample = participation.uniform_participation(
      _IDS, cohort_size=sampled, seed=seed
    )(drawn_in)
    answering = speed_participation.drop_out(
      lambda _: sample, dropout, seed=seed
    )(round_number)
    seconds = dict(zip(answering, speeds(round_number, answering)))
    wanted = sorted(answering, key=seconds.get)[: stages.size(round_number)]
    self.assertEqual(cohort, tuple(wanted))

  def test_rounds_last_as_long_as_expected(self):
    """T_n = (H_M - H_{M-n}) of M iid Exp(1), SRPFL's section 4.1."""
    n, sampled, rounds = 10, 40, 1000
    speeds = client_speeds.device_class_speeds(
      [client_speeds.DeviceClass(1, 1.0)], seed=2
    )
    cohort = speed_participation.srpfl_participation(
      _IDS,
      stages=_stages(n, sampled, rounds_per_stage=rounds),
      speeds=speeds,
      seed=2,
      sampled=sampled,
    )
    clock = client_speeds.build_wall_clock(speeds)
    seconds = np.array([clock(r, cohort(r)) for r in range(1, rounds + 1)])
    # The k-th answer comes Exp(M - k + 1) after the one before.
    gaps = 1 / np.arange(sampled - n + 1, sampled + 1)
    error = np.sqrt(np.sum(gaps**2) / rounds)
    self.assertAlmostEqual(seconds.mean(), gaps.sum(), delta=4 * error)

  def test_refuses_to_resample_otherwise(self):
    with self.assertRaisesRegex(
      errors.InputError, "one of round, stage, got 'never'"
    ):
      speed_participation.srpfl_participation(
        _IDS,
        stages=_stages(),
        speeds=_speeds,
        seed=0,
        sampled=10,
        resample='never',
      )
