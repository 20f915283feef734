# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the keyboard's table and of predicted words."""

import io
from unittest import mock

from fedfish_tff import trust
from research.keyboard import keyboards
from tests.launch import binary_runner
from tests.research.keyboard import trained_keyboards

from absl.testing import absltest
from absl.testing import parameterized
import pytest


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


class PredictWordsTest(absltest.TestCase):
  def _run(self, *arguments):
    return binary_runner.run_here('research.keyboard.predict_words', *arguments)

  @pytest.mark.thorough
  def test_a_prefix_gets_three_words(self):
    outcome = self._run(
      f'--workdir={trained_keyboards.train()}',
      '--prefix=Roses are',
    )
    self.assertEqual((outcome.code, outcome.problems), (0, []))
    (words,) = outcome.stdout.splitlines()
    self.assertRegex(words, r'^red  \w+  \w+$')

  @pytest.mark.thorough
  def test_each_line_gets_three_words(self):
    with mock.patch('sys.stdin', io.StringIO('Violets\n\nViolets are')):
      outcome = self._run(
        f'--workdir={trained_keyboards.train()}',
        f'--data_dir={trained_keyboards.data_dir()}',
      )
    self.assertEqual((outcome.code, outcome.problems), (0, []))
    first, _, last = outcome.stdout.splitlines()
    self.assertStartsWith(first, 'are  ')
    self.assertStartsWith(last, 'blue  ')

  def test_a_workdir_is_needed(self):
    refused = self._run('--prefix=x')
    self.assertEqual((refused.code, refused.stdout), (2, ''))
    self.assertIn('--workdir is needed', refused.stderr)
