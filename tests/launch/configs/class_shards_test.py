# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Configs of clients of a few classes, with the published fields."""

from launch.configs import class_shards
from launch.methods import config_checks

from absl.testing import parameterized

_CONFIGS = (
  ('cifar10', 1, 5),
  ('cifar100', 5, 20),
  ('digits', 5, 5),
)


class ClassShardsTest(parameterized.TestCase):
  @parameterized.parameters(*_CONFIGS)
  def test_published_fields(self, images, body_epochs, classes):
    for variant in (
      'fed_rep',
      'fed_rep,participation=srpfl',
      'lg_fed_avg,participation=srpfl,speeds=dynamic',
      'fed_avg,participation=flanp',
      'fed_per',
      'ditto',
      'scaffold',
    ):
      config = class_shards.get_config(f'{variant},images={images}').to_dict()
      config_checks.read(config)
      is_fed_rep = variant.startswith('fed_rep')
      self.assertEqual(
        config['local_epochs'], body_epochs + (10 if is_fed_rep else 0)
      )
      if is_fed_rep:
        self.assertEqual(config['algorithm']['body_epochs'], body_epochs)
      if 'participation=' in variant:
        self.assertEqual(config['participation']['n0'], 10)
        self.assertEqual(config['participation']['rounds_per_stage'], 10)
      for field, value in {
        'rounds': 150,
        'cohort_size': 100,
        'batch_size': 10,
        'client_learning_rate': 0.01,
        'server_learning_rate': 1.0,
      }.items():
        self.assertEqual(config[field], value, field)
      self.assertEqual(
        config['evaluation']['personalization_learning_rates'],
        (0.001, 0.01, 0.1) if variant.startswith('fed_avg') else (),
      )
      if variant != 'scaffold':
        self.assertEqual(config['algorithm']['client_optimizer'], 'sgdm_half')
    self.assertEqual(config['task']['classes_per_client'], classes)

  def test_hf_maml_has_rates_of_its_own(self):
    config = class_shards.get_config('hf_maml').to_dict()
    config_checks.read(config)
    self.assertEqual(config['client_learning_rate'], 0.1)
    self.assertEqual(config['algorithm']['client_optimizer'], 'sgd')
    self.assertEqual(config['algorithm']['personal_learning_rate'], 0.01)
    self.assertEqual(config['algorithm']['difference'], 0.001)

  @parameterized.parameters(
    ('hf_maml,images=cifar100', 'exact'),
    ('hf_maml,images=cifar100,size=results', 'hessian_free'),
    ('hf_maml', 'hessian_free'),
  )
  def test_hf_maml_is_exact_for_a_network_with_dropout(self, variant, order):
    config = class_shards.get_config(variant).to_dict()
    config_checks.read(config)
    self.assertEqual(config['algorithm']['order'], order)

  @parameterized.parameters(
    ('fed_avg,size=compact', 'model', 'classic_lenet5'),
    ('ditto,images=cifar100,size=compact', 'model', 'classic_lenet5'),
    ('fed_per,images=letters', 'characters', 'letters'),
    ('fed_per,images=digits,size=results', 'hidden_units', (128, 64)),
  )
  def test_axes(self, variant, field, value):
    config = class_shards.get_config(variant).to_dict()
    config_checks.read(config)
    self.assertEqual(config['task'][field], value)
