# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the block `evaluation`."""

from fedfish_tff import errors
from launch.configs import digits
from launch.configs import srpfl_digits
from launch.methods import config_checks
from launch.runs import experiment
from tests.launch import small_configs

from absl.testing import parameterized


class EvaluationTest(parameterized.TestCase):
  def test_rates_of_personalization(self):
    epochs = 'evaluation.personalization_epochs'
    name = 'evaluation.personalization_learning_rates'
    valid = {epochs: 1, name: (0.1, 0.01)}
    config_checks.read(small_configs.make_config('fed_avg', **valid))
    for changes, message in (
      ({name: 0.1}, f'{name} must be a sequence of numbers, got 0.1'),
      ({name: (0.1, -1)}, f'A number of {name} .*got -1'),
      ({epochs: 0}, rf'{name} must be \(\), .*{epochs} 0, got \(0.1, 0.01\)'),
    ):
      with self.assertRaisesRegex(errors.InputError, message):
        config_checks.read(
          small_configs.make_config('fed_avg', **(valid | changes))
        )

  def test_a_fine_tuned_model_that_judges_needs_fine_tuning(self):
    with self.assertRaisesRegex(
      errors.InputError, r"personalization_epochs must be .*'fine_tuned', got 0"
    ):
      config_checks.read(
        small_configs.make_config(
          'fed_avg',
          **{
            'evaluation.judged_by': 'fine_tuned',
            'evaluation.personalization_epochs': 0,
          },
        )
      )

  @parameterized.parameters(
    (digits, 'fed_avg', 'auto', 'global'),
    (digits, 'fed_avg', 'fine_tuned', 'personalized'),
    (digits, 'fed_per', 'auto', 'personalized'),
    (digits, 'fed_per', 'global', 'global'),
    (digits, 'ditto', 'auto', 'personalized'),
    (digits, 'fed_avg,exchange=partial', 'auto', 'global'),
    (
      digits,
      'fed_avg,exchange=partial,unsent=client_keeps',
      'auto',
      'personalized',
    ),
    (srpfl_digits, 'fed_avg', 'fine_tuned', 'new_fine_tuned'),
    (srpfl_digits, 'fed_avg', 'auto', 'new_global'),
    (srpfl_digits, 'fed_per', 'auto', 'new_fine_tuned'),
    (srpfl_digits, 'fed_per', 'global', 'new_global'),
  )
  def test_which_scores_judge(self, module, variant, judged_by, expected):
    config = module.get_config(variant).to_dict()
    config['evaluation']['judged_by'] = judged_by
    config = config_checks.read(config)
    task = experiment.create_task(config)
    self.assertEqual(config.judged_by(task), expected)
