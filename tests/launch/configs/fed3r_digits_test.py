# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the config of several runs, and of its variants."""

from launch.configs import features
from launch.configs import fed3r_digits
from launch.methods import config_checks

from absl.testing import absltest


class Fed3rDigitsTest(absltest.TestCase):
  def test_without_a_variant_all_methods_run(self):
    config = fed3r_digits.get_config().to_dict()
    config_checks.read_runs(config)
    self.assertCountEqual(
      config['runs'],
      [
        'fed3r',
        'fed3r_rf',
        'fed_ncm',
        'fed3r_ft',
        'fed3r_ft_lp',
        'fed3r_ft_feat',
        'fed_avg',
      ],
    )
    self.assertEqual(config['check_ridge'], 'fed3r')

  def test_a_run_is_the_variant_of_its_name(self):
    for name, run in fed3r_digits.get_config().runs.items():
      method, _, strategy = name.partition('_ft')
      if method != name:
        name = f'fed_avg,fine_tuning=ft{strategy},start={method}'
      self.assertEqual(run, fed3r_digits.get_config(name))

  def test_runs_are_of_the_same_clients(self):
    tasks = [run.task for run in fed3r_digits.get_config().runs.values()]
    for task in tasks:
      self.assertEqual(task, tasks[0])

  def test_sums_are_exact_enough_to_be_compared(self):
    for variant in features.VARIANTS:
      config = fed3r_digits.get_config(variant).to_dict()
      algorithm = config['algorithm']
      if 'fine_tuning' in config:
        algorithm = config['fine_tuning']['start']
      self.assertEqual(algorithm.get('accumulator', 'float64'), 'float64')

  def test_a_change_of_one_run_is_its_own(self):
    config = fed3r_digits.get_config()
    config.runs.fed3r.task.alpha = 5.0
    self.assertEqual(config.runs.fed_ncm.task.alpha, 0.1)
