# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Suggestions of a model that has learned two sentences by heart."""

import json
import pathlib

from fedfish_tff import errors
from launch.runs import word_suggestions
from tests.launch import trained_keyboards

from absl.testing import absltest


class WordSuggestionsTest(absltest.TestCase):
  def test_suggests_what_goes_on_in_the_last_sentence(self):
    with word_suggestions.open_suggester(trained_keyboards.train()) as suggest:
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
    with self.assertRaisesRegex(errors.InputError, "'digits'; keyboard was"):
      word_suggestions.check_is_keyboard(pathlib.Path(path).parent)
