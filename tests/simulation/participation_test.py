# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of cohorts."""

from fedfish_tff import errors
from fedfish_tff.simulation import participation

from absl.testing import absltest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

_IDS = tuple(f'client {i}' for i in range(10))


class UniformParticipationTest(absltest.TestCase):
  @given(
    cohort_size=st.integers(1, 10),
    seed=st.integers(0, 2**40),
    round_number=st.integers(0, 10**6),
  )
  def test_is_a_function_of_seed_and_round(
    self, cohort_size, seed, round_number
  ):
    choose = participation.uniform_participation(
      _IDS, cohort_size=cohort_size, seed=seed
    )
    again = participation.uniform_participation(
      reversed(_IDS), cohort_size=cohort_size, seed=seed
    )
    for other_round in range(3):
      choose(other_round)
    cohort = choose(round_number)
    self.assertEqual(cohort, again(round_number))
    self.assertLen(set(cohort), cohort_size)
    self.assertContainsSubset(cohort, _IDS)

  def test_is_the_same_in_every_process_and_release(self):
    choose = participation.uniform_participation(_IDS, cohort_size=3, seed=7)
    self.assertEqual(choose(1), ('client 5', 'client 9', 'client 2'))

  def test_every_client_and_place_is_as_likely(self):
    choose = participation.uniform_participation(_IDS, cohort_size=2, seed=1)
    cohorts = [choose(r) for r in range(1, 2001)]
    for place in range(2):
      counts = [sum(c[place] == i for c in cohorts) for i in _IDS]
      self.assertGreater(stats.chisquare(counts).pvalue, 1e-3)

  def test_rejects_more_clients_than_exist(self):
    with self.assertRaisesRegex(
      errors.InputError, 'cohort_size is 11, but .* only 10 .* at most 10'
    ):
      participation.uniform_participation(_IDS, cohort_size=11, seed=1)

  def test_rejects_an_empty_cohort(self):
    with self.assertRaisesRegex(errors.InputError, 'cohort_size is 0'):
      participation.uniform_participation(_IDS, cohort_size=0, seed=1)


if __name__ == '__main__':
  absltest.main()
