# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the runs on AG News and of the pretrained RoBERTa."""

import collections

from launch.sweeps import plan as plan_lib
from research.partial_exchange import ag_news
from tests import grouped_clients
from tests import temporary_folders
from tests.launch import binary_runner

from absl.testing import parameterized
import pytest


class AgNewsSweepsTest(parameterized.TestCase):
  @parameterized.parameters(
    ('linear', 135),
    ('linear_levels', 45),
    ('linear_client_keeps', 45),
    ('cnn', 135),
    ('cnn_client_keeps', 135),
    ('roberta', 15),
    ('roberta_bytes', 12),
    ('roberta_heterogeneous', 15),
    ('roberta_client_keeps', 30),
    ('memo', 72),
  )
  def test_sweeps(self, name, size):
    runs = ag_news.sweep(name)
    self.assertLen(runs, size)
    planned = plan_lib.plan_runs('ag_news.py', ag_news.get_config, runs)
    # Each share, and all sent once, with every seed in every panel.
    points = collections.Counter(
      (
        run.config.values['task']['beta'],
        run.config.values['exchange']['direction'],
        run.config.values['exchange']['selection'],
        run.config.values['exchange']['share'],
      )
      for run in planned
    )
    self.assertLen(set(points.values()), 1)
    whole = [point for point in points if point[-1] == 1]
    self.assertLen(whole, len({beta for beta, *_ in points}))


class PretrainRobertaTest(temporary_folders.TestCase):
  def _run(self, *arguments):
    return binary_runner.run_here(
      'research.partial_exchange.pretrain_roberta', *arguments
    )

  @pytest.mark.thorough
  def test_flags_reach_the_checkpoint(self):
    lines = [f'line {i} of a text that says nothing at all' for i in range(64)]
    grouped_clients.write_folder(
      f'{self.folder}/clients', {'train': {'a.org': ['\n'.join(lines)]}}
    )
    outcome = self._run(
      f'--input={self.folder}/clients',
      f'--output_dir={self.folder}/checkpoint',
      '--vocabulary_size=280',
      '--sequence_length=16',
      '--epochs=2',
    )
    self.assertEqual((outcome.code, outcome.problems), (0, []))
    self.assertIn('64 lines, 280 tokens, 2 steps', outcome.stdout)
    self.assertEndsWith(outcome.stdout, f'{self.folder}/checkpoint\n')

  def test_folders_are_needed(self):
    refused = self._run('--input=x')
    self.assertEqual((refused.code, refused.stdout), (2, ''))
    self.assertIn('--input and --output_dir are needed', refused.stderr)
