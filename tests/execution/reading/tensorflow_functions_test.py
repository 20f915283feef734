# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for tensorflow_functions."""

import concurrent.futures
import gc
import re
import threading
from unittest import mock
import weakref

from fedfish_tff import private_apis
from fedfish_tff.execution.reading import tensorflow_functions

from absl.testing import absltest
from absl.testing import parameterized
from google.protobuf import text_format
import numpy as np
import tensorflow as tf
from tensorflow.python.eager import context as eager_context
import tensorflow_federated as tff


def _import(fn, *parameters):
  """Returns a Python function as an imported computation."""
  return tensorflow_functions.TensorFlowFunction(
    tff.framework.serialize_computation(
      tff.tensorflow.computation(fn, *parameters)
    )
  )


def _count_up(x):
  """A variable that starts at 10 and grows by the argument."""
  variable = tf.Variable(10.0)
  with tf.control_dependencies([variable.assign_add(x)]):
    return variable.read_value()


class SequencesTest(absltest.TestCase):
  def test_result_is_a_dataset_that_outlives_the_function(self):
    def build(n):
      table = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(
          tf.range(3, dtype=tf.int64), tf.constant([5, 6, 7])
        ),
        -1,
      )
      variable = tf.Variable(100)
      look_up = tf.function(lambda i: table.lookup(i) + variable)
      return tf.data.Dataset.range(n).map(look_up), n + 1

    function = _import(build, np.int64)
    dataset, following = function(tf.constant(4, tf.int64))
    function = weakref.ref(function)
    gc.collect()
    self.assertIsNone(function())
    self.assertIsInstance(dataset, tf.data.Dataset)
    self.assertEqual(list(dataset.as_numpy_iterator()), [105, 106, 107, 99])
    self.assertEqual(following, 5)


