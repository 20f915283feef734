# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of titles of columns."""

from launch.results import column_titles

from absl.testing import parameterized


class ColumnTitlesTest(parameterized.TestCase):
  @parameterized.parameters(
    ('eval/global/accuracy', 'Validation accuracy, global model'),
    (
      'eval/own_global/accuracy',
      "Training clients' own test accuracy, global model",
    ),
    (
      'validation/own/accuracy_worst_tenth',
      "Training clients' own test accuracy, own models, worst tenth",
    ),
    (
      'eval/own_fine_tuned/accuracy',
      "Training clients' own test accuracy, after fine-tuning",
    ),
    (
      'eval/new_global/accuracy_jain_index',
      "Validation clients' own test accuracy, global model, Jain's index",
    ),
    (
      'test/new_fine_tuned/accuracy',
      "Test clients' own test accuracy, after fine-tuning",
    ),
    (
      'validation/personalized/mse',
      'Validation MSE on one half, after fine-tuning on the other',
    ),
    (
      'eval/personalized/mse_before',
      'Validation MSE on one half, before fine-tuning on the other',
    ),
    (
      'test/personalized/accuracy_worst_tenth',
      'Test accuracy on one half, after fine-tuning on the other, worst tenth',
    ),
    # The quantile may be of a metric of which lower is better.
    (
      'test/own/mse_high_tenth',
      "Training clients' own test MSE, own models, 90th percentile",
    ),
    ('validation/mse', 'Validation MSE'),
    ('train/num_examples', 'Training num examples'),
    ('csb/mse', 'Barrier in MSE'),
    ('privacy/epsilon_pld', 'Epsilon by PLD'),
    ('accuracy', 'Accuracy'),
  )
  def test_a_title_tells_the_split_the_model_and_the_statistic(
    self, column, expected
  ):
    self.assertEqual(column_titles.title(column), expected)

  @parameterized.parameters(
    ('eval/global/mse', 'MSE, global model on validation clients'),
    (
      'eval/new_fine_tuned/accuracy',
      "Accuracy on validation clients' own test data, after fine-tuning",
    ),
    (
      'test/personalized/mse_before',
      'MSE on one half of the data of test clients, before fine-tuning on the '
      'other',
    ),
    (
      'test/own_fine_tuned/mse_worst_tenth',
      "MSE on training clients' own test data, after fine-tuning, worst tenth",
    ),
    ('train/loss', 'Loss, training clients'),
    ('csb/accuracy', 'Barrier in accuracy, clients against the server'),
    (
      'csb/accuracy_by_examples',
      'Barrier in accuracy by examples, clients against the server',
    ),
    ('other/column', 'other/column'),
    ('eval/clients/mse', 'eval/clients/mse'),
  )
  def test_a_description_tells_what_a_column_is_of(self, column, expected):
    self.assertEqual(column_titles.describe(column), expected)
