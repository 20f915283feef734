# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for computation_reader."""

from fedfish_tff.execution.reading import computation_reader
from fedfish_tff.execution.reading import expressions

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
