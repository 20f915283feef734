# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of research.keyboard.keyboard_table."""

from fedfish_tff import trust
from research.keyboard import keyboards
from tests.launch import binary_runner

from absl.testing import absltest
from absl.testing import parameterized


class KeyboardTableTest(parameterized.TestCase):
  def test_flags_reach_the_comparison(self):
    compare = self.enter_context(
      absltest.mock.patch.object(
        keyboards, 'compare', autospec=True, return_value='a table'
      )
    )
    outcome = binary_runner.run_here(
      'research.keyboard.keyboard_table',
      '--workdirs=a,b',
      '--order=4',
      '--data_dir=d',
    )
    self.assertEqual((outcome.code, outcome.stdout), (0, 'a table\n'))
    compare.assert_called_once_with(
      ['a', 'b'], order=4, data_dir='d', trust=trust.NONE
    )

  @parameterized.parameters(
    ((), '--workdirs is needed'),
    (('--workdirs=/no/such/workdir',), 'There is no workdir /no/such'),
    (('--workdirs=w', '--order=0'), '--order=0'),
  )
  def test_bad_input_gets_one_line_and_exit_code_two(self, arguments, message):
    refused = binary_runner.run_here(
      'research.keyboard.keyboard_table', *arguments
    )
    self.assertEqual((refused.code, refused.stdout), (2, ''))
    self.assertIn(message, refused.stderr)
    self.assertLen(refused.problems, 1)
