# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of a config as one value."""

import dataclasses
import pickle

from launch.methods import config as config_lib
from tests.launch import small_configs

from absl.testing import parameterized


class ConfigTest(parameterized.TestCase):
  def test_fields_are_those_of_the_mappings(self):
    values = small_configs.make_config('fed_avg,privacy=gaussian')
    config = small_configs.read_config('fed_avg,privacy=gaussian')
    self.assertEqual(config.values, values)
    self.assertEqual(config.rounds, values['rounds'])
    self.assertEqual(vars(config.algorithm), values['algorithm'])
    self.assertEqual(vars(config.blocks['privacy']), values['privacy'])
    self.assertEqual(config.participation.name, 'uniform')
    self.assertIsNone(config.participation.speeds)
    self.assertIsNone(config.client_weight_decay)
    self.assertIsNone(small_configs.read_config('fed3r').client_learning_rate)

  def test_nothing_can_be_set(self):
    config = small_configs.read_config('fed_avg')
    with self.assertRaises(dataclasses.FrozenInstanceError):
      config.rounds = 1
    with self.assertRaises(dataclasses.FrozenInstanceError):
      config.algorithm.server_optimizer = 'adam'

  @parameterized.parameters(
    ('fed_avg', False, True),
    # Its clients keep their last layers.
    ('fed_per', True, False),
    # A block of any method.
    ('fed_avg,exchange=partial,unsent=client_keeps', True, False),
    ('fed_avg,exchange=partial', False, True),
    # A step makes the one model a client's own.
    ('hf_maml', False, False),
  )
  def test_models_at_the_end(self, variant, keeps, has_one):
    config = small_configs.read_config(variant)
    self.assertEqual(config.keeps_models, keeps)
    self.assertEqual(config.has_one_model, has_one)

  def test_origin(self):
    self.assertIsNone(small_configs.read_config('fed_avg').origin)
    config = small_configs.read_config(
      'fed_avg,warm_start=model', **{'warm_start.path': 'runs/a'}
    )
    self.assertEqual(config.origin.path, 'runs/a')

  def test_best_model(self):
    kept = 'fed_avg,early_stopping=stop'
    self.assertTrue(small_configs.read_config(kept).restores_best)
    no = {'early_stopping.restore_best': False}
    self.assertFalse(small_configs.read_config(kept, **no).restores_best)
    plain = small_configs.read_config('fed_avg')
    self.assertFalse(plain.restores_best)
    self.assertIsNone(plain.deciding)

  def test_blocks_inside_are_values_too(self):
    values = config_lib.Values.of({'a': 1, 'b': {'c': (2,)}})
    self.assertEqual((values.a, values.b.c), (1, (2,)))
    self.assertEqual(pickle.loads(pickle.dumps(values)), values)
