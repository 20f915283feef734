# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the block `evaluation`."""

from fedfish_tff import errors
from launch.methods import config_checks
from tests.launch import small_configs

from absl.testing import absltest


class EvaluationTest(absltest.TestCase):
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
