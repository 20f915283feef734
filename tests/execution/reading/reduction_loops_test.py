# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for reduction_loops."""

from fedfish_tff import graph_functions
from fedfish_tff.execution.reading import reduction_loops
from tests.execution import two_contexts

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_ROWS = np.arange(21, dtype=np.float32).reshape(7, 3)


def _weighted(data):
  """A function's reduction, with two results and a variable."""
  weight = tf.Variable(1.0)

  @tf.function
  def reduce():
    total, count = data.reduce(
      (tf.zeros([3]), 0),
      lambda state, x: (
        state[0] + tf.reduce_sum(x, axis=0) * weight.assign_add(1.0),
        state[1] + 1,
      ),
    )
    # Outside of the function, it could be read before or between the batches.
    return total, count, weight.read_value()

  return reduce()


def _nested(data):
  return data.reduce(
    0.0,
    lambda total, x: (
      total
      + tf.data.Dataset.from_tensor_slices(x).reduce(
        1.0, lambda t, row: t + tf.reduce_sum(row)
      )
    ),
  )


def _twice(data):
  """Reads a cache, and a shuffle that goes on."""
  data = data.shuffle(7, seed=3)
  return [
    d.reduce(tf.zeros([0, 3]), lambda rows, x: tf.concat([rows, x], 0))
    for d in (data, data, data.cache())
  ]


def _called_twice(data):
  """Reads a shuffle that goes on, in a function."""
  data = data.shuffle(7, seed=3)
  rows = tf.function(lambda: _growing(data))
  return rows(), rows()


def _growing(data):
  return data.reduce(tf.zeros([0, 3]), lambda rows, x: tf.concat([rows, x], 0))


def _drawn(data):
  """Draws by a seed, anew at each reduction."""
  return data.reduce(
    0.0, lambda total, x: total + tf.random.uniform([], seed=5)
  )


def _in_order(data):
  """Three reductions, one of them in a function, and a table."""
  table = tf.lookup.StaticHashTable(
    tf.lookup.KeyValueTensorInitializer([1, 2], [3.0, 4.0]), 0.5
  )
  rows = tf.function(lambda: _growing(data.skip(1)))()
  with tf.control_dependencies([rows]):
    total = data.reduce(
      0.0, lambda total, x: 2 * total + table.lookup(tf.shape(x)[0])
    )
  with tf.control_dependencies([total]):
    return rows, total, _growing(data.repeat(2))


def _epochs(data):
  @tf.function
  def run():
    total = tf.zeros([3])
    for n in tf.range(3):
      for x in data:
        total += tf.reduce_sum(x, axis=0) * tf.cast(n, tf.float32)
    return total

  return run()


def _inside_of_a_dataset(data):
  return (
    tf.data.Dataset.range(2)
    .map(lambda n: data.reduce(n, lambda total, _: 2 * total + 1))
    .reduce(np.int64(0), lambda total, n: total + n)
  )


def _failing(data):
  return data.reduce(
    0.0, lambda total, x: total + tf.debugging.check_numerics(1 / x[0, 0], 'x')
  )


class ReductionLoopsTest(two_contexts.TestCase, parameterized.TestCase):
  @parameterized.parameters(
    (_weighted, True, True),
    (_nested, False, False),
    (_twice, False, False),
    (_called_twice, False, False),
    (_growing, True, True),
    (_in_order, False, True),
    (_epochs, False, False),
    (_inside_of_a_dataset, False, False),
    (lambda data: data.take(0).reduce(3, lambda i, x: i + 1), True, True),
    (_failing, True, True),
    (_drawn, False, False),
  )
  def test_same_results_as_of_reductions(
    self, fn, is_replaced, is_if_repeatable
  ):
    comp = tff.tensorflow.computation(
      fn, tff.SequenceType(tff.TensorType(np.float32, [None, 3]))
    )
    proto = tff.framework.serialize_computation(comp).tensorflow
    for are_repeatable, expected in (
      (False, is_replaced),
      (True, is_if_repeatable),
    ):
      graph_def = tf.compat.v1.GraphDef()
      proto.graph_def.Unpack(graph_def)
      found = reduction_loops.replace(graph_def, are_repeatable=are_repeatable)
      remaining = {node.op for node in graph_functions.nodes(graph_def)}
      self.assertEqual(found, expected)
      self.assertEqual('ReduceDataset' not in remaining, expected)
    data = tf.data.Dataset.from_tensor_slices(_ROWS).batch(2)
    if fn is _failing:
      for run in (self.here, self.there):
        with self.assertRaisesRegex(Exception, 'x : Tensor had Inf'):
          run(comp, data)
      return
    expected = tf.nest.flatten(self.there(comp, data))
    for _ in range(2):
      found = tf.nest.flatten(self.here(comp, data))
      for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)

  def test_the_form_is_of_the_data_of_a_call(self):
    """A shuffle goes on from reduction to reduction."""
    comp = tff.tensorflow.computation(
      _in_order, tff.SequenceType(tff.TensorType(np.float32, [None, 3]))
    )
    rows = tf.data.Dataset.from_tensor_slices(_ROWS)
    for data in (rows, rows.shuffle(7, seed=3), rows.shuffle(7, seed=4), rows):
      data = data.batch(2)
      for one, other in zip(
        self.here(comp, data), self.there(comp, data), strict=True
      ):
        np.testing.assert_array_equal(one, other)


if __name__ == '__main__':
  absltest.main()
