# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of research.keyboard.predict_words."""

import io
from unittest import mock

from tests.launch import binary_runner
from tests.research.keyboard import trained_keyboards

from absl.testing import absltest
import pytest


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
