# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Refusals of loops over datasets that are no loops over rows."""

from fedfish_tff.execution.replay import replayer
from tests.execution import dataset_replays

from absl.testing import parameterized
import tensorflow as tf


class NotReplayableTest(parameterized.TestCase):
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
