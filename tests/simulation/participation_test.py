# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of cohorts."""

from unittest import mock

from fedfish_tff import errors
from fedfish_tff.datasets import random_streams
from fedfish_tff.datasets import sorted_ids
from fedfish_tff.simulation import participation

from absl.testing import absltest
from absl.testing import parameterized
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
import numpy as np
import pyarrow as pa
from scipy import stats

_IDS = tuple(f'client {i}' for i in range(10))


_DRAWN = {
  'uniform': participation.uniform_participation,
  'poisson': participation.poisson_participation,
}
_VISITS = {
  'epochs': participation.epochs_participation,
  'once': participation.visit_once_participation,
}


class ParticipationTest(parameterized.TestCase):
  @given(
    name=st.sampled_from([*_DRAWN]),
    cohort_size=st.integers(1, 10),
    seed=st.integers(0, 2**40),
    round_number=st.integers(0, 10**6),
  )
  def test_is_a_function_of_seed_and_round(
    self, name, cohort_size, seed, round_number
  ):
    choose, again = (
      _DRAWN[name](ids, cohort_size=cohort_size, seed=seed)
      for ids in (_IDS, reversed(_IDS))
    )
    for other_round in (*range(3), round_number + 1):
      choose(other_round)
    cohort = choose(round_number)
    self.assertEqual(cohort, again(round_number))
    self.assertLen(set(cohort), len(cohort))
    self.assertContainsSubset(cohort, _IDS)
    if name == 'uniform':
      self.assertLen(cohort, cohort_size)

  @parameterized.parameters(
    participation.uniform_participation, participation.visit_once_participation
  )
  def test_ids_are_not_copied(self, build):
    ids = sorted_ids.SortedIds(pa.array(_IDS, pa.large_string()))
    expected = build(_IDS, cohort_size=3, seed=7)(1)
    with mock.patch.object(
      sorted_ids.SortedIds, '__iter__', autospec=True
    ) as iterate:
      self.assertEqual(build(ids, cohort_size=3, seed=7)(1), expected)
      iterate.assert_not_called()

  @parameterized.parameters(*_DRAWN.values(), *_VISITS.values())
  def test_cohort_sizes_that_cannot_be(self, build):
    with self.assertRaisesRegex(errors.InputError, 'cohort_size must .*got 0'):
      build(_IDS, cohort_size=0, seed=1)
    if build is not participation.visit_once_participation:
      with self.assertRaisesRegex(
        errors.InputError, 'cohort_size is 11, but .* only 10 .* at most 10'
      ):
        build(_IDS, cohort_size=11, seed=1)

  def test_rounds_of_visits_begin_at_one(self):
    for build in _VISITS.values():
      cohort = build(_IDS, cohort_size=1, seed=1)
      with self.assertRaisesRegex(errors.InputError, 'cohort .*0'):
        cohort(0)


class UniformParticipationTest(absltest.TestCase):
  def test_is_the_same_in_every_process_and_release(self):
    choose = participation.uniform_participation(_IDS, cohort_size=3, seed=7)
    self.assertEqual(choose(1), ('client 5', 'client 9', 'client 2'))

  @given(
    total=st.integers(10_001, 10_040),
    cohort_size=st.sampled_from([1, 7, 5000, 10_001]),
    seed=st.integers(0, 2**40),
  )
  @settings(max_examples=20)
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
    """Or the figures of the documentation could not be repeated."""
    ids = [f'{i:06}' for i in range(10_000)]
    choose = participation.uniform_participation(ids, cohort_size=5, seed=7)
    order = random_streams.random_generator('cohort', 7, 2).permutation(10_000)
    self.assertEqual(choose(2), tuple(ids[i] for i in order[:5]))


