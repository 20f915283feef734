# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedMA's published setting."""

from launch.configs import fed_ma_cifar10
from launch.methods import config_checks

from absl.testing import parameterized


class FedMaCifar10Test(parameterized.TestCase):
  @parameterized.parameters('fed_ma', 'fed_avg', 'fed_prox')
  def test_published_fields(self, variant):
    config = fed_ma_cifar10.get_config(variant).to_dict()
    config_checks.read(config)
    self.assertEqual(config['algorithm']['client_optimizer'], 'sgdm')
    for field, value in {
      'rounds': 10,
      'cohort_size': 16,
      'local_epochs': 20,
      'batch_size': 64,
      'client_learning_rate': 0.01,
    }.items():
      self.assertEqual(config[field], value, field)

  def test_sweep(self):
    runs = fed_ma_cifar10.sweep('seeds,size=compact')
    self.assertLen(runs, 9)
    for run in runs:
      config = fed_ma_cifar10.get_config(run.variant).to_dict()
      config_checks.read(config)
      self.assertEqual(config['task']['model'], 'lenet')
