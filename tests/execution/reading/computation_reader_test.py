# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for computation_reader."""

from fedfish_tff.execution.reading import computation_reader
from fedfish_tff.execution.reading import expressions
from fedfish_tff.execution.reading import federated_operations
from fedfish_tff.execution.reading import local_functions

from absl.testing import absltest
from google.protobuf import any_pb2
import numpy as np
import tensorflow_federated as tff

_CLIENT_FLOATS = tff.FederatedType(np.float32, tff.CLIENTS)
_SERVER_FLOAT = tff.FederatedType(np.float32, tff.SERVER)


def _add():
  return tff.tensorflow.computation(
    lambda a, b: a + b, (np.float32, np.float32)
  )


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

  def test_finds_the_calls(self):
    @tff.federated_computation(_CLIENT_FLOATS, _SERVER_FLOAT)
    def comp(values, x):
      moved = tff.federated_map(_add(), (values, tff.federated_broadcast(x)))
      return tff.federated_map(_add(), (tff.federated_sum(moved), x))

    read = _read(comp)
    operations = read.operations
    (at_clients,) = (o for o in operations if o.out in read.client_ids)
    (aggregate,) = (
      o for o in operations if isinstance(o, federated_operations.Aggregate)
    )
    self.assertEqual(aggregate.value, expressions.Value(at_clients.out))
    at_server = operations[-1]
    self.assertTrue(read.is_server_step(at_server))
    self.assertEqual(
      list(expressions.value_ids(at_server.arg))[0], aggregate.out
    )

  def test_lambdas_at_clients_become_calls_and_may_use_values_around_them(self):
    @tff.federated_computation(np.float32, _CLIENT_FLOATS)
    def comp(y, values):
      @tff.federated_computation(np.float32)
      def add_twice(x):
        return _add()(_add()(x, y), y)

      return tff.federated_map(add_twice, values)

    operations = _read(comp)
    first, second = operations.operations
    self.assertContainsSubset({first.out, second.out}, operations.client_ids)
    self.assertIs(first.fn, second.fn)
    y, values = operations.parameter
    self.assertEqual(
      first.arg, expressions.Struct((values.expression, y.expression))
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

  def test_placed_literals(self):
    @tff.federated_computation
    def comp():
      return tff.federated_value(3.0, tff.CLIENTS), 4

    operations = _read(comp)
    self.assertIsNone(operations.parameter)
    self.assertEqual([o.fn.value for o in operations.operations], [3.0, 4])
    self.assertEqual(
      [p.placement for p in operations.result], [tff.CLIENTS, None]
    )

  def test_tensorflow_computation(self):
    operations = _read(_add())
    (step,) = operations.operations
    self.assertIsInstance(step.fn, local_functions.TensorFlowLeaf)
    self.assertEqual(step.arg, operations.parameter.expression)

  def test_equal_tensorflow_is_one_function(self):
    @tff.federated_computation(_CLIENT_FLOATS)
    def comp(values):
      return tff.federated_sum(values)

    aggregate = _read(comp).operations[-1]
    self.assertIs(aggregate.accumulate, aggregate.merge)

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

  def test_types_of_all_values(self):
    @tff.federated_computation(
      tff.FederatedType(tff.SequenceType(np.int32), tff.CLIENTS)
    )
    def comp(data):
      count = tff.tensorflow.computation(
        lambda d: d.reduce(np.int64(0), lambda n, _: n + 1),
        tff.SequenceType(np.int32),
      )
      return tff.federated_map(count, data)

    operations = _read(comp)
    (step,) = operations.operations
    self.assertEqual(operations.types[step.out], tff.TensorType(np.int64))
    self.assertEqual(
      operations.types[operations.parameter.expression.id],
      tff.SequenceType(np.int32),
    )

  def test_data_has_no_backend(self):
    block = tff.framework.Data(any_pb2.Any(), tff.SequenceType(np.int32))
    with self.assertRaisesRegex(ValueError, 'a Data in it'):
      computation_reader.read_operations(
        tff.framework.Lambda(None, None, block)
      )
