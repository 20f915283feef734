# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for sequence_replay: against tf.data, on the same graph."""

from fedfish_tff.execution.replay import replayer
from tests.execution import dataset_replays

from absl.testing import parameterized
import tensorflow as tf


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
