# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of aggregators that see each update, in our context and in TFF's."""

from fedfish_tff import aggregators
from fedfish_tff.execution import contexts
from tests import updates

from absl.testing import absltest
import numpy as np
import pytest
import tensorflow_federated as tff


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
