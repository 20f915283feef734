# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Robust rules against NumPy and SciPy, alone and as aggregators."""

from fedfish_tff import aggregators
from fedfish_tff import errors
from fedfish_tff.execution import contexts
from tests import updates

from absl.testing import absltest
from absl.testing import parameterized
import hypothesis
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
import numpy as np
import pytest
from scipy import spatial
from scipy import stats
import tensorflow_federated as tff

# Small integers, so that sums are exact and ties are frequent.
_ROWS = hnp.arrays(
  np.float32,
  st.tuples(st.integers(1, 12), st.integers(1, 4)),
  elements=st.integers(-4, 4).map(float),
)


def _krum(rows, num_attackers, num_selected):
  """As the paper writes it: scores, then the rows with the least."""
  distances = spatial.distance.cdist(rows, rows, 'sqeuclidean')
  nearest = len(rows) - num_attackers - 2
  scores = [
    np.sort(np.delete(distances[i], i))[:nearest].sum()
    for i in range(len(rows))
  ]
  best = np.argsort(scores, kind='stable')[:num_selected]
  return rows[best].mean(axis=0)


class RobustRulesTest(parameterized.TestCase):
  @hypothesis.given(rows=_ROWS)
  @hypothesis.settings(max_examples=40)
  def test_median(self, rows):
    np.testing.assert_array_equal(
      aggregators.median_of_rows(rows), np.median(rows, axis=0)
    )

  @hypothesis.given(rows=_ROWS, share=st.floats(0, 0.5, exclude_max=True))
  @hypothesis.example(rows=np.eye(10, dtype=np.float32), share=0.3)
  @hypothesis.settings(max_examples=40)
  def test_trimmed_mean(self, rows, share):
    np.testing.assert_allclose(
      aggregators.build_trimmed_mean(share)(rows),
      stats.trim_mean(rows, share, axis=0),
      rtol=1e-6,
      atol=1e-6,
    )

  @hypothesis.given(rows=_ROWS, data=st.data())
  @hypothesis.settings(max_examples=60)
  def test_krum(self, rows, data):
    num_attackers = data.draw(st.integers(0, 5))
    num_selected = data.draw(st.integers(1, len(rows)))
    found = aggregators.build_krum(num_attackers, num_selected)(rows)
    # NumPy takes one NaN for as many as there should be.
    self.assertEqual(found.shape, rows.shape[1:])
    if len(rows) < 2 * num_attackers + 3:
      np.testing.assert_array_equal(found, np.full(rows.shape[1], np.nan))
    else:
      np.testing.assert_allclose(
        found, _krum(rows, num_attackers, num_selected), rtol=1e-6, atol=1e-6
      )

  def test_krum_of_more_rows_than_there_are(self):
    found = aggregators.build_krum(0, 5)(np.ones((4, 1), np.float32))
    np.testing.assert_array_equal(found, [np.nan])
    self.assertEqual(found.shape, [1])

  def test_nothing_moves_them_far(self):
    rows = np.random.default_rng(0).normal(size=(9, 3)).astype(np.float32)
    attacked = np.concatenate([rows, np.full((2, 3), 3e38, np.float32)])
    for rule in (
      aggregators.median_of_rows,
      aggregators.build_trimmed_mean(0.2),
      aggregators.build_krum(2),
      aggregators.build_krum(2, 5),
    ):
      found = np.asarray(rule(attacked))
      self.assertTrue((found >= rows.min(axis=0)).all())
      self.assertTrue((found <= rows.max(axis=0)).all())

  def test_of_no_rows_there_is_none(self):
    for rule in (
      aggregators.median_of_rows,
      aggregators.build_trimmed_mean(0.2),
      aggregators.build_krum(0),
    ):
      found = rule(np.zeros((0, 2), np.float32))
      self.assertEqual(found.shape, [2])
      np.testing.assert_array_equal(found, np.full(2, np.nan, np.float32))

  @parameterized.parameters(
    (lambda: aggregators.build_trimmed_mean(0.5), 'share must be .*got 0.5'),
    (lambda: aggregators.build_trimmed_mean(-0.1), 'share must be .*got -0.1'),
    (lambda: aggregators.build_krum(-1), 'num_attackers .*-1'),
    (
      lambda: aggregators.build_krum(1, 0),
      'num_selected .*positive.* 0',
    ),
  )
  def test_bad_arguments(self, build, message):
    with self.assertRaisesRegex(errors.InputError, message):
      build()


def _create(rule=aggregators.median_of_rows):
  return aggregators.CollectedUpdatesFactory(rule).create(
    updates.TYPE, tff.TensorType(np.float32)
  )


def _stack(values, name):
  return np.stack([value[name] for value in values])


class CollectedUpdatesTest(absltest.TestCase):
  def test_is_the_rule_of_each_tensor_s_numbers(self):
    process = _create()
    for number in (1, 4, 7, 300):
      values = updates.draw(number)
      output = process.next(process.initialize(), values, [1.0] * number)
      self.assertEqual(output.measurements, {'clients': number})
      for name, found in output.result.items():
        np.testing.assert_allclose(
          found, np.median(_stack(values, name), axis=0), rtol=1e-6
        )

  def test_runs_as_a_graph(self):
    context = tff.framework.get_context_stack().current
    self.assertEqual(context.runner.general_path_reasons, ())

  def test_who_weighs_nothing_or_is_not_finite_does_not_count(self):
    values, weights = updates.draw(6), [5.0, 0.0, 1.0, 1.0, 2.0, 1.0]
    values[2]['b'] = np.float32(np.nan)
    values[4]['a'][1, 1] = -np.inf
    process = _create()
    output = process.next(process.initialize(), values, weights)
    self.assertEqual(output.measurements, {'clients': 3})
    counted = [values[i] for i in (0, 3, 5)]
    np.testing.assert_array_equal(
      output.result['a'], np.median(_stack(counted, 'a'), axis=0)
    )

  def test_of_nobody_there_is_none(self):
    process = _create()
    output = process.next(process.initialize(), updates.draw(2), [0.0, 0.0])
    self.assertEqual(output.measurements, {'clients': 0})
    self.assertTrue(np.isnan(output.result['a']).all())

  def test_rows_are_in_the_order_of_the_cohort(self):
    values = updates.draw(40)
    process = _create(lambda rows: rows[31])
    output = process.next(process.initialize(), values, [1.0] * 40)
    np.testing.assert_array_equal(output.result['a'], values[31]['a'])

  @pytest.mark.thorough
  def test_tff_s_worker_agrees(self):
    values = updates.draw(7)
    process = _create(aggregators.build_krum(2))
    here = process.next(process.initialize(), values, [1.0] * 7)
    with contexts.create_context('local_worker') as worker:
      with tff.framework.get_context_stack().install(worker):
        there = process.next(process.initialize(), values, [1.0] * 7)
    np.testing.assert_array_equal(here.result['a'], there.result['a'])
    self.assertEqual(here.measurements, there.measurements)
