# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the pretraining of a RoBERTa."""

import contextlib
import io
import re

from fedfish_tff import errors
from research.partial_exchange import roberta_pretraining
from tasks.text import roberta
from tasks.text import roberta_tokens
from tests import grouped_clients
from tests import temporary_folders

import numpy as np
import pytest
import transformers

_LINES = [
  f'{one} {two} of the town goes to the {two} of {three}'
  for one in ('The brave', 'The new', 'The old')
  for two in ('mayor', 'court', 'team', 'bank')
  for three in ('Rome', 'Paris', 'Oslo', 'Bern', 'Riga', 'Minsk')
]


class RobertaPretrainingTest(temporary_folders.TestCase):
  def _pretrain(self, name, lines=_LINES, **options):
    clients = self.folder / 'clients'
    if not clients.exists():
      grouped_clients.write_folder(
        clients, {'train': {'a.org': ['\n'.join([*lines, 'short'])]}}
      )
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
      roberta_pretraining.run(
        str(clients),
        str(self.folder / name),
        vocabulary_size=300,
        sequence_length=32,
        **options,
      )
    return printed.getvalue()

  @pytest.mark.slow
  def test_the_task_starts_from_what_was_learned(self):
    printed = self._pretrain('checkpoint', epochs=150)
    self.assertStartsWith(printed, '72 lines, 300 tokens, 150 steps')
    (loss,) = re.findall(r'loss (\S+) nats', printed)
    # The words of a line determine each other, but for few choices.
    self.assertLess(float(loss), 0.5 * np.log(300))
    folder = self.folder / 'checkpoint'
    model = transformers.TFRobertaForMaskedLM.from_pretrained(folder)
    classifier = roberta.create_roberta(
      (), class_names=('a', 'b'), seed=0, sequence_length=32, checkpoint=folder
    )
    body = model.roberta.trainable_variables
    tensors = classifier.model.initial_weights[0]
    # The classifier comes last: two layers, each with a bias.
    self.assertLen(tensors, len(body) + 4)
    for tensor, variable in zip(tensors, body):
      np.testing.assert_array_equal(tensor, variable)

  @pytest.mark.thorough
  def test_the_same_command_gives_the_same_weights(self):
    for name in ('one', 'two'):
      self._pretrain(name, epochs=1)
    one, two = (
      (self.folder / name / 'model.safetensors').read_bytes()
      for name in ('one', 'two')
    )
    self.assertEqual(one, two)

  def test_masked_tokens(self):
    tokens = roberta_tokens.train_roberta_tokens(
      _LINES, vocabulary_size=300, sequence_length=32
    )
    rows = tokens.encode(_LINES * 8)
    masked = kept = total = 0
    for batch, places, true in roberta_pretraining.masked_batches(rows, 300, 2):
      restored = batch.copy()
      restored.flat[places] = true
      self.assertLessEqual(
        {tuple(row) for row in restored.tolist()},
        {tuple(row) for row in rows.tolist()},
      )
      self.assertGreaterEqual(true.min(), roberta_tokens.NUM_SPECIAL)
      masked += (batch.flat[places] == roberta_tokens.MASK).sum()
      kept += (batch.flat[places] == true).sum()
      total += len(places)
    words = (rows[: len(rows) // 64 * 64] >= roberta_tokens.NUM_SPECIAL).sum()
    self.assertAlmostEqual(total / (2 * words), 0.15, delta=0.01)
    self.assertAlmostEqual(masked / total, 0.8, delta=0.03)
    self.assertAlmostEqual(kept / total, 0.1, delta=0.03)

  @pytest.mark.thorough
  def test_too_few_lines_and_a_diverging_rate_are_refused(self):
    with self.assertRaisesRegex(errors.InputError, 'finite, got (nan|inf)'):
      self._pretrain('checkpoint', epochs=20, learning_rate=1e30)
    self.assertFalse((self.folder / 'checkpoint').exists())
    self.folder = self.folder / 'other'
    with self.assertRaisesRegex(errors.InputError, 'at least 64 lines .*got 3'):
      self._pretrain('checkpoint', lines=_LINES[:3])
