# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for scan_replay: against tf.data, on the same graph."""

from fedfish_tff.execution.replay import replayer
from tests.execution import dataset_replays

from absl.testing import parameterized
import tensorflow as tf


class LoopsTest(parameterized.TestCase):
  # With and without steps of ten elements at a time.
  @parameterized.parameters(0, 1, 5, 23)
  def test_a_loop(self, size):
    @tf.function
    def build(dataset):
      total, text = tf.constant(0, tf.int64), ''
      for i in dataset:
        total += i * i
        text = tf.strings.join([text, tf.strings.as_string(i)])
      return total, text

    total, text = dataset_replays.assert_same(build, range(size))
    self.assertEqual(total, sum(i * i for i in range(size)))
    self.assertEqual(text, ''.join(map(str, range(size))).encode())

  @parameterized.parameters(0, 3, 9)
  def test_a_loop_that_ends_early(self, size):
    @tf.function
    def build(dataset):
      total = tf.constant(0, tf.int64)
      for n, i in dataset.enumerate(1):
        if i > 3:
          break
        if tf.equal(i, 1):
          continue
        total += i * n
      return total

    expected = sum(i * (i + 1) for i in range(min(size, 4)) if i != 1)
    self.assertEqual(
      dataset_replays.assert_same(build, range(size)), [expected]
    )

  def test_loops_in_loops(self):
    @tf.function
    def build(dataset):
      total = tf.constant(0, tf.int64)
      for epoch in tf.range(3):
        for i in dataset:
          for j in dataset.skip(1):
            if j > 2:
              break
            total += i * j * tf.cast(epoch, tf.int64)
      return total

    self.assertEqual(dataset_replays.assert_same(build, range(4)), [54])

  def test_variables_of_the_loop(self):
    def build(dataset):
      seen, last = tf.Variable(0), tf.Variable(tf.zeros([], tf.int64))

      @tf.function
      def run():
        for i in dataset:
          last.assign(i + last)
          if i > 1:
            seen.assign_add(1)
        return seen.read_value(), last.read_value()

      return run()

    self.assertEqual(dataset_replays.assert_same(build, range(15)), [13, 105])

  def test_a_variable_that_a_loop_writes_until_it_stops(self):
    def build(dataset):
      seen = tf.Variable(0)

      @tf.function
      def run():
        for _ in dataset:
          if seen > 2:
            break
          seen.assign_add(1)
        return seen.read_value()

      return run()

    self.assertEqual(dataset_replays.assert_same(build, range(9)), [3])

  def test_a_state_that_grows(self):
    @tf.function
    def build(dataset):
      rows = tf.zeros([0], tf.int64)
      for i in dataset:
        tf.autograph.experimental.set_loop_options(
          shape_invariants=[(rows, tf.TensorShape([None]))]
        )
        rows = tf.concat([rows, [i]], axis=0)
      return rows

    (rows,) = dataset_replays.assert_same(build, range(12))
    self.assertEqual(rows.tolist(), list(range(12)))


class ScansTest(parameterized.TestCase):
  @parameterized.parameters(
    lambda ds: ds.scan(
      tf.constant(0, tf.int64), lambda s, i: (s + i, (i, s * i))
    ),
    lambda ds: ds.map(lambda i: i + 1).take_while(lambda i: i < 7),
    lambda ds: ds.scan(
      tf.constant(1, tf.int64), lambda s, i: (s * 2, s + i)
    ).scan(tf.constant(0, tf.int64), lambda s, i: (s + 1, (s, i))),
    lambda ds: ds.scan(
      tf.constant(1, tf.int64), lambda s, i: (s * 2, s)
    ).take_while(lambda s: s < 50),
    # It is never true again.
    lambda ds: ds.take_while(lambda i: i % 5 < 3),
  )
  def test_elements(self, change):
    for size in (0, 4, 12):
      dataset_replays.assert_elements(change, range(size))

  def test_a_dataset_is_scanned_anew_in_each_pass(self):
    @tf.function
    def build(dataset):
      sums = dataset.scan(tf.constant(0, tf.int64), lambda s, i: (s + i, s + i))
      zero = tf.constant(0, tf.int64)
      return sums.reduce(zero, tf.add) + sums.reduce(zero, tf.maximum)

    self.assertEqual(dataset_replays.assert_same(build, range(4)), [10 + 6])

  @parameterized.parameters(
    lambda ds: ds.take_while(lambda i: i < 2).scan(
      tf.constant(0, tf.int64), lambda s, i: (s, i)
    ),
    lambda ds: ds.scan(tf.constant(0, tf.int64), lambda s, i: (s, i)).skip(1),
  )
  def test_what_is_not_one_after_another(self, change):
    with self.assertRaises(replayer.NotReplayableError):
      dataset_replays.assert_elements(change, range(3))
