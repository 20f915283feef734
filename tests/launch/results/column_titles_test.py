# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the titles of columns."""

from launch.results import column_titles

from absl.testing import parameterized


class ColumnTitlesTest(parameterized.TestCase):
  @parameterized.parameters(
    ('eval/global/accuracy', 'Validation accuracy'),
    ('eval/own/accuracy', 'Own test accuracy'),
    ('validation/own/accuracy_worst_tenth', 'Own test accuracy, worst tenth'),
    ('eval/unseen/accuracy', "New clients' test accuracy"),
    ('validation/personalized/mse', 'Validation MSE, personalised'),
    (
      'test/personalized/accuracy_worst_tenth',
      'Test accuracy, personalised, worst tenth',
    ),
    ('train/num_examples', 'Training num examples'),
    ('csb/mse', 'Barrier in MSE'),
    ('accuracy', 'Accuracy'),
  )
  def test_a_title_tells_the_split_the_model_and_the_statistic(
    self, column, expected
  ):
    self.assertEqual(column_titles.title(column), expected)

  @parameterized.parameters(
    ('eval/global/mse', 'MSE, global model on validation clients'),
    ('csb/accuracy', 'Barrier in accuracy, clients against the server'),
    ('other/column', 'other/column'),
  )
  def test_a_description_tells_what_a_column_is_of(self, column, expected):
    self.assertEqual(column_titles.describe(column), expected)
