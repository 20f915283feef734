# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of power of choice, alone and in runs that stop and go on."""

from fedfish_tff import algorithms
from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff import simulation
from fedfish_tff.simulation import participation
from fedfish_tff.simulation import power_of_choice
from tests import rounds
from tests import training_runs

from absl.testing import absltest
from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest
from scipy import stats

_SEED, _WEIGHTS_BYTES = training_runs.SEED, 1000


class ProportionalParticipationTest(absltest.TestCase):
  @pytest.mark.thorough
  def test_draws_by_sizes_without_replacement(self):
    sizes = {'a': 1, 'b': 2, 'c': 5}
    cohorts = participation.proportional_participation(
      sizes, cohort_size=2, seed=0
    )
    drawn = [cohorts(r) for r in range(3000)]
    self.assertEqual([cohorts(r) for r in range(3000)], drawn)
    self.assertEqual({len(set(cohort)) for cohort in drawn}, {2})
    # Each pair comes in one order or the other.
    expected, counts = [], []
    for i, j in ('ab', 'ac', 'bc'):
      p, q = sizes[i] / 8, sizes[j] / 8
      expected.append(3000 * (p * q / (1 - p) + q * p / (1 - q)))
      counts.append(sum({i, j} == set(cohort) for cohort in drawn))
    self.assertGreater(stats.chisquare(counts, expected).pvalue, 1e-3)

  def test_refuses(self):
    for sizes, size, message in (
      ({'a': 1, 'b': 0}, 1, "client 'b' must be a positive number, got 0"),
      ({'a': 1}, 2, 'only 1'),
    ):
      with self.assertRaisesRegex(errors.InputError, message):
        participation.proportional_participation(
          sizes, cohort_size=size, seed=0
        )


class ChoiceTest(absltest.TestCase):
  @given(
    losses=st.lists(
      st.one_of(st.floats(allow_nan=True), st.integers(0, 3)), max_size=150
    ),
    size=st.integers(1, 40),
  )
  def test_columns_hold_the_highest_losses(self, losses, size):
    ids = tuple(map(str, range(len(losses))))
    choice = power_of_choice.PowerOfChoice(lambda _: ids, size=size)
    columns = choice.encode(7, losses)
    self.assertLessEqual(len(columns), len(losses) // 30 + 1)
    for number in columns.values():
      self.assertEqual(int(np.float64(number)), number)
    choice.observe(6, columns)
    # Python's sort keeps the order of equal ones; a NaN is the least.
    ranked = sorted(
      range(len(losses)),
      key=lambda i: np.inf if np.isnan(losses[i]) else -losses[i],
    )
    self.assertEqual(choice(7), tuple(ids[i] for i in sorted(ranked[:size])))

  def test_a_round_ahead_is_not_known(self):
    choice = power_of_choice.PowerOfChoice(lambda _: ('a', 'b'), size=1)
    with self.assertRaisesRegex(ValueError, 'round 2 was asked for'):
      choice(2)


class RunTest(training_runs.TestCase):
  SIZES = {'a': 5, 'b': 1, 'c': 8, 'd': 3, 'e': 4, 'f': 2}
  SPEC = datasets.BatchSpec(batch_size=2)

  def _losses(self, weights, client_ids):
    """Mean squared errors, by NumPy."""
    losses = []
    for client_id in client_ids:
      x, y = self.train_data().load_client(client_id)
      losses.append(np.mean((x @ np.array(weights.trainable[0]) - y) ** 2) / 2)
    self.seen.append((client_ids, np.array(weights.trainable[0])))
    return losses

  def train_data(self, bad_clients=''):
    data = super().train_data(bad_clients)
    return datasets.InMemoryClientData(
      {
        c: (x, y.astype(np.float32))
        for c in data.client_ids
        for x, y in [data.load_client(c)]
      }
    )

  def _run(self, folder, killed_at=None):
    self.seen = []
    choice = power_of_choice.PowerOfChoice(
      participation.proportional_participation(
        self.SIZES, cohort_size=4, seed=_SEED
      ),
      size=2,
    )
    process = algorithms.build_fed_avg(
      rounds.create_regression(), rounds.sgd(0.3)
    )
    hooks = [
      choice,
      simulation.CommunicationCosts(simulation.measure_wire_bytes(process)),
      power_of_choice.CandidateLosses(
        choice, self._losses, weights_bytes=_WEIGHTS_BYTES
      ),
    ]
    if killed_at is not None:
      hooks.append(training_runs.stop_at(killed_at))
    result = self.run_training(
      process, folder, participation=choice, hooks=hooks
    )
    return result, choice

  def test_the_highest_losses_at_the_current_weights_take_part(self):
    result, choice = self._run(self.folder / 'whole')
    weights = [w for _, w in self.seen]
    np.testing.assert_array_equal(
      weights[-1], result.state.global_model_weights.trainable[0]
    )
    self.assertLen(weights, training_runs.ROUNDS + 1)
    # Rounds by hand: from the weights, whose losses chose the cohort.
    process = algorithms.build_fed_avg(
      rounds.create_regression(), rounds.sgd(0.3)
    )
    data, state, cohorts = self.train_data(), process.initialize(), set()
    per_client = simulation.measure_wire_bytes(process).total
    for number, row in enumerate(self.rows(self.folder / 'whole')[1:], start=1):
      before = weights[number - 1]
      losses = {}
      for c in choice.candidates(number):
        x, y = data.load_client(c)
        losses[c] = np.mean((x @ before - y) ** 2) / 2
      best = sorted(losses, key=losses.get)[-2:]
      self.assertCountEqual(choice(number), best)
      cohorts.add(choice(number))
      state, _ = process.next(
        state,
        [
          datasets.plan_batches(
            data.load_client(c),
            self.SPEC,
            client_id=c,
            seed=_SEED,
            round_number=number,
          ).to_dataset()
          for c in choice(number)
        ],
      )
      np.testing.assert_array_equal(
        state.global_model_weights.trainable[0], weights[number]
      )
      self.assertEqual(
        row['communication/wire_bytes'],
        2 * per_client + 4 * 4 + 2 * _WEIGHTS_BYTES,
      )
    self.assertGreater(len(cohorts), 2)

  @pytest.mark.thorough
  def test_a_killed_run_goes_on_as_if_it_never_stopped(self):
    whole, choice = self._run(self.folder / 'whole')
    for killed_at in (0, 3, 4):
      folder = self.folder / f'killed{killed_at}'
      with self.assertRaises(training_runs.Stop):
        self._run(folder, killed_at)
      result, resumed = self._run(folder)
      self.assert_same_bits(
        result.state.global_model_weights.trainable,
        whole.state.global_model_weights.trainable,
      )
      self.assertEqual(self.rows(folder), self.rows(self.folder / 'whole'))
      for number in range(1, training_runs.ROUNDS + 2):
        self.assertEqual(resumed(number), choice(number))
