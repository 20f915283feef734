# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Keyboards that have learned a few sentences, their table and predictions."""

import io
import json
import math
import pathlib
from unittest import mock

from fedfish_tff import errors
from fedfish_tff import trust
from research.keyboard import keyboards
from tests.launch import binary_runner
from tests.research.keyboard import trained_keyboards

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import pytest


class SuggesterTest(absltest.TestCase):
  @pytest.mark.thorough
  def test_suggests_the_next_word_of_the_last_sentence(self):
    suggest = keyboards.build_suggester(trained_keyboards.train())
    self.assertEqual(suggest('Roses ')[0], 'are')
    self.assertEqual(suggest('roses, ARE')[0], 'red')
    self.assertEqual(suggest('Roses are red. Violets are')[0], 'blue')
    self.assertCountEqual(suggest('')[:2], ['roses', 'violets'])
    self.assertEqual(suggest('Violets are blue. '), suggest(''))
    self.assertLen(suggest('whatever'), 3)

  def test_another_task_is_refused(self):
    config = {
      'seed': 0,
      'rounds': 1,
      'algorithm': {'name': 'a'},
      'task': {'name': 'digits'},
    }
    path = self.create_tempfile('config.json', json.dumps(config)).full_path
    with self.assertRaisesRegex(
      errors.InputError, "must be 'keyboard', got 'digits'"
    ):
      keyboards.check_is_keyboard(pathlib.Path(path).parent)


class CompareTest(absltest.TestCase):
  def _compare(self, *workdirs):
    return keyboards.compare(
      workdirs, order=3, data_dir=trained_keyboards.data_dir()
    )

  def test_models_that_know_all_sentences(self):
    """All but "mine", which has no token, and one of two first words.

    Of roses are red, violets are blue, roses are mine.
    """
    table = self._compare(trained_keyboards.train())
    n_gram, federated, about = table.splitlines()[1:]
    self.assertStartsWith(n_gram, '3-gram ')
    self.assertStartsWith(federated, 'Federated CIFG ')
    self.assertIn('9 words of 2 test users', about)
    # Both words may come first; the others are certain.
    for row in (n_gram, federated):
      cells = row.split()
      self.assertEqual(cells[-3], '88.89')
      self.assertIn(cells[-6], ('66.67', '77.78'))

  @pytest.mark.thorough
  def test_the_server_s_model_comes_first(self):
    federated = trained_keyboards.train()
    central = trained_keyboards.train(',training=central')
    rows = self._compare(federated, central, federated).splitlines()
    self.assertStartsWith(rows[2], 'Server CIFG ')
    self.assertStartsWith(rows[3], 'Federated CIFG ')
    self.assertStartsWith(rows[4], f'Federated CIFG ({federated.name}) ')

  @pytest.mark.thorough
  def test_another_vocabulary_is_refused(self):
    other = trained_keyboards.train(vocabulary_size=6)
    with self.assertRaisesRegex(errors.InputError, 'must have one vocabulary'):
      self._compare(trained_keyboards.train(), other)


class RecallTest(absltest.TestCase):
  def test_error_is_the_deviation_over_draws_of_users(self):
    rng = np.random.default_rng(0)

    def draw(users):
      typed = rng.integers(1, 200, users)
      # Users who type more are easier to predict.
      return rng.binomial(typed, 0.1 + 0.001 * typed), typed

    recalls = [keyboards.pool_recall(*draw(400)) for _ in range(500)]
    values, deviations = np.transpose(recalls)
    np.testing.assert_allclose(
      np.sqrt(np.mean(deviations**2)), np.std(values), rtol=0.1
    )

  def test_one_user_has_no_error(self):
    recall = keyboards.pool_recall(np.array([1]), np.array([4]))
    np.testing.assert_equal(recall, (0.25, math.nan))

  def test_table(self):
    typed = np.array([10, 10])
    table = keyboards.format_table(
      {
        'n': {1: np.array([1, 1]), 3: np.array([1, 3])},
        'cifg': {1: np.array([2, 2]), 3: np.array([4, 4])},
      },
      typed,
    )
    self.assertEqual(
      table.splitlines()[:3],
      [
        'Model  Top-1 recall [%]  Top-3 recall [%]',
        'n      10.00 ± 0.00      20.00 ± 10.00',
        'cifg   20.00 ± 0.00      40.00 ± 0.00',
      ],
    )
    self.assertIn('20 words of 2 test users', table)


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
