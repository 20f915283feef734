# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for iterator_replay: against tf.data, on the same graph."""

from fedfish_tff.execution.replay import replayer
from tests.execution import dataset_replays

from absl.testing import absltest
from absl.testing import parameterized
import tensorflow as tf


class IteratorsTest(parameterized.TestCase):
  @parameterized.parameters(0, 1, 5)
  def test_loop(self, size):
    @tf.function
    def build(dataset):
      total, text = tf.constant(0, tf.int64), ''
      for i in iter(dataset):
        total += i * i
        text = tf.strings.join([text, tf.strings.as_string(i)])
      return total, text

    total, text = dataset_replays.assert_same(build, range(size))
    self.assertEqual(total, sum(i * i for i in range(size)))
    self.assertEqual(text, ''.join(map(str, range(size))).encode())

  def test_a_loop_that_ends_early(self):
    @tf.function
    def build(dataset):
      total = tf.constant(0, tf.int64)
      for i in iter(dataset):
        if i > 3:
          break
        total += i
      return total

    self.assertEqual(dataset_replays.assert_same(build, range(9)), [6])

  def test_one_iterator_in_two_loops(self):
    @tf.function
    def build(dataset):
      first, second = tf.constant(0, tf.int64), tf.constant(0, tf.int64)
      iterator = iter(dataset)
      for i in iterator:
        first += i
        if i > 3:
          break
      for i in iterator:
        second += i
      return first, second

    self.assertEqual(dataset_replays.assert_same(build, range(7)), [10, 11])

  def test_gradients_of_branches(self):
    """They take what a branch has computed by optionals of their own."""

    def slope(x):
      with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.cond(x > 2, lambda: tf.sin(x) ** 2, lambda: tf.exp(x))
        y += tf.switch_case(
          tf.cast(x, tf.int32) % 2, [lambda: tf.cos(x), lambda: x**3]
        )
      return tape.gradient(y, x)

    @tf.function
    def build(dataset):
      total = 0.0
      for i in iter(dataset):
        total += slope(tf.cast(i, tf.float32))
      return total

    dataset_replays.assert_same(build, range(5))

  def test_a_new_iterator_every_time(self):
    @tf.function
    def build(dataset):
      total = tf.constant(0, tf.int64)
      for epoch in tf.range(3):
        for i in iter(dataset):
          for j in iter(dataset.skip(1)):
            total += i * j * tf.cast(epoch, tf.int64)
      return total

    self.assertEqual(dataset_replays.assert_same(build, range(4)), [108])

  def test_variables_of_the_loop(self):
    def build(dataset):
      seen = tf.Variable(0)

      @tf.function
      def run():
        for i in iter(dataset):
          if i > 1:
            seen.assign_add(1)
        return seen.read_value()

      return run()

    self.assertEqual(dataset_replays.assert_same(build, range(5)), [3])


class NotReplayableTest(absltest.TestCase):
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