class PoissonParticipationTest(absltest.TestCase):
  def test_clients_come_independently(self):
    """Sizes are binomial, and pairs of clients meet by chance alone."""
    choose = participation.poisson_participation(_IDS, cohort_size=2, seed=1)
    rounds = 4000
    came = np.array([[i in choose(r) for i in _IDS] for r in range(rounds)])
    sizes = np.bincount(came.sum(axis=1), minlength=7)
    expected = rounds * stats.binom(10, 0.2).pmf(np.arange(6))
    self.assertGreater(
      stats.chisquare(
        [*sizes[:6], sizes[6:].sum()], [*expected, rounds - expected.sum()]
      ).pvalue,
      1e-3,
    )
    self.assertGreater(sizes[0], 0)  # Nobody came.
    self.assertGreater(stats.chisquare(came.sum(axis=0)).pvalue, 1e-3)
    correlation = np.corrcoef(came.T)[np.triu_indices(10, 1)]
    self.assertLess(np.abs(correlation).max(), 4.5 / np.sqrt(rounds))

  def test_everybody_comes_where_all_are_expected(self):
    choose = participation.poisson_participation(_IDS, cohort_size=10, seed=1)
    self.assertCountEqual(choose(1), _IDS)


class EpochsParticipationTest(absltest.TestCase):
  @given(cohort_size=st.integers(1, 10), seed=st.integers(0, 2**40))
  def test_every_client_comes_once_an_epoch(self, cohort_size, seed):
    visit, again = (
      participation.epochs_participation(
        _IDS, cohort_size=cohort_size, seed=seed
      )
      for _ in range(2)
    )
    rounds = participation.count_visiting_rounds(10, cohort_size=cohort_size)
    # Whatever the order in which it is asked.
    cohorts = {r: visit(r) for r in reversed(range(1, 3 * rounds + 1))}
    for epoch in range(3):
      first = epoch * rounds + 1
      self.assertCountEqual(
        sum((cohorts[r] for r in range(first, first + rounds)), ()), _IDS
      )
      self.assertEqual(again(first), cohorts[first])
    self.assertLessEqual(max(map(len, cohorts.values())), cohort_size)

  def test_epochs_have_orders_of_their_own(self):
    visit = participation.epochs_participation(_IDS, cohort_size=10, seed=0)
    self.assertLen({visit(r) for r in range(1, 6)}, 5)


class VisitOnceParticipationTest(absltest.TestCase):
  @given(
    num_clients=st.integers(0, 12),
    cohort_size=st.integers(1, 15),
    seed=st.integers(0, 2**40),
  )
  def test_every_client_comes_once(self, num_clients, cohort_size, seed):
    ids = [f'client {i}' for i in range(num_clients)]
    visit = participation.visit_once_participation(
      ids, cohort_size=cohort_size, seed=seed
    )
    rounds = participation.count_visiting_rounds(
      num_clients, cohort_size=cohort_size
    )
    # Whatever the order in which it is asked.
    cohorts = {r: visit(r) for r in reversed(range(1, rounds + 3))}
    came = [c for r in range(1, rounds + 1) for c in cohorts[r]]
    self.assertCountEqual(came, ids)
    if rounds:
      sizes = [len(cohorts[r]) for r in range(1, rounds + 1)]
      self.assertBetween(max(sizes), min(sizes), min(sizes) + 1)
      self.assertBetween(min(sizes), 1, cohort_size)
      self.assertLessEqual(max(sizes), cohort_size)
    self.assertEmpty(cohorts[rounds + 1] + cohorts[rounds + 2])
    again = participation.visit_once_participation(
      reversed(ids), cohort_size=cohort_size, seed=seed
    )
    self.assertEqual(again(1), cohorts[1])

  def test_is_the_same_in_every_process_and_release(self):
    visit = participation.visit_once_participation(_IDS, cohort_size=3, seed=7)
    order = random_streams.random_generator('visits', 7).permutation(10)
    self.assertEqual(visit(2), tuple(_IDS[i] for i in order[3:6]))

  def test_published_numbers_of_rounds(self):
    for clients, rounds in ((1262, 127), (9275, 928)):
      self.assertEqual(
        participation.count_visiting_rounds(clients, cohort_size=10), rounds
      )
