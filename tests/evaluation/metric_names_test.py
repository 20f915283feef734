# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what the names of metrics say."""

from fedfish_tff.evaluation import metric_names

from absl.testing import parameterized


class MetricNamesTest(parameterized.TestCase):
  @parameterized.parameters(
    ('eval/global/accuracy', True),
    ('train/loss', False),
    ('before/mse', False),
    ('csb/accuracy', False),
    ('eval/global/perplexity', False),
    ('personalized/loss_before', False),
    ('global/loss_worst_tenth', False),
    ('global/accuracy_worst_tenth', True),
    ('new_global/mse_median', False),
    ('new_global/accuracy_low_tenth', True),
    ('new_global/accuracy_client_std', False),
    ('new_global/mse_jain_index', True),
  )
  def test_direction_of_a_column(self, metric, expected):
    self.assertEqual(metric_names.higher_is_better(metric), expected)

  @parameterized.parameters(
    ('eval/global/accuracy', True),
    ('test/global/accuracy_worst_tenth', True),
    ('balanced_accuracy', True),
    ('top_5_recall', True),
    ('global/f1_world', True),
    ('eval/global/accuracy_client_std', False),
    ('csb/accuracy', False),
    ('loss', False),
    ('perplexity', False),
    ('num_examples', False),
  )
  def test_shares(self, metric, expected):
    self.assertEqual(metric_names.is_share(metric), expected)

  @parameterized.parameters(
    ('global/confusion_sci_tech_as_world', ('sci_tech', 'world')),
    ('confusion_0_as_1', ('0', '1')),
    ('global/confusion', None),
    ('global/f1_world', None),
  )
  def test_pairs_of_classes(self, metric, expected):
    self.assertEqual(metric_names.confused_classes(metric), expected)
    self.assertEqual(metric_names.is_count(metric), expected is not None)

  @parameterized.parameters(
    ('eval/global/num_examples', True),
    ('num_tokens', True),
    ('eval/personalization_learning_rate', True),
    ('csb/diverged_clients', True),
    ('eval/global/accuracy', False),
  )
  def test_counts(self, metric, expected):
    self.assertEqual(metric_names.is_count(metric), expected)

  @parameterized.parameters(
    ('eval/own_fine_tuned/accuracy_median', 'eval/own_global/accuracy_median'),
    ('test/new_fine_tuned/mse', 'test/new_global/mse'),
    ('eval/personalized/mse', 'eval/personalized/mse_before'),
    ('test/personalized/mse_worst_tenth', None),
    ('eval/personalized/mse_before', None),
    ('eval/own/mse', None),
    ('eval/global/mse', None),
  )
  def test_the_column_before_fine_tuning(self, metric, expected):
    self.assertEqual(metric_names.before(metric), expected)
