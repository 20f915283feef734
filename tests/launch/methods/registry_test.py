# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the registry."""

import dataclasses

from fedfish_tff import errors
from launch.configs import fed3r_digits
from launch.methods import config_checks
from launch.methods import fed_avg
from launch.methods import method as method_lib
from launch.methods import registry
from tests.launch import small_configs

from absl.testing import absltest
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
    self.assertEqual(registry.label(config), name)


class SharingKeyTest(parameterized.TestCase):
  @parameterized.parameters(
    ('fed_avg', {'client_learning_rate': 0.3}, True),
    ('fed_avg', {'server_learning_rate': 0.3}, True),
    ('fed_avg', {'seed': 1, 'rounds': 7, 'batch_size': 3}, True),
    ('fed_avg', {'local_epochs': 7}, True),
    ('fed_avg', {'participation.name': 'poisson'}, True),
    ('fed_avg', {'task.hidden_units': (3,)}, False),
    ('fed_avg', {'algorithm.client_optimizer': 'adam'}, False),
    ('fed_avg,exchange=partial', {'exchange.share': 0.25}, False),
    ('fed_avg,fine_tuning=ft_lp', {'client_learning_rate': 0.3}, True),
    ('fed_avg,fine_tuning=ft_lp', {'seed': 1}, False),
    ('fed_avg,fine_tuning=ft_lp,start=fed3r', {'rounds': 7}, False),
    ('fed_fish', {'seed': 1}, True),
    # It keeps as many models as an update may be stale.
    (
      'fed_buff,participation=asynchronous',
      {'participation.max_staleness': 3},
      False,
    ),
    ('fed_fish', {'local_epochs': 7}, True),
    ('mime_lite', {'local_epochs': 7}, True),
    # Its graph holds it.
    ('sampled_label', {'seed': 1}, False),
    ('scaffold', {'local_epochs': 7}, True),
    ('scaffold', {'server_learning_rate': 0.3}, True),
    ('scaffold', {'client_learning_rate': 0.3}, True),
    ('scaffold', {'seed': 1}, False),
    ('fed_per', {'local_epochs': 7}, True),
    ('fed_per', {'client_learning_rate': 0.3}, True),
    ('fed_per', {'seed': 1}, False),
    # Its heads have all of them but the last.
    ('fed_rep', {'local_epochs': 7}, False),
    ('hf_maml', {'local_epochs': 7}, False),
    ('hf_maml', {'client_learning_rate': 0.3}, True),
    ('ditto', {'local_epochs': 7}, False),
    ('fed3r', {'rounds': 7}, False),
    ('fed_dyn', {'client_learning_rate': 0.3}, True),
    ('fed_dyn', {'seed': 1}, False),
    # Frozen weights are built in.
    ('fed_avg,adapters=lora', {'seed': 1}, False),
    ('fed_avg,compression=nearest', {'seed': 1}, True),
    ('fed_avg,compression=quantized', {'seed': 1}, False),
    # The noise is for the cohorts, or of the config.
    ('fed_avg,privacy=gaussian', {'client_learning_rate': 0.3}, True),
    ('fed_avg,privacy=gaussian', {'cohort_size': 2}, False),
    ('fed_avg,privacy=tree', {'client_learning_rate': 0.3}, False),
  )
  def test_is_that_of_configs_that_share(self, variant, changes, shared):
    keys = [
      registry.sharing_key(small_configs.read_config(variant, **c))
      for c in ({}, changes)
    ]
    self.assertEqual(keys[0] is not None and keys[0] == keys[1], shared)

  def test_somebody_else_s_method_shares_nothing_unasked(self):
    config = small_configs.read_config('fed_avg')
    method = method_lib.Method(
      name='theirs',
      title='Theirs',
      build=fed_avg.METHOD.build,
      fields=fed_avg.METHOD.fields,
      supports=(),
    )
    config = dataclasses.replace(config, method=method)
    self.assertIsNone(registry.sharing_key(config))


class RegistryTest(absltest.TestCase):
  def test_somebody_else_s_method(self):
    name = 'launch.methods.fed_avg:METHOD'
    expected = dataclasses.replace(fed_avg.METHOD, name=name)
    self.assertEqual(registry.find_method(name), expected)
    self.assertEqual(registry.find_variant(name), (expected, ''))
    self.assertEqual(expected.defaults()['name'], name)

  def test_refuses_what_is_no_method(self):
    for name, message in (
      (
        'launch.methods.fed_avg:build_mean',
        'a launch.methods.method.Method, got .*a function',
      ),
      ('no_method', 'algorithm.name must be one of .*fed3r, .*no_method'),
      (None, 'algorithm.name must be one of .*fed3r, .*got None'),
    ):
      with self.assertRaisesRegex(errors.InputError, message):
        registry.find_method(name)

  def test_variants_of_a_method(self):
    method, variant = registry.find_variant('damped')
    self.assertEqual((method.name, variant), ('fed_fish', 'damped'))
    self.assertEqual(method.defaults(variant)['damping'], 1e-4)
    with self.assertRaisesRegex(
      errors.InputError, 'variant must be .*damped, .*fed3r'
    ):
      registry.find_variant('damp')
