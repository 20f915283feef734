# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Private parts of TensorFlow and TFF exist and do their work.

Where a new version has dropped or renamed something, the failure names it.
"""

import importlib
import pkgutil
import subprocess
import sys
import threading

from fedfish_tff import private_apis
from fedfish_tff.execution.packing import dataset_rows
from fedfish_tff.execution.packing import repeatable_datasets
from launch import process_settings
from tests import processes

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.data import ops
from tensorflow.python.data.experimental.ops import cardinality
import tensorflow_federated as tff

_SCALAR = tf.TensorSpec([])
_RANGE = tf.data.Dataset.range


def _operations(function):
  return {operation.type for operation in function.graph.get_operations()}


def _then(operation, tensor):
  with tf.control_dependencies([operation]):
    return tf.identity(tensor)


# As every binary of this package does.
_IMPORTED_WITHIN_A_RUN = """
from absl import app

def main(argv):
  import threading
  import tensorflow as tf
  from fedfish_tff import private_apis

  def create_model():
    tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(2)])
    print('created')

  create_model()
  thread = threading.Thread(target=create_model)
  thread.start()
  thread.join()

app.run(main)
"""


class EagerContextTest(absltest.TestCase):
  def test_assignments_as_tensors(self):
    ones = tf.Variable([1.0, 1.0])

    @tf.function
    def compute(x):
      with private_apis.assignments_as_tensors() as assigned:
        ones.assign_add(x)
        ones.assign_sub(3 * ones)
        seen = ones + 0.0
        ones.assign(seen * x)
      return seen, assigned[id(ones.handle)]

    x = tf.constant([1.0, 2.0])
    seen, last = compute(x)
    np.testing.assert_array_equal(seen, [-4, -6])
    np.testing.assert_array_equal(last, [-4, -12])
    np.testing.assert_array_equal(ones, [1, 1])
    found = _operations(compute.get_concrete_function(x))
    self.assertFalse({name for name in found if 'Assign' in name})

  def test_keras_models_where_tensorflow_is_imported_within_a_run(self):
    output = subprocess.run(
      [sys.executable, '-c', _IMPORTED_WITHIN_A_RUN],
      check=True,
      stdout=subprocess.PIPE,
      text=True,
      timeout=processes.HANG_SECONDS,
    ).stdout
    self.assertEqual(output, 'created\n' * 2)


class GraphsTest(absltest.TestCase):
  def test_find_operation(self):
    found = private_apis.find_operation('AddV2')
    self.assertEqual([arg.name for arg in found.input_arg], ['x', 'y'])
    self.assertIsNone(private_apis.find_operation('NoSuchOperation'))

  def test_create_operation_of_a_tensor_around_a_branch(self):
    dtype = tf.compat.v1.AttrValue(type=tf.float32.as_datatype_enum)

    def double(x):
      operation = private_apis.create_operation(
        'AddV2', [x, x], {'T': dtype}, node_name='doubled'
      )
      self.assertEqual(operation.name, 'cond/doubled')
      return operation.outputs[0]

    @tf.function(input_signature=[_SCALAR], autograph=False)
    def compute(x):
      return tf.cond(x > 0, lambda: double(x), lambda: x)

    self.assertEqual(compute(3.0), 6)
    self.assertEqual(compute(-3.0), -3)

  def test_attribute_scope(self):
    with tf.Graph().as_default() as graph:
      with private_apis.attribute_scope(
        {'_note': tf.compat.v1.AttrValue(s=b'here')}
      ):
        tf.constant(1, name='inside')
      tf.constant(2, name='outside')
    notes = {n.name: n.attr['_note'].s for n in graph.as_graph_def().node}
    self.assertEqual(notes, {'inside': b'here', 'outside': b''})

  def test_is_branch(self):
    found = []

    def note(x):
      found.append(private_apis.is_branch(tf.compat.v1.get_default_graph()))
      return x

    @tf.function(input_signature=[_SCALAR], autograph=False)
    def compute(x):
      x = tf.cond(note(x) > 0, lambda: note(x), lambda: x)
      x = tf.switch_case(tf.constant(0), [lambda: note(x), lambda: x])
      return tf.while_loop(lambda x: x > 9, lambda x: [note(x)], [x])

    compute.get_concrete_function()
    self.assertEqual(found, [False, True, True, False])

  def test_capture_at_call(self):
    value = 1.0

    def number():
      return private_apis.capture_at_call(
        lambda: tf.constant(value), _SCALAR, key='number'
      )

    @tf.function(input_signature=[_SCALAR], autograph=False)
    def compute(x):
      return tf.cond(x > 0, lambda: x + number(), number)

    function = compute.get_concrete_function()
    self.assertTrue(private_apis.captures_at_call(function))
    self.assertEqual(function(tf.constant(2.0)), 3)
    value = 10.0
    self.assertEqual(function(tf.constant(2.0)), 12)
    self.assertEqual(function(tf.constant(-2.0)), 10)

  def test_parallel_loop(self):
    queue = tf.queue.FIFOQueue(1, tf.int32, shapes=[[]])

    @tf.function(input_signature=[tf.TensorSpec([], tf.int32)], autograph=False)
    def compute(number):
      def body(i, total):
        tf.debugging.Assert(i < 3, ['iteration', i])
        # The first iteration ends after the second has begun.
        value = tf.switch_case(
          i, [queue.dequeue, lambda: _then(queue.enqueue(5), i), lambda: i]
        )
        return [total + value]

      (total,) = private_apis.parallel_loop(
        number, body, [tf.constant(0)], parallel_iterations=2
      )
      return total

    stop = threading.Timer(processes.HANG_SECONDS, queue.close)
    stop.start()
    self.addCleanup(stop.cancel)
    self.assertEqual(compute(3), 5 + 1 + 2)
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, 'iteration'):
      compute(4)

  def test_freeze_variables(self):
    variable = tf.Variable(2.0)

    @tf.function(input_signature=[_SCALAR], autograph=False)
    def compute(x):
      return tf.while_loop(lambda x: x < 9, lambda x: [x * variable], [x])

    function = compute.get_concrete_function()
    frozen = private_apis.freeze_variables(function)
    variable.assign(0.0)
    self.assertEqual(frozen(tf.constant(3.0))[0], 12)
    self.assertFalse(private_apis.captures_at_call(frozen))
    # A loop is one operation, not a cycle of several.
    self.assertNoCommonElements(
      {'Enter', 'ReadVariableOp'}, _operations(frozen)
    )


class Keras3Test(absltest.TestCase):
  def test_inputs_of_layers(self):
    keras = pytest.importorskip('keras', minversion='3')
    self.assertIs(private_apis.keras_3(), keras)
    layers = [keras.layers.Dense(2, name=name) for name in 'ab']
    model = keras.Sequential([keras.Input((3,)), *layers])
    found = private_apis.keras_3_inputs(model)
    self.assertEqual(list(found), ['a', 'b'])
    self.assertIs(found['a'], model.inputs[0])
    self.assertIs(found['b'], layers[0].output)


class AutographTest(absltest.TestCase):
  def test_convert_to_graph_code(self):
    status = private_apis.autograph_status()

    def double_if_positive(x):
      if x > 0:
        x = 2 * x
      return x

    @tf.function(autograph=False)
    def compute(x):
      return private_apis.convert_to_graph_code(double_if_positive, status)(x)

    self.assertEqual(compute(tf.constant(3.0)), 6)
    self.assertEqual(compute(tf.constant(-3.0)), -3)

  def test_modules_of_optimizers(self):
    sgd = tff.learning.optimizers.build_sgdm()
    self.assertEqual(
      type(sgd).__module__.rpartition('.')[0], private_apis.TFF_OPTIMIZERS
    )
    scheduled = tff.learning.optimizers.schedule_learning_rate(sgd, lambda _: 1)
    calling = private_apis.TFF_OPTIMIZERS_WITH_CODE_OF_USERS
    self.assertIn(type(scheduled).__module__.rpartition('.')[2], calling)
    for name in calling:
      importlib.import_module(f'{private_apis.TFF_OPTIMIZERS}.{name}')


class RuntimeTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    function = tf.function(
      lambda x: (x + 1, 2 * x), input_signature=[_SCALAR], autograph=False
    ).get_concrete_function()
    definition = function.function_def.__class__()
    definition.CopyFrom(function.function_def)
    # Of one test: TensorFlow keeps what it has called by its name.
    definition.signature.name = self._testMethodName
    private_apis.add_function(definition)

  def _call(self, cancellation_manager=None):
    results = private_apis.call_function(
      self._testMethodName,
      [tf.constant(3.0)],
      num_results=2,
      attributes=private_apis.function_call_options(),
      cancellation_manager=cancellation_manager,
    )
    return list(map(float, results))

  def test_remove_function(self):
    private_apis.remove_function('test_remove_function')
    with self.assertRaisesRegex(tf.errors.NotFoundError, 'remove_function'):
      self._call()

  def test_cancellation(self):
    manager = private_apis.CancellationManager()
    self.assertEqual(self._call(manager), [4, 6])
    manager.start_cancel()
    with self.assertRaises(tf.errors.CancelledError):
      self._call(manager)

  def test_exact_functions(self):
    before = private_apis.function_call_options()
    with private_apis.exact_functions() as attributes:
      self.assertEqual(private_apis.function_call_options(), attributes)
    self.assertNotEqual(attributes, before)
    self.assertEqual(private_apis.function_call_options(), before)
    function = tf.function(
      lambda x: (0.0 * x, x), input_signature=[_SCALAR]
    ).get_concrete_function()
    results = private_apis.call_function(
      function.name.decode(),
      [tf.constant(np.nan)],
      num_results=2,
      attributes=attributes,
      cancellation_manager=None,
    )
    np.testing.assert_array_equal(results, [np.nan, np.nan])

  def test_start_runtime_leaves_options_as_they_are(self):
    before = tf.config.optimizer.get_experimental_options()
    private_apis.start_runtime()
    self.assertEqual(tf.config.optimizer.get_experimental_options(), before)

  def test_function_executor_type(self):
    name = 'SINGLE_THREADED_EXECUTOR'
    with private_apis.function_executor_type(name):
      self.assertIn(name, private_apis.function_call_options())
      self.assertEqual(self._call(), [4, 6])
    self.assertNotIn(name, private_apis.function_call_options())


class ShareMemoryTest(parameterized.TestCase):
  @parameterized.parameters(
    np.float32, np.float64, np.int32, np.int64, np.uint8, np.bool_, np.float16
  )
  def test_holds_the_array(self, dtype):
    array = np.arange(12).reshape(3, 4).astype(dtype)
    tensor = private_apis.share_memory(array)
    self.assertEqual(tensor.dtype, tf.as_dtype(dtype))
    np.testing.assert_array_equal(tensor.numpy(), array)

  def test_strings(self):
    array = np.array([b'a', b'', b'nul\0'], object)
    tensor = private_apis.share_memory(array)
    self.assertEqual(tensor.dtype, tf.string)
    self.assertEqual(list(tensor.numpy()), [b'a', b'', b'nul\0'])

  def test_the_memory_lives_as_long_as_the_tensor(self):
    tensors = [
      private_apis.share_memory(np.full([1000, 100], i, np.float32))
      for i in range(20)
    ]
    for i, tensor in enumerate(tensors):
      self.assertEqual(float(tf.reduce_sum(tensor)), i * 100_000.0)

  def test_views_that_are_not_contiguous_and_empty_and_scalar(self):
    array = np.arange(20.0).reshape(4, 5)[::2, 1:4]
    np.testing.assert_array_equal(
      private_apis.share_memory(array).numpy(), [[1, 2, 3], [11, 12, 13]]
    )
    self.assertEqual(private_apis.share_memory(np.zeros([0, 3])).shape, [0, 3])
    self.assertEqual(private_apis.share_memory(np.array(7)).numpy(), 7)


class PipelinesTest(parameterized.TestCase):
  @parameterized.named_parameters(
    (
      'batch',
      lambda: _RANGE(9).batch(4, True),
      '_BatchDataset',
      dict(batch_size=4, drop_remainder=True),
    ),
    (
      'parallel_batch',
      lambda: _RANGE(9).batch(4, num_parallel_calls=2, deterministic=False),
      '_ParallelBatchDataset',
      dict(deterministic='false'),
    ),
    (
      'parallel_map',
      lambda: _RANGE(9).map(
        lambda x: x, num_parallel_calls=2, deterministic=False
      ),
      '_ParallelMapDataset',
      dict(deterministic='false'),
    ),
    ('take', lambda: _RANGE(9).take(5), '_TakeDataset', dict(count=5)),
    ('skip', lambda: _RANGE(9).skip(5), '_SkipDataset', dict(count=5)),
    ('repeat', lambda: _RANGE(9).repeat(), '_RepeatDataset', dict(count=-1)),
    ('cache', lambda: _RANGE(9).cache(), 'CacheDataset', dict(filename=b'')),
    (
      'shuffle',
      lambda: _RANGE(9).shuffle(3, 7, False),
      '_ShuffleDataset',
      dict(reshuffle_each_iteration=False),
    ),
    (
      'shuffle_by_default',
      lambda: _RANGE(9).shuffle(3),
      '_ShuffleDataset',
      dict(reshuffle_each_iteration=True),
    ),
    (
      'random',
      lambda: tf.data.Dataset.random(7, rerandomize_each_iteration=True),
      '_RandomDataset',
      dict(rerandomize=True),
    ),
    (
      'variant',
      lambda: tf.data.experimental.from_variant(
        tf.data.experimental.to_variant(_RANGE(9)), tf.TensorSpec([], tf.int64)
      ),
      '_VariantDataset',
      {},
    ),
  )
  def test_kind_and_settings(self, make, kind, settings):
    step = make()
    self.assertEqual(private_apis.step_kind(step), kind)
    found = {name: private_apis.step_setting(step, name) for name in settings}
    self.assertEqual(found, settings)

  def test_seeds(self):
    for step in (_RANGE(9).shuffle(3, 7), tf.data.Dataset.random(7)):
      seeds = [private_apis.step_setting(step, n) for n in ('seed', 'seed2')]
      self.assertEqual(seeds, list(tf.compat.v1.get_seed(7)))

  def test_kinds_that_others_know(self):
    modules = [cardinality]
    for found in pkgutil.iter_modules(ops.__path__, f'{ops.__name__}.'):
      modules.append(importlib.import_module(found.name))
    classes = {name for module in modules for name in vars(module)}
    known = {*repeatable_datasets._PLAIN_STEPS, *dataset_rows._STEPS}
    self.assertEmpty(known - classes)

  def test_inputs_functions_and_slices(self):
    rows = tf.data.Dataset.from_tensor_slices({'x': [1, 2], 'y': [3, 4]})
    self.assertEqual(private_apis.step_kind(rows), '_TensorSliceDataset')
    x, y = private_apis.slices_of(rows)
    np.testing.assert_array_equal([x, y], [[1, 2], [3, 4]])
    self.assertEmpty(private_apis.step_functions(rows))

    sums = rows.map(lambda row: row['x'] + row['y'])
    self.assertLen(private_apis.step_inputs(sums), 1)
    self.assertIs(private_apis.step_inputs(sums)[0], rows)
    (function,) = private_apis.step_functions(sums)
    self.assertContainsSubset({'AddV2'}, _operations(function))
    self.assertEmpty(function.captured_inputs)


class DefaultContextTest(absltest.TestCase):
  def test_functions_that_end_with_the_process(self):
    module = sys.modules[process_settings._ATOMIC_FUNCTION]
    self.assertTrue(callable(module.AtomicFunction.__del__))

  def test_context_that_ends_the_default_one(self):
    # A thing that private_apis cannot hold.
    module = sys.modules[process_settings._RUNTIME_ERROR_CONTEXT]
    context = module.create_runtime_error_context()
    self.assertIsInstance(context, tff.framework.SyncContext)
    self.assertTrue(private_apis.is_no_context(context))
    self.assertFalse(
      private_apis.is_no_context(tff.framework.get_context_stack().current)
    )
