# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of launch.compile; those of compiled_round compile."""

from unittest import mock

from launch.runs import compiled_round
from tests.launch import binary_runner

from absl.testing import absltest

_DIGITS = '--config=launch/configs/digits.py:fed_avg'


class CompileTest(absltest.TestCase):
  def test_flags_reach_the_compiler(self):
    with mock.patch.object(
      compiled_round, 'print_costs', autospec=True
    ) as print_costs:
      outcome = binary_runner.run_here(
        'launch.compile',
        _DIGITS,
        '--config.cohort_size=3',
        '--topology=v6e:2x2',
        '--data_dir=d',
      )
    self.assertEqual((outcome.code, outcome.problems), (0, []))
    (config,), options = print_costs.call_args
    self.assertEqual(config.cohort_size, 3)
    self.assertEqual(
      options, dict(platform='tpu', topology='v6e:2x2', data_dir='d')
    )