class StateTest(parameterized.TestCase):
  def test_calls_at_the_same_time_have_variables_of_their_own(self):
    @tf.function
    def accumulate(variable, x):
      for _ in tf.range(200):
        variable.assign_add(x * tf.ones([50]))
      return variable.read_value()

    function = _import(
      lambda x: accumulate(tf.Variable(tf.zeros([50])), x), np.float32
    )
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
      results = list(
        pool.map(lambda i: function(tf.constant(float(i))), range(64))
      )
    for i, result in enumerate(results):
      np.testing.assert_array_equal(result, np.full([50], 200.0 * i))

  def test_initial_values_of_arguments_and_of_other_variables(self):
    def compute(x):
      first = tf.Variable(x * 2)
      second = tf.Variable(first + 1)
      return second.read_value(), first.read_value()

    function = _import(compute, np.float32)
    for _ in range(20):
      self.assertEqual(function(tf.constant(3.0)), (7.0, 6.0))

  def test_computations_in_computations(self):
    inner = tff.tensorflow.computation(_count_up, np.float32)
    outer = _import(lambda x: (inner(x), inner(x + 1)), np.float32)
    self.assertEqual(outer(tf.constant(1.0)), (11.0, 12.0))

  @parameterized.product(name=(None, 'queue'), is_function=(False, True))
  def test_queues_start_empty(self, name, is_function):
    def compute(x):
      queue = tf.queue.FIFOQueue(100, [tf.int32], [[]], shared_name=name)
      with tf.control_dependencies([queue.enqueue(x)]):
        with tf.control_dependencies([queue.enqueue(x)]):
          size = queue.size()
      with tf.control_dependencies([size]):
        # What is left in the queue, or an error.
        return size, 12 // (x - 3) + queue.dequeue()

    function = _import(
      tf.function(compute) if is_function else compute, np.int32
    )

    def call(x):
      if x == 3:
        with self.assertRaises(tf.errors.InvalidArgumentError):
          function(tf.constant(x))
        return None
      return function(tf.constant(x))

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
      results = list(pool.map(call, range(12)))
    results.pop(3)
    self.assertEqual(
      results, [(2, x + 12 // (x - 3)) for x in range(12) if x != 3]
    )

  def test_calls_of_a_function_have_one_queue(self):
    @tf.function
    def put(x):
      queue = tf.queue.FIFOQueue(100, [tf.int32], [[]])
      with tf.control_dependencies([queue.enqueue(x)]):
        return queue.size()

    def put_twice(x):
      first = put(x)
      with tf.control_dependencies([first]):
        return first + put(tf.identity(x))

    function = _import(put_twice, np.int32)
    for _ in range(2):
      # One finds what the other has put there, as in TFF's runtime.
      self.assertEqual(function(tf.constant(1)), 3)

  @parameterized.parameters(False, True)
  def test_state_that_is_found_by_name_is_refused(self, is_function):
    def of_a_reader():
      reader = tf.raw_ops.IdentityReaderV2()
      return tf.raw_ops.ReaderNumRecordsProducedV2(reader_handle=reader)

    with self.assertRaisesRegex(
      tensorflow_functions.GraphError, 'and queues, got IdentityReaderV2'
    ):
      _import(tf.function(of_a_reader) if is_function else of_a_reader)

  def test_state_that_nothing_needs_is_not_refused(self):
    def compute(x):
      tf.raw_ops.IdentityReaderV2()
      return x + 1

    self.assertEqual(_import(compute, np.int32)(tf.constant(1)), 2)

  def test_a_variable_that_has_no_value(self):
    def compute():
      handle = tf.raw_ops.VarHandleOp(
        dtype=tf.float32, shape=[], shared_name='forgotten'
      )
      return tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)

    with self.assertRaisesRegex(
      tensorflow_functions.GraphError, 'variables with initial values'
    ):
      _import(compute)

  def test_variables_of_tensorflow_1_are_refused(self):
    def compute():
      return tf.compat.v1.get_variable(
        'old', initializer=1.0, use_resource=False
      ).read_value()

    with self.assertRaisesRegex(
      tensorflow_functions.GraphError, "got VariableV2 'old'"
    ):
      _import(compute)

  def test_nodes_of_one_name_are_one_variable(self):
    def compute(x):
      first, second = (
        tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[], shared_name='v')
        for _ in range(2)
      )
      initialize = tf.raw_ops.AssignVariableOp(resource=first, value=x)
      tf.compat.v1.add_to_collection(
        tf.compat.v1.GraphKeys.TABLE_INITIALIZERS, initialize
      )
      return tf.raw_ops.ReadVariableOp(resource=second, dtype=tf.float32)

    self.assertEqual(_import(compute, np.float32)(tf.constant(3.0)), 3.0)

  def test_functions_of_one_name(self):
    def build(factor):
      @tf.function
      def scale(x):
        return tf.while_loop(
          lambda i, _: i < 2, lambda i, y: (i + 1, y * factor), (0, x)
        )[1]

      proto = tff.framework.serialize_computation(
        tff.tensorflow.computation(lambda x: scale(x), np.float32)
      )
      graph_def = tf.compat.v1.GraphDef()
      proto.tensorflow.graph_def.Unpack(graph_def)
      # Python numbers the names, other makers of graphs need not.
      text = re.sub(r'(scale|while_body|while_cond)_\d+', r'\1', str(graph_def))
      graph_def = text_format.Parse(text, tf.compat.v1.GraphDef())
      self.assertLen({f.signature.name for f in graph_def.library.function}, 3)
      proto.tensorflow.graph_def.Pack(graph_def)
      names = [f.signature.name for f in graph_def.library.function]
      return tensorflow_functions.TensorFlowFunction(proto), sorted(names)

    (double, names), (triple, other_names) = build(2.0), build(3.0)
    self.assertEqual(names, other_names)
    for _ in range(2):
      self.assertEqual(double(tf.constant(1.0)), 4.0)
      self.assertEqual(triple(tf.constant(1.0)), 9.0)


class RandomTest(absltest.TestCase):
  def test_generators_start_from_their_seed(self):
    function = _import(lambda: tf.random.Generator.from_seed(3).uniform([4]))
    expected = tf.random.Generator.from_seed(3).uniform([4])
    for _ in range(2):
      np.testing.assert_array_equal(function(), expected)


class ErrorsTest(absltest.TestCase):
  def test_cancellation_ends_a_long_call(self):
    def compute(x):
      return tf.while_loop(lambda i: i >= 0, lambda i: [i % 1000 + 1], [x])

    function = _import(compute, np.int32)
    manager = private_apis.CancellationManager()
    timer = threading.Timer(0.5, manager.start_cancel)
    timer.start()
    self.addCleanup(timer.join)
    with self.assertRaises(tf.errors.CancelledError):
      function(tf.constant(1), cancellation_manager=manager)
    # Others are not concerned.
    other = private_apis.CancellationManager()
    self.assertEqual(
      function(tf.constant(-5), cancellation_manager=other), (-5,)
    )


class RuntimeTest(absltest.TestCase):
  def test_functions_leave_the_runtime(self):
    with mock.patch.object(
      private_apis,
      'add_function',
      autospec=True,
      side_effect=private_apis.add_function,
    ) as add_function:
      function = _import(tf.function(lambda x: x + 2), np.int32)
    names = [c.args[0].signature.name for c in add_function.call_args_list]
    self.assertLen(names, 2)
    context = eager_context.context()
    self.assertTrue(all(map(context.has_function, names)))
    function = weakref.ref(function)
    gc.collect()
    self.assertIsNone(function())
    self.assertFalse(any(map(context.has_function, names)))
