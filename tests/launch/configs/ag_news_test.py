# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the configs of AG News."""

from launch.configs import ag_news
from launch.methods import config_checks
from launch.sweeps import plan as plan_lib

from absl.testing import parameterized


class AgNewsTest(parameterized.TestCase):
  @parameterized.product(
    model=('linear', 'cnn', 'roberta', 'memo'),
    axes=(
      '',
      ',exchange=threshold',
      ',exchange=partial_smallest,unsent=client_keeps',
    ),
  )
  def test_every_model_is_valid(self, model, axes):
    for method in ('fed_avg', 'fed_prox', 'fed_fish'):
      if method == 'fed_avg' or 'unsent' not in axes:
        config = ag_news.get_config(f'{method},model={model}{axes}').to_dict()
        config_checks.read(config)
    self.assertEqual(config['task']['name'], 'ag_news')

  def test_the_setting_of_the_memo(self):
    config = ag_news.get_config(
      'fed_avg,exchange=partial,unsent=client_keeps,model=memo'
    ).to_dict()
    for field, value in {
      'rounds': 4,
      'cohort_size': 5,
      'local_epochs': 1,
      'batch_size': 4,
      'client_learning_rate': 1e-5,
      'client_weight_decay': 1e-3,
    }.items():
      self.assertEqual(config[field], value, field)
    self.assertEqual(config['algorithm']['client_optimizer'], 'adamw')
    self.assertLessEqual(
      {
        'model': 'roberta',
        'num_clients': 5,
        'client_fraction': 0.75,
        'validation_fraction': 0.1,
        'sequence_length': 256,
        'checkpoint': 'roberta-base',
        'dropout': None,
      }.items(),
      config['task'].items(),
    )

  def test_the_smoke_sweep_needs_no_files(self):
    runs = ag_news.sweep('smoke')
    planned = plan_lib.plan_runs('ag_news.py', ag_news.get_config, runs)
    self.assertLen(planned, 2 * (2 + 1))
    self.assertEqual(
      {run.config.values['task']['num_generated'] for run in planned}, {1000}
    )
