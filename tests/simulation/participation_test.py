# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of cohorts."""

from unittest import mock

from fedfish_tff import errors
from fedfish_tff.datasets import random_streams
from fedfish_tff.datasets import sorted_ids
from fedfish_tff.simulation import participation

from absl.testing import absltest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
import numpy as np
import pyarrow as pa
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

  @given(
    total=st.integers(10_001, 10_040),
    cohort_size=st.sampled_from([1, 7, 5000, 10_001]),
    seed=st.integers(0, 2**40),
  )
  @settings(max_examples=20, deadline=None)
  def test_of_many_clients(self, total, cohort_size, seed):
    ids = [f'{i:06}' for i in range(total)]
    choose = participation.uniform_participation(
      ids, cohort_size=cohort_size, seed=seed
    )
    cohort = choose(3)
    self.assertLen(set(cohort), cohort_size)
    self.assertContainsSubset(cohort, ids)
    again = participation.uniform_participation(
      sorted_ids.SortedIds(pa.array(ids, pa.large_string())),
      cohort_size=cohort_size,
      seed=seed,
    )
    self.assertEqual(again(3), cohort)

  def test_every_one_of_many_is_as_likely_in_every_place(self):
    generator = random_streams.random_generator('test')
    with mock.patch.object(participation, '_MOST_PERMUTED', 0):
      draws = np.array(
        [participation._draw(generator, 6, 4) for _ in range(4000)]
      )
    for place in range(4):
      counts = np.bincount(draws[:, place], minlength=6)
      self.assertGreater(stats.chisquare(counts).pvalue, 1e-3)
    pairs = np.bincount(draws[:, 0] * 6 + draws[:, 1], minlength=36)
    self.assertGreater(stats.chisquare(pairs[pairs > 0]).pvalue, 1e-3)
    self.assertEqual(np.count_nonzero(pairs), 30)

  def test_up_to_ten_thousand_are_permuted(self):
    """As earlier releases did, whose runs are to be repeatable."""
    ids = [f'{i:06}' for i in range(10_000)]
    choose = participation.uniform_participation(ids, cohort_size=5, seed=7)
    order = random_streams.random_generator('cohort', 7, 2).permutation(10_000)
    self.assertEqual(choose(2), tuple(ids[i] for i in order[:5]))

  def test_ids_are_not_copied(self):
    ids = sorted_ids.SortedIds(pa.array(_IDS, pa.large_string()))
    with mock.patch.object(sorted_ids.SortedIds, '__iter__') as iterate:
      choose = participation.uniform_participation(ids, cohort_size=3, seed=7)
      self.assertEqual(choose(1), ('client 5', 'client 9', 'client 2'))
      iterate.assert_not_called()

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
