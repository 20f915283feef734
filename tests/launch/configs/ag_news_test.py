# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the configs of AG News, and of its sweeps over shares."""

import collections

from launch.configs import ag_news
from launch.methods import config_checks
from launch.sweeps import plan as plan_lib
from tasks import registry

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
    options = dict(config['task'])
    self.assertEqual(options.pop('name'), 'ag_news')
    self.assertContainsSubset(options, registry.task_options('ag_news'))

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
    ('smoke', 6),
  )
  def test_sweeps(self, name, size):
    runs = ag_news.sweep(name)
    self.assertLen(runs, size)
    planned = plan_lib.plan_runs('ag_news.py', ag_news.get_config, runs)
    # The others must not pass for results on AG News.
    self.assertEqual(
      {run.config.values['task']['num_generated'] for run in planned},
      {1000 if name == 'smoke' else 0},
    )
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
