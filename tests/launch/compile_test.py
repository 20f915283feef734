# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of launch.compile."""

import re

from fedfish_tff.execution.pjrt import device_client
from tests.execution.pjrt import accelerator
from tests.launch import binary_runner

from absl.testing import absltest
from absl.testing import parameterized
import pytest


class DescribeTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.describe = binary_runner.load('launch.compile').describe

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
      self.describe([small, large, small], []),
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
      self.describe([], ['too large']),
      [('compiles', 'no: too large')],
    )


class CompileTest(accelerator.TestCase, parameterized.TestCase):
  @parameterized.parameters('cpu', 'tpu')
  @pytest.mark.thorough
  def test_operations_of_a_batch(self, platform):
    if platform == 'tpu' and not accelerator.is_installed(with_tpus=True):
      self.skipTest('make accelerator PLATFORM=tpu was not run')
    outcome = binary_runner.run_here(
      'launch.compile',
      '--config=launch/configs/digits.py:fed_avg',
      '--config.batch_size=20',
      f'--platform={platform}',
      '--topology=v5e:2x2',
    )
    self.assertEqual(outcome.code, 0, outcome.stderr)
    # Forward, and the gradients of weights and of hidden units.
    in_step = 2 * 20 * (2 * 64 * 64 + 3 * 64 * 10)
    found = re.search(r'cost +([\d.]+) kFLOP', outcome.stdout)
    # What is summed once a client is no more.
    self.assertBetween(float(found[1]) * 1e3, in_step, 2 * in_step)
    self.assertIn('Compiling a program of 0.', outcome.stdout)
