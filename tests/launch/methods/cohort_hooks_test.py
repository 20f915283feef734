# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for cohort_hooks."""

from fedfish_tff import simulation
from launch.methods import config_checks
from launch.methods import participation
from launch.runs import experiment as experiment_lib
from tests.launch import small_configs

from absl.testing import absltest


class BuildTest(absltest.TestCase):
  def _build(self, policy, **changes):
    """Returns the hooks, and the bytes that a client sends besides a round's."""
    config = config_checks.read(
      small_configs.make_timed_config(policy, **changes)
    )
    experiment = experiment_lib.build_experiment(config)
    hooks = participation.BLOCK.hooks(experiment)
    (costs,) = (
      hook for hook in hooks if isinstance(hook, simulation.CommunicationCosts)
    )
    of_a_round = experiment.built.wire_bytes
    self.assertEqual(costs.wire_bytes.download, of_a_round.download)
    return hooks, costs.wire_bytes.upload - of_a_round.upload

  def test_uniform_cohorts_have_costs_and_time(self):
    hooks, further = self._build('uniform')
    self.assertEqual(
      list(map(type, hooks)),
      [simulation.CommunicationCosts, simulation.SimulatedTime],
    )
    self.assertEqual(further, 0)

  def test_stages_that_end_by_accuracy_cost_a_gradient(self):
    hooks, further = self._build(
      'flanp', rounds_per_stage=0, cohort_size=8, n0=2
    )
    # Cohorts are decided before the clock asks for them.
    self.assertEqual(
      list(map(type, hooks)),
      [
        simulation.AccuracyStages,
        simulation.Criterion,
        simulation.CommunicationCosts,
        simulation.SimulatedTime,
      ],
    )
    # The perceptron 64-8-10 in float32, and an int64 number of examples.
    self.assertEqual(further, 4 * (64 * 8 + 8 + 8 * 10 + 10) + 8)

  def test_power_of_choice_measures_losses(self):
    hooks, further = self._build('power_of_choice', candidates=6)
    self.assertIn(simulation.CandidateLosses, set(map(type, hooks)))
    self.assertEqual(further, 0)


if __name__ == '__main__':
  absltest.main()
