# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the names that variants and files had."""

from launch.configs import ag_news
from launch.configs import ag_news_partial
from launch.configs import c4_results
from launch.configs import cc_news_results
from launch.configs import cifar100_compact
from launch.configs import cifar100_results
from launch.configs import digits_tpu
from launch.configs import emnist
from launch.configs import emnist_compact
from launch.configs import emnist_results
from launch.configs import old_names
from launch.sweeps import plan as plan_lib

from absl.testing import parameterized


class OldNamesTest(parameterized.TestCase):
  @parameterized.parameters(
    ('fed_avg', 'fed_avg'),
    ('paper_literal', 'fed_fish,server=sgd'),
    ('damped_sgd', 'damped,server=sgd'),
    ('fed_avg_lp', 'fed_avg,fine_tuning=ft_lp'),
    ('fed3r_ft_feat', 'fed_avg,fine_tuning=ft_feat,start=fed3r'),
    ('fed3r_rf_ft_lp', 'fed_avg,fine_tuning=ft_lp,start=fed3r_rf'),
    ('fed3r_ft_fish', 'fed_fish,fine_tuning=ft,start=fed3r'),
    ('tiny', 'fed_fish,size=tiny'),
    ('tiny_fed_avg_yogi', 'fed_avg,server=yogi,size=tiny'),
    (
      'linear_fed_avg_layers_client_keeps',
      'fed_avg,exchange=layers,unsent=client_keeps,model=linear',
    ),
    ('fed_avg_sgd,size=compact', 'fed_avg,server=sgd,size=compact'),
  )
  def test_variants(self, old, new):
    self.assertEqual(old_names.translate(old), new)

  @parameterized.parameters(
    (ag_news_partial, 'linear_levels', 45),
    (c4_results, 'fixed_compute', 12),
    (cc_news_results, 'fixed_compute', 12),
    (cifar100_compact, 'seeds', 15),
    (cifar100_results, 'settings', 21),
    (digits_tpu, 'seeds', 15),
    (emnist_compact, 'fixed_rounds', 45),
    (emnist_results, 'fixed_rounds', 36),
  )
  def test_files(self, module, sweep, runs):
    planned = plan_lib.plan_runs(sweep, module.get_config, module.sweep(sweep))
    self.assertLen(planned, runs)

  def test_a_file_s_variants_are_those_of_the_other_s_size(self):
    self.assertEqual(
      emnist_results.get_config('damped_sgd'),
      emnist.get_config('damped,server=sgd,size=results'),
    )
    self.assertEqual(ag_news_partial.get_config(), ag_news.get_config())
