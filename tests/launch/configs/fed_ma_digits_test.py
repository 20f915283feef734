# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedMA beside FedAvg."""

import pathlib

from fedfish_tff import simulation
from launch.configs import fed_ma_digits
from tests.launch import small_configs

from absl.testing import absltest
import pytest


class FedMaDigitsTest(absltest.TestCase):
  def test_runs_differ_in_the_method_only(self):
    fed_ma, fed_avg = (
      fed_ma_digits.get_config(run.variant).to_dict()
      for run in fed_ma_digits.sweep('methods')
    )
    optimizers = {
      run.pop('algorithm')['client_optimizer'] for run in (fed_ma, fed_avg)
    }
    self.assertEqual(optimizers, {'sgdm'})
    # The mean as it is; FedMA has no step to take at the server.
    self.assertEqual(fed_avg.pop('server_learning_rate'), 1.0)
    self.assertEqual(fed_ma, fed_avg)

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
