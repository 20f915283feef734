# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for federated_plan."""

import threading

from fedfish_tff.execution.reading import expressions
from fedfish_tff.execution.reading import federated_plan
from tests import processes

from absl.testing import absltest
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_CLIENT_FLOATS = tff.FederatedType(np.float32, tff.CLIENTS)


def _add():
  return tff.tensorflow.computation(
    lambda a, b: a + b, (np.float32, np.float32)
  )


def _stages(plan):
  return [a for a in plan.actions if isinstance(a, federated_plan.ClientStage)]


class CompilePlanTest(absltest.TestCase):
  def test_aggregates_of_one_depth_share_a_stage(self):
    @tff.federated_computation(_CLIENT_FLOATS, _CLIENT_FLOATS)
    def comp(x, y):
      return (
        tff.federated_sum(x),
        tff.federated_mean(y, x),
        tff.federated_max(tff.federated_map(_add(), (x, y))),
      )

    plan = federated_plan.compile_plan(comp)
    (stage,) = _stages(plan)
    self.assertLen(stage.aggregates, 3)
    self.assertEmpty(stage.outputs)
    x, y = (p.expression.id for p in plan.parameter)
    self.assertCountEqual(stage.client_inputs, [x, y])

  def test_what_two_stages_need_is_computed_once(self):
    plan = federated_plan.compile_plan(_sums_of_random_values())
    first, second = _stages(plan)
    (random,) = first.steps
    self.assertEqual(first.outputs, (random.out,))
    self.assertIn(random.out, second.client_inputs)
    self.assertEqual(second.read_last, (random.out,))

  def test_what_only_a_later_stage_needs_is_computed_there(self):
    @tff.federated_computation(_CLIENT_FLOATS)
    def comp(values):
      doubled = tff.federated_map(
        tff.tensorflow.computation(lambda x: 2 * x, np.float32), values
      )
      total = tff.federated_sum(values)
      return tff.federated_sum(
        tff.federated_map(_add(), (doubled, tff.federated_broadcast(total)))
      )

    first, second = _stages(federated_plan.compile_plan(comp))
    self.assertEmpty(first.steps)
    self.assertEmpty(first.outputs)
    self.assertLen(second.steps, 2)

  def test_keeps_only_the_parts_that_are_read_later(self):
    large = tff.TensorType(np.float32, [1000])
    split = tff.tensorflow.computation(
      lambda x: (tf.fill([1000], x), (x + 1.0, x + 2.0)), np.float32
    )
    sum_large = tff.tensorflow.computation(lambda x: tf.reduce_sum(x), large)

    @tff.federated_computation(_CLIENT_FLOATS)
    def comp(values):
      both = tff.federated_map(split, values)
      total = tff.federated_sum(tff.federated_map(sum_large, both[0]))
      small = both[1]
      moved = tff.federated_map(
        _add(), (small[0], tff.federated_broadcast(total))
      )
      return tff.federated_sum(moved), small[1]

    plan = federated_plan.compile_plan(comp)
    first, second = _stages(plan)
    self.assertEqual(
      [plan.types[out] for out in first.outputs],
      [tff.TensorType(np.float32)] * 2,
    )
    self.assertEqual(second.client_inputs, second.read_last)
    self.assertLen(second.client_inputs, 1)
    self.assertEqual(_ids(plan.result[1]), [first.outputs[1]])

  def test_equal_computations_share_a_plan(self):
    def make(offset):
      return tff.tensorflow.computation(lambda x: x + offset, np.float32)

    plan = federated_plan.compile_plan(make(1.0))
    self.assertIs(federated_plan.compile_plan(make(1.0)), plan)
    self.assertIsNot(federated_plan.compile_plan(make(2.0)), plan)

  def test_threads_share_a_plan(self):
    @tff.federated_computation(_CLIENT_FLOATS)
    def comp(values):
      return tff.federated_mean(values), tff.federated_sum(values)

    plans = []
    threads = [
      threading.Thread(
        target=lambda: plans.append(federated_plan.compile_plan(comp))
      )
      for _ in range(4)
    ]
    for thread in threads:
      thread.start()
    for thread in threads:
      thread.join(processes.HANG_SECONDS)
    self.assertLen(set(plans), 1)
    self.assertLen(plans, 4)


def _sums_of_random_values():
  random = tff.tensorflow.computation(lambda: tf.random.uniform([]))

  @tff.federated_computation
  def comp():
    values = tff.federated_eval(random, tff.CLIENTS)
    total = tff.federated_sum(values)
    return total, tff.federated_sum(
      tff.federated_map(_add(), (values, tff.federated_broadcast(total)))
    )

  return comp


def _ids(placed):
  if placed is None:
    return []
  if isinstance(placed, tuple):
    return [i for element in placed for i in _ids(element)]
  return list(expressions.value_ids(placed.expression))
