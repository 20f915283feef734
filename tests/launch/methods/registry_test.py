# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of declared methods, what finds and lists them, and their names."""

import dataclasses
import json
import re

from fedfish_tff import errors
from launch.configs import digits
from launch.configs import fed3r_digits
from launch.configs import srpfl_digits
from launch.methods import config_checks
from launch.methods import description
from launch.methods import fed_avg
from launch.methods import fed_fish
from launch.methods import method
from launch.methods import method_notes
from launch.methods import registry
from tasks import registry as task_registry

from absl.testing import absltest
from absl.testing import parameterized


class MethodTest(absltest.TestCase):
  def test_supports_what_somebody_asks_for(self):
    with self.assertRaisesRegex(ValueError, 'supports flying, which nobody'):
      dataclasses.replace(fed_fish.METHOD, supports={'flying'})

  def test_variants_change_fields_that_there_are(self):
    with self.assertRaisesRegex(ValueError, 'changes the field wings'):
      dataclasses.replace(fed_fish.METHOD, variants={'bird': {'wings': 2}})

  def test_says_why_not(self):
    self.assertEqual(
      fed_fish.METHOD.why_not('fine_tuning_start'),
      method.SUPPORTS['fine_tuning_start'],
    )
    self.assertEqual(
      fed_fish.METHOD.why_not('client_keeps'),
      fed_fish.METHOD.reasons['client_keeps'],
    )


class RegistryTest(absltest.TestCase):
  def test_somebody_else_s_method(self):
    name = 'launch.methods.fed_avg:METHOD'
    found = registry.find_method(name)
    expected = dataclasses.replace(
      fed_avg.METHOD, name=name, reasons=found.reasons
    )
    self.assertEqual(found, expected)
    self.assertEqual(
      found.why_not('fine_tuning_start'),
      "its supports lack 'fine_tuning_start'",
    )
    self.assertContainsSubset(
      fed_fish.METHOD.reasons,
      registry.find_method('launch.methods.fed_fish:METHOD').reasons,
    )
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


class DescriptionTest(absltest.TestCase):
  def test_names_every_method_variant_and_field(self):
    text = description.describe()
    for own in registry.own_methods().values():
      for said in (
        f'{own.name} ({own.title})',
        *own.variants,
        *(f'  {n}={f.default!r}: {f.help}' for n, f in own.fields.items()),
        '  rounds: ',
        '  evaluate_every=5: ',
        '  share=0.5: ',
        '  temperature=0.1: ',
        '  noise_multiplier=1.0: ',
        '  trimmed_share=0.2: ',
        '  bits=8: ',
        'aggregation, of what supports model_aggregator: ',
        '  rounds_per_stage=10: ',
        '  dropout=0.0: ',
        '  scales=(1.0, 100.0): ',
        '  aggregator                   the aggregation of updates; ',
      ):
        self.assertIn(said, text)

  def test_lists_every_task_and_option(self):
    text = description.list_configs()
    for name in task_registry.task_names():
      self.assertIn(f'\n{name}\n', text)
      for option, field in task_registry.own_options(name).items():
        self.assertRegex(text, f'  {option}(=.*)?: {re.escape(field.help)}\n')


class LabelTest(parameterized.TestCase):
  @parameterized.parameters(
    ('fed_avg,server=yogi', 'FedYogi'),
    ('fed_prox,server=yogi', 'FedProx, Yogi at the server'),
    ('fed_rep,participation=srpfl', 'FedRep, SRPFL'),
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
    ('fed_avg,aggregation=multi_krum', 'Multi-Krum FedAvg'),
    (
      'fed_avg,aggregation=clipped,compression=quantized',
      'Quantised Clipped FedAvg',
    ),
    (
      'fed_avg,fine_tuning=ft,start=fed3r,aggregation=median',
      'Fed3R+FT by Median FedAvg',
    ),
    (
      'fed_avg,weight_average=ema,client_schedule=warmup,server_schedule=cosine',
      'FedAvg, averaged weights, warm-up of client rates, cosine of server rates',
    ),
    (
      'fed_fish,fine_tuning=ft_lp,client_schedule=cosine',
      'FedFish-LP, cosine of client rates',
    ),
    (
      'per_example,weight_average=ema',
      'FedFish, per example, averaged weights',
    ),
    (
      'fed_avg,privacy=tree,client_schedule=cosine',
      'DP-FTRL, cosine of client rates',
    ),
    ('fed_avg,early_stopping=stop', 'FedAvg, early stopping'),
    (
      'fed_prox,exchange=threshold,early_stopping=stop',
      'Partial FedProx, threshold 0.1, largest, early stopping',
    ),
    ('fed_avg,early_stopping=keep_best', 'FedAvg, best round'),
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
    ('fed_avg', True),
    ('fed_rep', False),
    # Trained as FedAvg's, beside clients' models.
    ('ditto', True),
    # A start for a step of each client.
    ('hf_maml', False),
    ('fed_avg,batch_normalization=kept', False),
  )
  def test_whether_the_global_model_is_one_to_use(self, variant, expected):
    config = srpfl_digits.get_config(variant).to_dict()
    described = method_notes.describe(config_checks.read(config))
    self.assertEqual(described['global_model'], expected)
