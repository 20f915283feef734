# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of research.partial_exchange.pretrain_roberta."""

from tests import grouped_clients
from tests.launch import binary_runner

from absl.testing import absltest


class PretrainRobertaTest(absltest.TestCase):
  def _run(self, *arguments):
    return binary_runner.run_here(
      'research.partial_exchange.pretrain_roberta', *arguments
    )

  def test_flags_reach_the_checkpoint(self):
    parent = self.create_tempdir().full_path
    lines = [f'line {i} of a text that says nothing at all' for i in range(64)]
    grouped_clients.write_folder(
      f'{parent}/clients', {'train': {'a.org': ['\n'.join(lines)]}}
    )
    outcome = self._run(
      f'--input={parent}/clients',
      f'--output_dir={parent}/checkpoint',
      '--vocabulary_size=280',
      '--sequence_length=16',
      '--epochs=2',
    )
    self.assertEqual((outcome.code, outcome.problems), (0, []))
    self.assertIn('64 lines, 280 tokens, 2 steps', outcome.stdout)
    self.assertEndsWith(outcome.stdout, f'{parent}/checkpoint\n')

  def test_folders_are_needed(self):
    refused = self._run('--input=x')
    self.assertEqual((refused.code, refused.stdout), (2, ''))
    self.assertIn('--input and --output_dir are needed', refused.stderr)
