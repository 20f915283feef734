# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedMA's configs: the published settings, beside FedAvg and FedProx."""

import pathlib

from fedfish_tff import simulation
from launch.configs import fed_ma_cifar10
from launch.configs import fed_ma_digits
from launch.configs import fed_ma_shakespeare
from launch.configs import sweeps
from launch.methods import config_checks
from tests.launch import small_configs

from absl.testing import parameterized
import pytest


class FedMaTest(parameterized.TestCase):
  @parameterized.product(
    module=(fed_ma_cifar10, fed_ma_digits, fed_ma_shakespeare),
    axes=('', ',size=compact'),
  )
  def test_runs_differ_in_the_method_only(self, module, axes):
    if module is fed_ma_digits:
      variants = [run.variant for run in module.sweep('methods')]
    else:
      runs = module.sweep(f'seeds{axes}')
      self.assertIn(sweeps.Run(f'fed_prox{axes}', {'seed': 2}), runs)
      self.assertLen(runs, 9)
      variants = list(dict.fromkeys(run.variant for run in runs))
    rest = []
    for variant in variants:
      config = module.get_config(variant).to_dict()
      config_checks.read(config)
      algorithm = config.pop('algorithm')
      self.assertEqual(algorithm['name'], variant.partition(',')[0])
      self.assertEqual(algorithm['client_optimizer'], 'sgdm')
      self.assertEqual(algorithm.get('proximal_strength', 1e-3), 1e-3)
      # The mean as it is; FedMA has no step to take at the server.
      self.assertEqual(config.pop('server_learning_rate', 1.0), 1.0)
      rest.append(config)
    self.assertEqual(rest, rest[:1] * len(variants))

  def test_published_settings(self):
    config = fed_ma_cifar10.get_config()
    for field, value in {
      'rounds': 10,
      'cohort_size': 16,
      'local_epochs': 20,
      'batch_size': 64,
      'client_learning_rate': 0.01,
    }.items():
      self.assertEqual(config[field], value, field)
    compact = fed_ma_cifar10.get_config('fed_ma,size=compact')
    self.assertEqual(compact.task.model, 'lenet')
    config = fed_ma_shakespeare.get_config()
    self.assertEqual(config.cohort_size, config.task.num_clients)
    self.assertEqual(config.algorithm.gamma, 1e-3)

  @pytest.mark.thorough
  def test_one_round_of_fed_ma_is_better(self):
    accuracies = []
    for name in ('fed_ma', 'fed_avg'):
      config = fed_ma_digits.get_config(name).to_dict()
      config['rounds'] = 1
      folder = pathlib.Path(self.create_tempdir().full_path)
      small_configs.train(config, folder)
      rows = simulation.read_rows(folder / 'metrics.csv')
      accuracies.append(rows[-1]['eval/global/accuracy'])
    self.assertGreater(accuracies[0], accuracies[1] + 0.2)
