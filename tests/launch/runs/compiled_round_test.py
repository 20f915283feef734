# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for compiled_round."""

import contextlib
import io
import re

from fedfish_tff.execution.pjrt import device_client
from launch.configs import digits
from launch.methods import config_checks
from launch.runs import compiled_round
from tests.execution.pjrt import accelerator

from absl.testing import absltest
from absl.testing import parameterized


class DescribeTest(absltest.TestCase):
  def test_memory_is_of_the_largest_program_and_cost_of_all(self):
    small, large = (
      device_client.Analysis(
        seconds=2.0,
        arguments=1000 * n,
        results=2000 * n,
        temporaries=3_000_000 * n,
        code=0,
        flops=4e9,
        bytes_accessed=5e12,
      )
      for n in (1, 2)
    )
    self.assertEqual(
      compiled_round.describe([small, large, small], []),
      [
        ('compiles', 'yes, 3 programs in 6.0 s'),
        (
          'memory',
          '6.01 MB: arguments 2 kB, results 4 kB, temporaries 6 MB, code 0 kB',
        ),
        ('cost', '12 GFLOP, 15 TB accessed, the body of each loop once'),
      ],
    )

  def test_a_stage_that_does_not_compile(self):
    self.assertEqual(
      compiled_round.describe([], ['too large']),
      [('compiles', 'no: too large')],
    )


class PrintCostsTest(accelerator.TestCase, parameterized.TestCase):
  @parameterized.parameters('cpu', 'tpu')
  def test_operations_of_a_batch(self, platform):
    if platform == 'tpu' and not accelerator.is_installed(with_tpus=True):
      self.skipTest('make accelerator PLATFORM=tpu was not run')
    config = config_checks.read(digits.get_config('fed_avg').to_dict())
    with contextlib.redirect_stdout(io.StringIO()) as printed:
      compiled_round.print_costs(config, platform=platform, topology='v5e:2x2')
    # Forward, and the gradients of weights and of hidden units.
    in_step = 2 * 10 * (2 * 64 * 64 + 3 * 64 * 10)
    found = re.search(r'cost +([\d.]+) kFLOP', printed.getvalue())
    # What is summed once a client is no more.
    self.assertBetween(float(found[1]) * 1e3, in_step, 2 * in_step)
    self.assertIn('Compiling a program of 0.', printed.getvalue())
