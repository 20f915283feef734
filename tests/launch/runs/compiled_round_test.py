# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for compiled_round."""

import re

from fedfish_tff import errors
from fedfish_tff.execution.pjrt import round_costs
from launch.configs import digits
from launch.runs import compiled_round
from launch.runs import experiment as experiment_lib
from tests.execution.pjrt import accelerator

from absl.testing import absltest
from absl.testing import parameterized


class DescribeTest(absltest.TestCase):
  def _describe(self, *stages, **options):
    rows = compiled_round.describe(
      stages,
      kind='a chip',
      num_chips=4,
      chip=compiled_round.Chip(flops=6e12, memory=1000, products=10**3),
      num_clients=10,
      rounds=7,
      **options,
    )
    return dict(rows)

  def test_times_of_waves_of_clients(self):
    stage = round_costs.StageCost(
      arguments=100,
      temporaries=300,
      loops=[
        round_costs.LoopCost(
          name=name,
          trips=trips,
          is_counted=True,
          flops=flops,
          num_bytes=8.0,
          cycles=1.5e9,
        )
        for name, trips, flops in (('', 0.0, 0.0), ('clients', 2.0, 1e12))
      ],
    )
    rows = self._describe(stage)
    # 2 TFLOP at 1 TFLOP/s; 3 billion cycles at 3 GHz; 3 clients on a chip.
    at_best, by_xla = (
      value for key, value in rows.items() if key.startswith(('at', 'by'))
    )
    self.assertStartsWith(at_best, '2 s a client, 6 s a round, 42 s for 7')
    self.assertStartsWith(by_xla, '2 s a client')
    self.assertIn('40.0%', rows['of the chip'])
    self.assertIn('3 side by side', rows['cohort that fits'])

  def test_a_stage_that_does_not_compile(self):
    rows = self._describe(round_costs.StageCost(problem='too large'))
    self.assertEqual(rows['compiles'], 'no: too large')


class PrintCostsTest(accelerator.TestCase, parameterized.TestCase):
  @parameterized.parameters('cpu', 'tpu')
  def test_operations_of_a_network_of_two_layers(self, platform):
    if platform == 'tpu' and not accelerator.is_installed(with_tpus=True):
      self.skipTest('make accelerator PLATFORM=tpu was not run')
    config = digits.get_config('fed_avg').to_dict()
    lines = []
    compiled_round.print_costs(
      config, platform=platform, topology='v5e:2x2', say=lines.append
    )
    # Forward, and the gradients of weights and of hidden units, in batches of
    # 10, to which XLA fills up the last one of an epoch.
    in_step = 2 * 10 * (2 * 64 * 64 + 3 * 64 * 10)
    cohort = experiment_lib.build_experiment(config).load_cohort(1)
    steps = sum(len(client) for client in cohort) / len(cohort)
    found = re.search(r'a client +([\d.]+) MFLOP', lines[-1])
    self.assertBetween(
      float(found[1]) * 1e6, steps * in_step, 1.25 * steps * in_step
    )
    self.assertEqual('measured' in lines[-1], platform == 'cpu')

  def test_chips_that_are_none(self):
    with self.assertRaisesRegex(errors.InputError, 'v9'):
      compiled_round.print_costs({}, platform='tpu', topology='v9:2x2')
