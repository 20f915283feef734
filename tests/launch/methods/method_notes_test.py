# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what a run notes of its method."""

import json

from launch.configs import digits
from launch.configs import fed3r_digits
from launch.configs import srpfl_digits
from launch.methods import config_checks
from launch.methods import method_notes

from absl.testing import parameterized


class LabelTest(parameterized.TestCase):
  @parameterized.parameters(
    ('mime_lite', 'Mime Lite'),
    ('fed_avg,server=yogi', 'FedYogi'),
    ('fed_prox,server=yogi', 'FedProx, Yogi at the server'),
    ('fed_rep,participation=srpfl', 'FedRep, SRPFL'),
    ('fed3r', 'Fed3R'),
    ('fed_buff,participation=asynchronous', 'FedBuff'),
    # Without late answers it is FedAvg with uniform weights.
    ('fed_buff', 'FedBuff, uniform participation'),
    ('fed_async,participation=poisson', 'FedAsync, Poisson'),
    ('fed_avg,batch_normalization=averaged', 'FedAvg'),
    ('fed_avg,batch_normalization=kept', 'FedBN'),
    (
      'fed_avg,batch_normalization=frozen',
      'FedAvg, frozen batch normalization',
    ),
    ('fed_avg,privacy=tree', 'DP-FTRL'),
    ('fed_avg,server=adam,privacy=tree', 'DP-FTRL-FedAdam'),
    ('fed_avg,privacy=adaptive', 'DP-FedAvg, adaptive clipping'),
    ('fed_avg,privacy=tree_adaptive', 'DP-FTRL, adaptive clipping'),
    ('fed_avg,aggregation=krum', 'Krum FedAvg'),
    ('fed_avg,aggregation=multi_krum', 'Multi-Krum FedAvg'),
    ('lg_fed_avg', 'LG-FedAvg'),
    (
      'fed_avg,weight_average=ema,client_schedule=warmup,server_schedule=cosine',
      'FedAvg, averaged weights, warm-up of client rates, cosine of server rates',
    ),
    ('damped', 'FedFish, mean of Fisher values, damping 0.0001'),
    (
      'fed_avg,server=adam,fine_tuning=ft_lp,start=fed3r',
      'Fed3R+FT-LP by FedAdam',
    ),
    ('fed_fish,fine_tuning=ft', 'FedFish'),
    ('fed_avg,fine_tuning=ft_lp,privacy=gaussian', 'DP-FedAvg-LP'),
    ('fed_fish,fine_tuning=ft_lp,start=fed3r_rf', 'Fed3R-RF+FT-LP by FedFish'),
  )
  def test_blocks_are_told_around_the_method(self, variant, name):
    config = config_checks.read(fed3r_digits.get_config(variant).to_dict())
    self.assertEqual(config.label, name)


class DescribeTest(parameterized.TestCase):
  def test_what_is_not_usual_is_told(self):
    config = digits.get_config('per_example,server=adam').to_dict()
    described = method_notes.describe(config_checks.read(config))
    self.assertEqual(described, json.loads(json.dumps(described)))
    self.assertEqual(
      described['title'], 'FedFish, Adam at the server, per example'
    )
    self.assertLessEqual(described['baseline'], 0)
    self.assertEqual(
      described['deviations'],
      {
        'algorithm.server_optimizer': 'Adam at the server',
        'algorithm.fisher_estimator': 'per example',
      },
    )
    self.assertNotIn('algorithm.damping', described['deviations'])
    # launch.evaluate reads the config that launch.train has written.
    written = json.loads(json.dumps(config))
    self.assertEqual(
      method_notes.describe(config_checks.read(written)), described
    )

  def test_what_is_sent_is_told_in_other_words(self):
    config = digits.get_config('fed_avg,exchange=layers').to_dict()
    described = method_notes.describe(config_checks.read(config))
    self.assertEqual(
      described['title'], 'Partial FedAvg, share 0.5 of layers, largest'
    )
    self.assertEqual(
      described['deviations']['exchange.sent'], 'share 0.5 of layers'
    )

  def test_the_usual_baseline_is_plain_and_sends_all(self):
    ranks = [
      method_notes.describe(
        config_checks.read(digits.get_config(variant).to_dict())
      )['baseline']
      for variant in (
        'fed_avg',
        'fed_avg,server=adam',
        'fed_avg,exchange=partial',
        'fed_sgd',
        'fed_fish',
      )
    ]
    self.assertEqual(ranks, sorted(ranks, reverse=True))
    self.assertLen(set(ranks), len(ranks))
    self.assertGreater(ranks[3], 0)

  @parameterized.parameters(
    ('fed_avg', True), ('fed_fish', True), ('fed_rep', False), ('ditto', False)
  )
  def test_whether_there_is_one_model(self, variant, expected):
    config = srpfl_digits.get_config(variant).to_dict()
    described = method_notes.describe(config_checks.read(config))
    self.assertEqual(described['one_model'], expected)
