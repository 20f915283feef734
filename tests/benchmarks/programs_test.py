# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the programs that benchmarks time."""

from unittest import mock

from benchmarks import program_cases
from benchmarks import rounds
from benchmarks import workloads
from fedfish_tff import execution
from fedfish_tff.execution import contexts
from tests.execution.pjrt import accelerator
from tests.launch import binary_runner

from absl.testing import absltest
import pytest
import tensorflow_federated as tff


@pytest.mark.slow
class ProgramsTest(absltest.TestCase):
  def test_table(self):
    outcome = binary_runner.run_here(
      'benchmarks.programs',
      *('--programs=range', '--repeats=1'),
    )
    self.assertEqual(outcome.code, 0, outcome.stderr)
    self.assertRegex(
      outcome.stdout, r'\n\| range +(\| +\d+ \| +\d+ \| +\d+\.\d\d ){2}\|\n'
    )

  def test_no_such_program(self):
    outcome = binary_runner.run_here(
      'benchmarks.programs', '--programs=nothing'
    )
    self.assertEqual(outcome.code, 2)
    self.assertIn("got 'nothing'", outcome.stderr)


class ProgramCasesTest(absltest.TestCase):
  def test_every_algorithm_is_there(self):
    self.assertContainsSubset(
      {n for n in dir(tff.learning.algorithms) if n.startswith('build_')},
      program_cases.CASES['tff.learning.algorithms'],
    )

  @pytest.mark.slow
  def test_all_run(self):
    context = execution.create_context()
    with tff.framework.get_context_stack().install(context):
      for group in program_cases.CASES.values():
        for name, make in group.items():
          with self.subTest(name):
            make()()


class WorkloadsTest(absltest.TestCase):
  def test_names(self):
    networks = {w.network for w in workloads.WORKLOADS.values()}
    self.assertEqual(networks, set(rounds.NETWORKS))
    self.assertContainsSubset(
      {
        workloads.YARDSTICK,
        workloads.FIRST_ROUND_ROW,
        workloads.MEASURED_ONCE_ROW,
      },
      workloads.ROWS,
    )


class AcceleratorTest(accelerator.TestCase):
  @pytest.mark.slow
  def test_table(self):
    outcome = binary_runner.run_here(
      'benchmarks.accelerator',
      *('--workloads=softmax', '--clients=3', '--repeats=1'),
    )
    self.assertEqual(outcome.code, 0, outcome.stderr)
    # Cells of a GPU in this process are empty where there is none.
    self.assertRegex(
      outcome.stdout,
      r'\n\| FedAvg, softmax[^|]*\| +\d+\.\d+ \|'
      r'( +\|){2}( +\d+\.\d+ \|){6} +\|( +\d+\.\d+ \|){2}\n',
    )
    # The name of the processor decides where lines end.
    self.assertRegex(outcome.stdout, r'3\s+clients\s+of\s+100\s+examples')


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
