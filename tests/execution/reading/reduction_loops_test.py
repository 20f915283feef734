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
    return data.reduce(
      (tf.zeros([3]), 0),
      lambda state, x: (
        state[0] + tf.reduce_sum(x, axis=0) * weight.assign_add(1.0),
        state[1] + 1,
      ),
    )

  total, count = reduce()
  return total, count, weight.read_value()


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


def _failing(data):
  return data.reduce(
    0.0, lambda total, x: total + tf.debugging.check_numerics(1 / x[0, 0], 'x')
  )


class ReductionLoopsTest(two_contexts.TestCase, parameterized.TestCase):
  @parameterized.parameters(
    (_weighted, True),
    (_nested, False),
    (_twice, False),
    (_called_twice, False),
    (_growing, True),
    (lambda data: data.take(0).reduce(3, lambda i, x: i + 1), True),
    (_failing, True),
    (_drawn, False),
  )
  def test_same_results_as_of_reductions(self, fn, is_replaced):
    comp = tff.tensorflow.computation(
      fn, tff.SequenceType(tff.TensorType(np.float32, [None, 3]))
    )
    graph_def = tf.compat.v1.GraphDef()
    proto = tff.framework.serialize_computation(comp).tensorflow
    proto.graph_def.Unpack(graph_def)
    reduction_loops.replace(graph_def)
    remaining = {node.op for node in graph_functions.nodes(graph_def)}
    self.assertEqual('ReduceDataset' not in remaining, is_replaced)
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


if __name__ == '__main__':
  absltest.main()
