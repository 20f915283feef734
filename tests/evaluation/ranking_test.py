# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of rankings, distances of subspaces and names of metrics."""

import types

from fedfish_tff import datasets
from fedfish_tff import evaluation
from fedfish_tff.evaluation import metric_names
from fedfish_tff.evaluation import ranking
from fedfish_tff.evaluation import scorer_inputs

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
from scipy import linalg
import tensorflow_federated as tff


class GainsTest(parameterized.TestCase):
  @parameterized.named_parameters(
    # Barriers, of an accuracy of about 0.5.
    ('barriers', [3.6e-9, -7.8e-9, 0.0053], [0, 0, 0], 0.5, [0, 0, 0.0053]),
    ('small_unit', [1e-9, 2e-9], [2e-9, 2e-9], 0, [-1e-9, 0]),
    ('large_values', [300.0001, 300.01], [300, 300], 0, [0, 0.01]),
    # One outlier of ten is not the scale.
    ('outlier', [1e6] + [1.001] * 19, [1e6] + [1] * 19, 0, [0] + [0.001] * 19),
    # The fit of one client is within the rounding of the others'.
    ('small_pair', [2e-8] + [1] * 4, [1e-8] + [1] * 4, 0, [0] * 5),
    ('zeros', [0, 0], [0, 0], 0, [0, 0]),
    ('none', [], [], 0, []),
  )
  def test_a_tie_is_a_millionth_of_the_scale(self, a, b, scale, expected):
    for higher_is_better, sign in ((True, 1), (False, -1)):
      found = ranking.gains(
        a, b, higher_is_better=higher_is_better, scale=scale
      )
      np.testing.assert_allclose(found, sign * np.array(expected), 1e-6)

  def test_what_is_not_finite(self):
    inf, nan = np.inf, np.nan
    found = ranking.gains(
      [1, inf, inf, nan], [inf, 1, inf, 1], higher_is_better=True
    )
    np.testing.assert_array_equal(found, [-inf, inf, nan, nan])


class SelectBestTest(parameterized.TestCase):
  @parameterized.parameters(
    ({}, True, None),
    ({'a': np.nan}, True, None),
    ({'a': np.nan, 'b': -1.0, 'c': np.inf, 'd': np.inf}, True, 'c'),
    ({'a': 0.5, 'b': np.nan, 'c': -np.inf, 'd': 0.1}, False, 'c'),
    ({1: 0.3, 2: 0.3}, False, 1),
    ({1: 0.3, 2: 0.4, 3: 0.2}, True, 2),
    ({1: 0.3, 2: 0.4, 3: 0.2}, False, 3),
    # A metric of a small unit.
    ({1: 1e-8, 2: 2e-8}, True, 2),
    # Better by rounding only.
    ({1: 0.3, 2: 0.3 + 1e-8, 3: 0.29}, True, 1),
  )
  def test_first_of_the_best_that_are_numbers(self, values, higher, best):
    selection = evaluation.select_best(values, higher_is_better=higher)
    if best is None:
      self.assertIsNone(selection)
    else:
      self.assertEqual(selection, (best, values))


class PrincipalAngleDistanceTest(absltest.TestCase):
  def test_is_the_sine_of_scipys_largest_angle(self):
    rng = np.random.default_rng(0)
    one = rng.normal(size=[7, 3])
    for scale in (1e-3, 0.1, 1.0):
      other = one + scale * rng.normal(size=one.shape)
      np.testing.assert_allclose(
        evaluation.principal_angle_distance(one, other),
        np.sin(linalg.subspace_angles(one, other).max()),
        rtol=1e-9,
      )

  def test_is_of_spaces_and_not_of_their_bases(self):
    basis = np.eye(5)[:, :2]
    same = basis @ [[3.0, 1.0], [0.0, -2.0]]
    self.assertAlmostEqual(
      evaluation.principal_angle_distance(basis, same), 0, places=12
    )
    orthogonal = np.eye(5)[:, 1:3]
    self.assertAlmostEqual(
      evaluation.principal_angle_distance(basis, orthogonal), 1
    )


class MetricNamesTest(parameterized.TestCase):
  @parameterized.parameters(
    ('eval/global/accuracy', True),
    ('train/loss', False),
    ('before/mse', False),
    ('csb/accuracy', False),
    ('eval/global/perplexity', False),
    ('eval/global/mean_absolute_error', False),
    ('eval/personalized/sparse_categorical_crossentropy_before', False),
    ('eval/global/error_rate', False),
    ('eval/global/kl_divergence', False),
    ('eval/global/cosine_similarity', True),
    ('eval/global/f1_error', True),
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

  def test_a_mean_over_clients_is_of_its_metric(self):
    column = 'test/global/brier_client_mean'
    self.assertEqual(metric_names.without_suffix(column), 'test/global/brier')

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
    ('test/personalized/scored_clients', True),
    ('eval/global/accuracy', False),
  )
  def test_counts(self, metric, expected):
    self.assertEqual(metric_names.is_count(metric), expected)

  @parameterized.parameters(
    ('train/loss', True),
    ('eval/global/macro_f1_worst_tenth', True),
    ('global/confusion_0_as_1', True),
    (metric_names.GRADIENT, False),
    ('train/accuracy_of_mine', False),
  )
  def test_metrics_of_the_package(self, metric, expected):
    self.assertEqual(metric_names.is_known(metric), expected)

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


def _examples(start, stop):
  """Examples that tell which they are."""
  x = np.arange(start, stop, dtype=np.float32)[:, np.newaxis]
  return x, 10 * x


class _TakingContext(tff.framework.SyncContext):
  runner = types.SimpleNamespace(takes_client_batches=True)

  def invoke(self, comp, arg):
    raise AssertionError('Nothing is computed here.')


class EvaluationInputsTest(absltest.TestCase):
  def test_arrays_are_not_copied_where_the_context_takes_them(self):
    client = datasets.plan_batches(
      _examples(0, 6),
      datasets.BatchSpec(batch_size=2, max_examples=4),
      client_id='c',
      seed=1,
      round_number=1,
    )
    with tff.framework.get_context_stack().install(_TakingContext()):
      built = scorer_inputs.build_barrier_input(client, eval_batch_size=3)
    self.assertIs(built['train'], client)
    self.assertIs(built['test'].examples, client.examples)
    self.assertEqual([len(x) for x, _ in built['test']], [3, 1])
