# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for local_functions."""

from unittest import mock

from fedfish_tff.execution.reading import expressions
from fedfish_tff.execution.reading import local_functions

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_INTS = tff.SequenceType(np.int32)


def _leaf(fn, *parameter_types):
  comp = tff.tensorflow.computation(fn, *parameter_types)
  return local_functions.TensorFlowLeaf(
    tff.framework.serialize_computation(comp), comp.type_signature
  )


def _add():
  return _leaf(lambda a, b: a + b, (np.int32, np.int32))


def _dataset(values):
  return tf.data.Dataset.from_tensor_slices(np.array(values, np.int32))


def _values(dataset):
  return list(dataset.as_numpy_iterator())


class LeavesTest(parameterized.TestCase):
  def test_runs(self):
    leaf = _leaf(lambda a, b: (a + b, a * b), (np.int32, np.int32))
    added, multiplied = leaf((tf.constant(3), tf.constant(4)))
    self.assertEqual((added.numpy(), multiplied.numpy()), (7, 12))

  def test_runs_without_argument(self):
    self.assertEqual(_leaf(lambda: tf.constant(5))().numpy(), 5)

  def test_someone_else_runs_it(self):
    leaf = _add()
    tracer = mock.create_autospec(local_functions.Tracer, instance=True)
    self.assertIs(leaf.trace((1, 2), tracer), tracer.run.return_value)
    tracer.run.assert_called_once_with(leaf.proto, leaf.type_signature, (1, 2))

  @parameterized.parameters(
    (3, np.int32, tf.int32),
    (0.5, np.float64, tf.float64),
    (True, np.bool_, tf.bool),
    (b'text', np.str_, tf.string),
  )
  def test_literal(self, value, dtype, expected_dtype):
    literal = local_functions.Literal(value, tff.TensorType(dtype))
    result = literal()
    self.assertEqual(result.dtype, expected_dtype)
    self.assertEqual(result.numpy(), value)
    self.assertEqual(literal.trace(None, None).numpy(), value)

  def test_literal_array(self):
    array = np.arange(6, dtype=np.int64).reshape(2, 3)
    literal = local_functions.Literal(array, tff.TensorType(np.int64, [2, 3]))
    np.testing.assert_array_equal(literal(), array)


class ProgramTest(absltest.TestCase):
  def _program(self):
    """Returns (a, b) -> (a + b, a + b + a)."""
    argument, total = expressions.Value(0), expressions.Value(1)
    return local_functions.Program(
      tff.FunctionType([np.int32, np.int32], [np.int32, np.int32]),
      parameter=0,
      steps=(
        local_functions.Step(1, _add(), argument),
        local_functions.Step(
          2,
          _add(),
          expressions.Struct((total, expressions.select(argument, 0))),
        ),
      ),
      result=expressions.Struct((total, expressions.Value(2))),
    )

  def test_runs_steps(self):
    result = self._program()((tf.constant(3), tf.constant(4)))
    self.assertEqual([r.numpy() for r in result], [7, 10])

  def test_traces_into_a_graph(self):
    def run(proto, type_signature, arg):
      del proto, type_signature
      self.assertIsInstance(arg[0].graph, tf.Graph)
      return arg[0] + arg[1]

    tracer = mock.create_autospec(local_functions.Tracer, instance=True)
    tracer.run.side_effect = run
    program = self._program()
    traced = tf.function(lambda a, b: program.trace((a, b), tracer))
    result = traced(tf.constant(3), tf.constant(4))
    self.assertEqual([r.numpy() for r in result], [7, 10])

  def test_without_argument(self):
    program = local_functions.Program(
      tff.FunctionType(None, np.int32),
      parameter=None,
      steps=(
        local_functions.Step(
          0, local_functions.Literal(8, tff.TensorType(np.int32)), None
        ),
      ),
      result=expressions.Value(0),
    )
    self.assertEqual(program().numpy(), 8)

  def test_identity(self):
    value = (object(), object())
    identity = local_functions.identity(tff.to_type([np.int32, np.int32]))
    self.assertIs(identity(value), value)
    self.assertEmpty(list(identity.leaves()))

  def test_knows_its_leaves(self):
    self.assertLen(list(self._program().leaves()), 2)
    reduce = local_functions.SequenceReduce(
      tff.FunctionType([_INTS, np.int32], np.int32), _add()
    )
    program = local_functions.Program(
      reduce.type_signature,
      parameter=0,
      steps=(local_functions.Step(1, reduce, expressions.Value(0)),),
      result=expressions.Value(1),
    )
    self.assertEqual(list(program.leaves()), [reduce.op])
    result = program((_dataset([1, 2]), tf.constant(3)))
    self.assertEqual(result.numpy(), 6)


class SequencesTest(absltest.TestCase):
  def test_select_of_named_slices(self):
    # A type as compilation leaves it: names, but no Python container.
    element_type = tff.StructType([('id', np.int32), ('name', np.str_)])

    class Slice(local_functions.LocalFunction):
      def trace(self, arg, tracer):
        raise NotImplementedError

      def __call__(self, arg=None):
        return arg[1], tf.strings.as_string(arg[1])

    select = local_functions.Select(
      tff.FunctionType(
        [tff.TensorType(np.int32, [2]), np.float32],
        tff.SequenceType(element_type),
      ),
      Slice(tff.FunctionType([np.float32, np.int32], element_type)),
    )
    for keys in ([3, 1], []):
      elements = list(select((tf.constant(keys, tf.int32), tf.constant(0.0))))
      self.assertEqual(
        [(int(e['id']), e['name'].numpy()) for e in elements],
        [(key, str(key).encode()) for key in keys],
      )

  def test_select(self):
    calls = []

    class CountedLeaf(local_functions.TensorFlowLeaf):
      def __call__(self, arg=None):
        calls.append(int(arg[1]))
        return super().__call__(arg)

    leaf = _leaf(
      lambda table, key: tf.gather(table, key),
      (tff.TensorType(np.float32, [4]), np.int32),
    )
    keys_type = tff.TensorType(np.int32, [3])
    select = local_functions.Select(
      tff.FunctionType(
        [keys_type, tff.TensorType(np.float32, [4])],
        tff.SequenceType(np.float32),
      ),
      CountedLeaf(leaf.proto, leaf.type_signature),
    )
    table = tf.constant([0.5, 1.5, 2.5, 3.5])
    slices = {}
    for keys, expected in (
      ([3, 0, 3], [3.5, 0.5, 3.5]),
      ([1, 0, 1], [1.5, 0.5, 1.5]),
    ):
      chosen = select((tf.constant(keys), table), slices)
      self.assertEqual(_values(chosen), expected)
    self.assertEqual(calls, [3, 0, 1])
    self.assertEqual(
      _values(select((tf.constant([2, 2, 2]), table))), [2.5] * 3
    )
