# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the Shakespeare task, on a few lines."""

from fedfish_tff import errors
from tasks.text import shakespeare
from tests import temporary_folders
from tests import tff_database

import numpy as np

_LINES = {
  'train': {
    'A': ['ab!', 'b'],
    'B': ['O, speak again.'],
    'C': ['Nay, but this dotage'],
    'D': ['x'],
  },
  'test': {'A': ['ba'], 'B': ['Ay.', 'No.'], 'C': ['1 $'], 'D': ['y']},
}


class ShakespeareTest(temporary_folders.TestCase):
  def setUp(self):
    super().setUp()
    tff_database.write_tff_database(
      self.folder / 'shakespeare.sqlite',
      {
        split: {
          speaker: [{'snippets': [text.encode()]} for text in texts]
          for speaker, texts in speakers.items()
        }
        for split, speakers in _LINES.items()
      },
    )

  def _create(self, **options):
    defaults = dict(
      seed=0,
      num_clients=2,
      num_validation_clients=1,
      min_characters=6,
      sequence_length=4,
    )
    return shakespeare.create_task(
      data_dir=str(self.folder), **{**defaults, **options}
    )

  def test_clients_are_drawn_of_speakers_who_say_enough(self):
    trained = set()
    for seed in range(8):
      task = self._create(seed=seed)
      train, held_out = task.train.client_ids, task.validation.client_ids
      self.assertCountEqual([*train, *held_out], 'ABC')
      self.assertCountEqual(task.test.client_ids, [f'test/{c}' for c in train])
      trained.add(frozenset(train))
    self.assertLen(trained, 3)

  def test_texts_become_chunks_of_characters(self):
    tasks = [self._create(seed=seed) for seed in range(8)]
    trains = next(task for task in tasks if 'A' in task.train.client_ids)
    held_out = next(task for task in tasks if 'A' in task.validation.client_ids)
    # Padding, begin, end and out of vocabulary; then the characters.
    pad, bos, eos, _ = range(4)
    mark, a, b = 6, 57, 58
    expected = [
      (
        trains.train,
        'A',
        [[bos, a, b, mark], [eos, bos, b, eos]],
        [[a, b, mark, eos], [pad, b, eos, pad]],
      ),
      (trains.test, 'test/A', [[bos, b, a, eos]], [[b, a, eos, pad]]),
      (
        held_out.validation,
        'A',
        [[bos, a, b, mark], [eos, bos, b, eos], [bos, b, a, eos]],
        [[a, b, mark, eos], [pad, b, eos, pad], [b, a, eos, pad]],
      ),
    ]
    for data, client, expected_x, expected_y in expected:
      x, y = data.load_client(client)
      np.testing.assert_array_equal(x, expected_x)
      np.testing.assert_array_equal(y, expected_y)

  def test_models_of_any_widths(self):
    """The vocabulary is the paper's by default, with 4 special tokens more."""
    task = self._create()
    weights = task.create_model().initial_weights[0]
    self.assertEqual(
      sum(w.size for w in weights), 84 * 8 + 8 * 1024 + 257 * 1024 + 257 * 84
    )
    weights = task.create_sized_model((3, 5), 1).initial_weights[0]
    self.assertEqual(
      [w.shape for w in weights],
      [(84, 3), (3, 20), (5, 20), (20,), (5, 84), (84,)],
    )

  def test_too_few_speakers_say_enough(self):
    with self.assertRaisesRegex(errors.InputError, '3 .*min_characters = 6'):
      self._create(num_clients=4)
