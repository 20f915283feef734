# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedMA on Shakespeare, beside FedAvg and FedProx."""

from launch.configs import fed_ma_shakespeare
from launch.configs import sweeps
from launch.methods import config_checks

from absl.testing import parameterized


class FedMaShakespeareTest(parameterized.TestCase):
  @parameterized.parameters('', ',size=compact')
  def test_runs_differ_in_the_method_only(self, axes):
    rest = []
    for method in fed_ma_shakespeare.METHODS:
      config = fed_ma_shakespeare.get_config(method + axes).to_dict()
      config_checks.read(config)
      algorithm = config.pop('algorithm')
      self.assertEqual(algorithm['name'], method)
      self.assertEqual(algorithm['client_optimizer'], 'sgdm')
      # The mean as it is; FedMA has no step to take at the server.
      self.assertEqual(config.pop('server_learning_rate', 1.0), 1.0)
      rest.append(config)
    self.assertEqual(rest[0], rest[1])
    self.assertEqual(rest[0], rest[2])

  def test_the_setting_is_the_paper_s(self):
    config = fed_ma_shakespeare.get_config().to_dict()
    self.assertEqual(config['cohort_size'], config['task']['num_clients'])
    self.assertEqual(config['algorithm']['gamma'], 1e-3)
    prox = fed_ma_shakespeare.get_config('fed_prox')
    self.assertEqual(prox.algorithm.proximal_strength, 1e-3)

  def test_a_sweep_has_three_seeds_of_each_method(self):
    runs = fed_ma_shakespeare.sweep('seeds,size=compact')
    self.assertLen(runs, 9)
    self.assertIn(
      sweeps.Run('fed_prox,size=compact', {'seed': 2}),
      runs,
    )
