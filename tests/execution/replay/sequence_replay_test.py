# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for sequence_replay: against tf.data, on the same graph."""

from fedfish_tff.execution.replay import replayer
from tests.execution import dataset_replays

from absl.testing import absltest
import tensorflow as tf


class NotReplayableTest(absltest.TestCase):
  def test_datasets_of_the_graph(self):
    with self.assertRaisesRegex(
      replayer.NotReplayableError, 'CacheDataset.* of a dataset'
    ):
      dataset_replays.assert_same(
        lambda dataset: (
          tf.data.Dataset.from_tensors(1).cache().reduce(0, lambda a, b: a + b)
        ),
        range(2),
      )

  def test_datasets_in_other_hands(self):
    for change in (
      lambda dataset: dataset.cache(),
      lambda dataset: dataset.interleave(tf.data.Dataset.range),
      lambda dataset: dataset.flat_map(tf.data.Dataset.range),
    ):
      with self.assertRaises(replayer.NotReplayableError):
        dataset_replays.assert_elements(change, range(3))

  def test_maps_that_read_variables(self):
    def build(dataset):
      factor = tf.Variable(2, dtype=tf.int64)
      return dataset.map(lambda i: factor * i).reduce(
        tf.constant(0, tf.int64), lambda a, b: a + b
      )

    with self.assertRaisesRegex(
      replayer.NotReplayableError, 'reads a variable'
    ):
      dataset_replays.assert_same(build, range(3))
