# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the variants that configs of features have."""

from launch.configs import base
from launch.configs import features
from launch.methods import registry

from absl.testing import parameterized

_VISITING_ROUNDS = 7
_FIELDS = dict(
  task={'name': 'digits'},
  server_optimizer='sgd',
  rounds=20,
  cohort_size=5,
  local_epochs=3,
  batch_size=16,
  client_learning_rate=0.5,
  server_learning_rate=1.0,
)


def _get_config(variant):
  return base.create_config(
    variant, visiting_rounds=_VISITING_ROUNDS, **_FIELDS
  )


def _config(variant):
  return _get_config(variant).to_dict()


class FeaturesTest(parameterized.TestCase):
  @parameterized.parameters(*registry.names('fine_tuning_start'))
  def test_closed_form_methods_visit_each_client_once(self, variant):
    config = _config(variant)
    self.assertEqual(config['algorithm']['name'], variant)
    self.assertEqual(config['rounds'], _VISITING_ROUNDS)
    self.assertEqual(config['participation'], {'name': 'visit_once'})
    self.assertEqual(config['local_epochs'], 1)
    self.assertNotIn('client_learning_rate', config)

  @parameterized.parameters('ft', 'ft_lp', 'ft_feat')
  def test_fine_tuning_is_as_published(self, strategy):
    config = _config(f'fed_avg,fine_tuning={strategy},start=fed3r')
    self.assertEqual(
      config['fine_tuning'],
      {
        'strategy': strategy,
        'temperature': 0.1,
        'weight_decay': 4e-5,
        'start': _config('fed3r')['algorithm'],
      },
    )
    self.assertEqual(config['client_learning_rate'], 0.01)
    self.assertEqual(config['local_epochs'], 3)
    # The visits count.
    self.assertEqual(config['rounds'], _VISITING_ROUNDS + 20)
    self.assertEqual(config['algorithm'], _config('fed_avg')['algorithm'])

  @parameterized.parameters(
    ('fed_avg,fine_tuning=ft_lp', 'fed_avg'),
    ('fed_fish,fine_tuning=ft_lp', 'fed_fish'),
  )
  def test_linear_probes_are_the_method_itself(self, variant, method):
    config = _config(variant)
    self.assertEqual(
      config.pop('fine_tuning'),
      {
        'strategy': 'ft_lp',
        'temperature': 1.0,
        'weight_decay': 0.0,
        'start': {'name': 'none'},
      },
    )
    self.assertEqual(config, _config(method))

  def test_sweeps_keep_the_rounds_of_the_config(self):
    ready = features.ready_sweeps(_get_config)
    self.assertCountEqual(ready, ('seeds', 'variants', 'learning_rates'))
    for runs in map(lambda make: make(), ready.values()):
      self.assertFalse(any('rounds' in run.overrides for run in runs))
    variants = {run.variant for run in ready['variants']()}
    self.assertContainsSubset(features.VARIANTS, variants)
    self.assertIn('fed_fish', variants)
    self.assertEqual(
      {run.variant for run in ready['seeds']()}, set(features.METHODS)
    )

  def test_sweeps_of_features_alone_leave_the_extractor(self):
    ready = features.ready_sweeps(_get_config, has_extractor=False)
    for make in ready.values():
      self.assertFalse(
        any(features.trains_extractor(run.variant) for run in make())
      )
