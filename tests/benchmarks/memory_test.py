# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Memory is sampled over rounds, and its growth is told."""

from unittest import mock

from benchmarks import rounds
from fedfish_tff.execution import contexts
from tests.launch import binary_runner

from absl.testing import absltest
import pytest

memory = binary_runner.load('benchmarks.memory')


class MemoryTest(absltest.TestCase):
  def test_a_sample_after_each_round_of_cohorts_that_vary(self):
    contexts.set_default_context()
    cohorts = []
    build_process = rounds.build_process

    def build_watched(model):
      process = build_process(model)
      watched = mock.create_autospec(process, instance=True)
      watched.initialize.side_effect = process.initialize

      def run_round(state, cohort):
        cohorts.append(cohort)
        return process.next(state, cohort)

      watched.next.side_effect = run_round
      return watched

    with mock.patch.object(
      rounds, 'build_process', autospec=True, side_effect=build_watched
    ):
      samples = list(memory.sample_rounds(rounds=40, largest_cohort=3))
    self.assertLen(samples, 40)
    self.assertGreater(min(samples), 100e6)
    self.assertEqual({len(cohort) for cohort in cohorts}, {1, 2, 3})
    sizes = [client.num_examples for cohort in cohorts for client in cohort]
    self.assertBetween(min(sizes), 1, 20)
    self.assertBetween(max(sizes), 80, 100)

  def test_growth(self):
    def growth(sample):
      return memory.growth_bytes([sample(i) for i in range(1, 101)])

    self.assertEqual(growth(lambda i: 500 + 10 * i), 800)
    # The start, and a single round, do not count.
    self.assertEqual(growth(lambda i: 500 - 100 * (i < 10) + 9 * (i == 97)), 0)

  @pytest.mark.slow
  def test_table(self):
    outcome = binary_runner.run_here(
      'benchmarks.memory', '--rounds=40', '--clients=2'
    )
    self.assertEqual(outcome.code, 0, outcome.stderr)
    header, *samples, growth = outcome.stdout.splitlines()
    self.assertIn('round', header)
    self.assertEqual([int(s.split()[0]) for s in samples], [*range(2, 41, 2)])
    self.assertRegex(growth, r'[+-]\d+\.\d MB')
