# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of replayed steps, sequences and control flow."""

from fedfish_tff.execution.replay import exact_replay
from fedfish_tff.execution.replay import replayer
from tests.execution import dataset_replays
from tests.execution import graph_replays

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf


def _gradient(function, x):
  return tf.gradients(function(x), x)[0]


class ExactReplayTest(absltest.TestCase):
  def test_values_at_kinks(self):
    def build(x):
      return [
        _gradient(lambda x: tf.sqrt(x) * 0, x),
        _gradient(lambda x: tf.math.rsqrt(x) * 0, x),
        _gradient(tf.nn.selu, x),
        *tf.math.top_k(tf.concat([x, -x], 1), 3),
      ]

    graph = graph_replays.ReplayedGraph(build, tf.TensorSpec([3, 2]))
    values = np.float32([[0, 0], [-0.0, 0], [1, 2]])
    expected = graph.run_in_session(values)
    found = graph.replay(values, handlers=exact_replay.HANDLERS, use_xla=True)
    for a, b in zip(found, expected, strict=True):
      np.testing.assert_allclose(a, b, rtol=1e-5)


_INT = tf.TensorSpec([], tf.int32)


class VariablesTest(parameterized.TestCase):
  def test_variables_that_are_assigned_by_other_names(self):
    def build(times):
      a = tf.Variable(1.0)

      @tf.function
      def run(times):
        for _ in tf.range(times):
          handle, x = tf.raw_ops.IdentityN(input=[a.handle, 2.0])
          tf.raw_ops.AssignAddVariableOp(resource=handle, value=x)
        return a.read_value()

      return run(times)

    with self.assertRaisesRegex(
      replayer.NotReplayableError, 'a loop or branch assigns'
    ):
      graph_replays.ReplayedGraph(build, _INT).replay(np.int32(3))


def _mapped_by_a_variable(dataset):
  factor = tf.Variable(2, dtype=tf.int64)
  return dataset.map(lambda i: factor * i)


class NotReplayableTest(parameterized.TestCase):
  @parameterized.parameters(
    ('CacheDataset.* of a dataset', lambda d: d.cache()),
    ('Dataset of', lambda d: d.interleave(tf.data.Dataset.range)),
    ('Dataset of', lambda d: d.flat_map(tf.data.Dataset.range)),
    ('reads a variable', _mapped_by_a_variable),
  )
  def test_datasets(self, reason, change):
    with self.assertRaisesRegex(replayer.NotReplayableError, reason):
      dataset_replays.assert_elements(change, range(3))

  def test_datasets_of_the_graph(self):
    with self.assertRaisesRegex(
      replayer.NotReplayableError, 'CacheDataset.* of a dataset'
    ):
      dataset_replays.assert_same(
        lambda _: (
          tf.data.Dataset.from_tensors(1).cache().reduce(0, lambda a, b: a + b)
        ),
        range(2),
      )


class NotReplayableLoopsTest(parameterized.TestCase):
  def test_next(self):
    """It raises an error at the end, which a graph here would not."""
    with self.assertRaisesRegex(
      replayer.NotReplayableError, 'IteratorGetNext of a variable'
    ):
      dataset_replays.assert_same(
        tf.function(lambda dataset: next(iter(dataset))), range(3)
      )

  def test_a_mapped_element_that_is_not_read(self):
    @tf.function
    def count(dataset):
      number = tf.constant(0)
      for _ in iter(dataset.map(lambda i: 10 // i)):
        number += 1
      return number

    with self.assertRaises(replayer.NotReplayableError):
      dataset_replays.assert_same(count, range(3))

  def test_a_random_element_that_is_read_twice(self):
    @tf.function
    def build(dataset):
      draws = dataset.map(lambda _: tf.random.uniform([]))
      element = iter(draws).get_next_as_optional()
      return element.get_value() - element.get_value()

    with self.assertRaisesRegex(
      replayer.NotReplayableError, 'one random element'
    ):
      dataset_replays.assert_same(build, range(3))

  def test_datasets_of_the_graph(self):
    @tf.function
    def build(dataset):
      n = 0
      for _ in iter(dataset.cache()):
        n += 1
      return n

    with self.assertRaises(replayer.NotReplayableError):
      dataset_replays.assert_same(build, range(3))

  @parameterized.parameters(
    lambda ds: ds.take_while(lambda i: i < 2).scan(
      tf.constant(0, tf.int64), lambda s, i: (s, i)
    ),
    lambda ds: ds.scan(tf.constant(0, tf.int64), lambda s, i: (s, i)).skip(1),
  )
  def test_what_is_not_one_after_another(self, change):
    with self.assertRaises(replayer.NotReplayableError):
      dataset_replays.assert_elements(change, range(3))
