# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the variants whose clients send a part of their weights."""

from launch import config_checks
from launch.configs import base
from launch.configs import exchange

from absl.testing import absltest
from absl.testing import parameterized

_FIELDS = dict(
  task={'name': 'digits'},
  rounds=2,
  cohort_size=2,
  local_epochs=1,
  batch_size=4,
  client_learning_rate=0.1,
)


def _config(variant):
  return exchange.create_config(variant, **_FIELDS).to_dict()


class ExchangeTest(parameterized.TestCase):
  @parameterized.parameters(*exchange.VARIANTS, *base.VARIANTS)
  def test_every_variant_is_valid(self, variant):
    config_checks.check_config(_config(variant))

  def test_variants_differ_in_the_exchange_only(self):
    """Methods are compared on equal terms."""
    whole = _config('fed_avg')
    self.assertNotIn('exchange', whole)
    for variant in exchange.VARIANTS:
      config = _config(variant)
      config.pop('exchange', None)
      if variant.startswith('fed_fish'):
        self.assertEqual(config.pop('algorithm')['name'], 'fed_fish')
        config['algorithm'] = whole['algorithm']
      self.assertEqual(config, whole)

  def test_an_unknown_variant_lists_those_there_are(self):
    with self.assertRaisesRegex(
      ValueError, "no variant 'fed_nova'; expected one of fed_avg, fed_avg_part"
    ):
      _config('fed_nova')

  def test_a_sweep_over_shares_has_all_sent_once(self):
    runs = exchange.share_sweep('v', seeds=(0,))
    settings = [tuple(run.overrides.values()) for run in runs]
    self.assertLen(set(settings), len(settings))
    self.assertLen(runs, 3 * (2 * 7 + 1))
    whole = [run for run in runs if run.overrides['exchange.share'] == 1]
    self.assertEqual([r.overrides['task.beta'] for r in whole], [1, 0.5, 0.25])


if __name__ == '__main__':
  absltest.main()
