# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The paper's setting of keyboards, and its centralised counterpart."""

import math
import pathlib

from fedfish_tff import simulation
from launch.configs import keyboard
from launch.methods import config_checks
from tests.launch import small_configs

from absl.testing import absltest
import pytest


class KeyboardConfigTest(absltest.TestCase):
  def test_all_rounds_have_the_paper_s_600_million_sentences(self):
    config = keyboard.get_config()
    self.assertEqual(
      config.rounds * config.cohort_size * config.max_examples_per_client,
      600_000_000,
    )

  def test_central_training_sees_as_many_sentences(self):
    for size in ('', ',size=compact'):
      federated = keyboard.get_config(f'fed_avg{size}')
      central = keyboard.get_config(f'fed_avg,training=central{size}')
      config_checks.read(central.to_dict())
      self.assertTrue(central.task.central)
      self.assertEqual(central.algorithm.server_optimizer, 'sgd')
      self.assertEqual(
        central.rounds * central.cohort_size * central.max_examples_per_client,
        federated.rounds
        * federated.cohort_size
        * federated.max_examples_per_client,
      )

  @pytest.mark.thorough
  def test_both_learn_made_up_texts(self):
    for variant in ('fed_avg', 'fed_avg,training=central'):
      config = keyboard.get_config(f'{variant},size=compact').to_dict()
      config['task'] |= {'vocabulary_size': 100, 'num_generated_users': 60}
      config |= {'rounds': 10, 'evaluate_every': 10}
      folder = pathlib.Path(self.create_tempdir().full_path)
      small_configs.train(config, folder)
      first, last = (
        simulation.read_rows(folder / 'metrics.csv')[row]['eval/global/loss']
        for row in (0, -1)
      )
      # Nats a token: from a guess among all tokens on.
      self.assertAlmostEqual(first, math.log(100), delta=0.1)
      self.assertLess(last, first - 0.3, variant)
