# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for computation_reader and federated_plan."""

import threading

from fedfish_tff.execution.reading import computation_reader
from fedfish_tff.execution.reading import expressions
from fedfish_tff.execution.reading import federated_plan
from tests import processes

from absl.testing import absltest
from google.protobuf import any_pb2
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


_SERVER_FLOAT = tff.FederatedType(np.float32, tff.SERVER)


def _read(comp):
  return computation_reader.read_operations(
    tff.backends.native.desugar_and_transform_to_native(
      comp
    ).to_building_block()
  )


class ComputationReaderTest(absltest.TestCase):
  def test_regrouping_needs_no_operations(self):
    @tff.federated_computation(
      tff.FederatedType([np.float32, np.int32], tff.CLIENTS), _SERVER_FLOAT
    )
    def comp(values, x):
      x = tff.federated_broadcast(x)
      zipped = tff.federated_zip((values[1], x, tff.federated_zip((values,))))
      return zipped[2][0][0], zipped[1], x

    operations = _read(comp)
    self.assertEmpty(operations.operations)
    (values, x) = operations.parameter
    (a, b, c) = operations.result
    self.assertEqual(a.expression, expressions.select(values.expression, 0))
    self.assertEqual(b.expression, x.expression)
    self.assertEqual(c.expression, x.expression)
    self.assertEqual(a.placement, tff.CLIENTS)
    self.assertEqual(
      operations.client_ids, {values.expression.id}, 'x is one for all'
    )

  def test_aggregation_by_a_function_of_values_around_it(self):
    @tff.federated_computation(np.float32, _CLIENT_FLOATS)
    def comp(y, values):
      accumulate = tff.federated_computation(
        lambda a, b: _add()(_add()(a, b), y), (np.float32, np.float32)
      )
      identity = tff.federated_computation(lambda a: a, np.float32)
      return tff.federated_aggregate(values, 0.0, accumulate, _add(), identity)

    with self.assertRaisesRegex(ValueError, 'value of the computation around'):
      _read(comp)

  def test_functions_are_no_values(self):
    identity = tff.federated_computation(lambda a: a, np.float32)

    @tff.federated_computation
    def returns_function():
      return identity

    @tff.federated_computation(tff.FunctionType(np.float32, np.float32))
    def takes_function(f):
      return f(1.0)

    for comp in (returns_function, takes_function):
      with self.assertRaisesRegex(TypeError, 'function'):
        _read(comp)

  def test_other_languages(self):
    comp = tff.jax.computation(lambda x: x + 1, np.float32)
    with self.assertRaisesRegex(ValueError, 'tff.jax'):
      computation_reader.read_operations(comp.to_building_block())

  def test_refuses_other_placements(self):
    for placed, wanted in (
      (tff.CLIENTS, None),
      (tff.SERVER, tff.CLIENTS),
      (None, tff.CLIENTS),
    ):
      with self.subTest(f'{placed} {wanted}'):
        value = computation_reader.Placed(placed, expressions.Value(0))
        with self.assertRaisesRegex(ValueError, 'Cannot'):
          computation_reader.to_expression((value,), wanted)

  def test_data_has_no_backend(self):
    block = tff.framework.Data(any_pb2.Any(), tff.SequenceType(np.int32))
    with self.assertRaisesRegex(ValueError, 'a Data in it'):
      computation_reader.read_operations(
        tff.framework.Lambda(None, None, block)
      )
