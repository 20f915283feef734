# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for round_costs."""

from fedfish_tff import errors
from fedfish_tff.execution.pjrt import round_costs
from tests.execution.pjrt import accelerator

from absl.testing import absltest
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_SIZE = 16
_ROWS = tff.SequenceType(tff.TensorType(np.float32, [None, _SIZE]))


def _passes(dataset):
  """Two passes, the second as long as a third of what the first has counted."""
  number, product = dataset.reduce(
    (tf.constant(0, tf.int64), tf.eye(_SIZE)),
    lambda a, x: (a[0] + 1, a[1] @ tf.matmul(x, x, transpose_a=True)),
  )
  return dataset.take(number // 3).reduce(
    product, lambda a, x: tf.sin(a + tf.matmul(x, x, transpose_a=True))
  )


def _sum_of(work, member):
  @tff.federated_computation(tff.FederatedType(member, tff.CLIENTS))
  def comp(values):
    return tff.federated_sum(tff.federated_map(work, values))

  return comp


class RoundCostsTest(accelerator.TestCase):
  def setUp(self):
    super().setUp()
    self.process = round_costs.CostProcess('cpu', '')
    self.addCleanup(self.process.stop)
    self.sizes = []
    self.context = round_costs.CostContext(self.process, self.sizes.append)

  def _run(self, comp, values):
    with tff.framework.get_context_stack().install(self.context):
      return comp(values)

  def test_trips_of_unlike_clients(self):
    work = tff.tensorflow.computation(_passes, _ROWS)
    lengths = [9, 4, 0, 3]
    result = self._run(
      _sum_of(work, _ROWS),
      [[np.ones([2, _SIZE], np.float32)] * length for length in lengths],
    )
    np.testing.assert_array_equal(result, np.zeros([_SIZE, _SIZE]))
    self.assertLen(self.sizes, 1)
    (stage,) = self.context.stages
    self.assertIsNone(stage.problem)
    self.assertGreater(stage.num_bytes, stage.temporaries)
    # One chunk for all clients, each client, and their two passes.
    self.assertCountEqual(
      [(round(loop.trips, 3), loop.is_counted) for loop in stage.loops],
      [(0.25, True), (1.0, True), (16 / 4, True), ((3 + 1 + 0 + 1) / 4, True)],
    )
    of_rows, of_squares = 2 * 2 * _SIZE**2, 2 * _SIZE**3
    products = 4.0 * (of_rows + of_squares) + 1.25 * of_rows
    flops = stage.per_client(lambda loop: loop.flops)
    self.assertBetween(flops, products, 1.2 * products)

  def test_what_is_no_program(self):
    work = tff.tensorflow.computation(lambda s: tf.strings.length(s), np.str_)
    self.assertEqual(self._run(_sum_of(work, np.str_), ['a', 'bcd']), 0)
    (stage,) = self.context.stages
    self.assertIn('string', stage.problem)
    self.assertEmpty(self.sizes)

  def test_no_environment(self):
    with self.assertRaisesRegex(errors.InputError, 'make accelerator'):
      round_costs.CostProcess('tpu', 'v5e:2x2', python='/no/such/python')


class WidthThatFitsTest(absltest.TestCase):
  def test_what_side_by_side_clients_share(self):
    cost = round_costs.StageCost(
      arguments=20, results=5, temporaries=30, code=5
    )
    self.assertEqual(round_costs.width_that_fits(cost, 100), 2)
    self.assertEqual(round_costs.width_that_fits(cost, 29), 0)
