# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for sequence_operations: against tf.data, on the same graph."""

from fedfish_tff.execution.packing import sequence_packing
from fedfish_tff.execution.replay import replayer
from fedfish_tff.execution.replay import sequence_arrays
from tests.execution import dataset_replays

from absl.testing import parameterized
import hypothesis
from hypothesis import strategies as st
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff


class OperationsTest(parameterized.TestCase):
  @hypothesis.settings(max_examples=10, deadline=None)
  @hypothesis.given(
    sizes=st.lists(
      st.lists(st.integers(0, 5), max_size=4), min_size=1, max_size=3
    ),
    size=st.integers(1, 9),
    use_xla=st.booleans(),
  )
  def test_rebatch(self, sizes, size, use_xla):
    element_type = tff.TensorType(np.int32, [None])
    clients = [
      [np.arange(10 * i, 10 * i + n, dtype=np.int32) for i, n in enumerate(own)]
      for own in sizes
    ]
    packed = [
      sequence_packing.pack_sequence(own, element_type) for own in clients
    ]
    form, arrays = sequence_arrays.to_graph_arrays(
      packed, use_xla=use_xla, rebatches=True
    )
    arrays = tf.nest.map_structure(tf.constant, arrays)

    def digest(dataset):
      # Each row counts by its place in its batch.
      return dataset.rebatch(size).reduce(
        np.int32(0),
        lambda total, rows: (
          7 * total + tf.reduce_sum(rows * tf.cumsum(tf.ones_like(rows)))
        ),
      )

    for number, own in enumerate(clients):
      dataset = tf.data.Dataset.from_generator(
        lambda own=own: iter(own),
        output_signature=tf.TensorSpec([None], tf.int32),
      )
      found = dataset_replays.graph_of(digest, dataset).replay(
        number,
        handlers=dataset_replays.HANDLERS,
        use_xla=use_xla,
        feeds=lambda number: [
          sequence_arrays.client_sequence(form, arrays, element_type, number)
        ],
      )
      self.assertEqual(found, [digest(dataset)])


_RANGE = tf.data.Dataset.range


def _order(dataset, start=0):
  return dataset.reduce(tf.cast(start, tf.int64), lambda t, e: 3 * t + e)


def _shuffled_in_a_loop(dataset):
  shuffled = dataset.shuffle(3, seed=1)
  return tf.while_loop(
    lambda i, _: i < 2,
    lambda i, t: (i + 1, _order(shuffled, t)),
    (0, tf.constant(0, tf.int64)),
  )


def _shuffled_twice(dataset):
  shuffled = dataset.shuffle(3, seed=1)
  return [_order(shuffled, start) for start in np.arange(2)]


def _filtered_by_a_variable(dataset):
  limit = tf.Variable(2, dtype=tf.int64)
  return _order(dataset.filter(lambda i: i < limit))


def _slices_of_unknown_lengths(dataset):
  x = dataset.reduce(tf.constant([0], tf.int64), lambda x, i: x + i)
  slices = tf.data.Dataset.from_tensor_slices((x, tf.boolean_mask(x, x > 0)))
  return slices.reduce(0, lambda n, _: n + 1)


class NotReplayableTest(parameterized.TestCase):
  @parameterized.parameters(
    ('Rebatch', lambda d: d.batch(2).take(1).rebatch(3)),
    ('elements of unknown shape', lambda d: d.batch(2).batch(2)),
    # Far more elements than the data has.
    ('Filter', lambda d: d.repeat(10**12).filter(lambda i: i > 1).take(2)),
    ('Filter', lambda d: _RANGE(10**12).filter(lambda i: i > 1).take(2)),
    ('other than rows', lambda d: d.repeat(2).shuffle(3, seed=1)),
    ('other than rows', lambda d: d.map(lambda i: 2 * i).shuffle(3, seed=1)),
    ('other than rows', lambda d: d.shuffle(3, seed=1).shuffle(3, seed=2)),
    (
      'ShardDataset of a dataset',
      lambda d: d.concatenate(
        tf.data.Dataset.from_tensors(tf.constant(1, tf.int64)).shard(2, 0)
      ),
    ),
  )
  def test_datasets(self, reason, change):
    with self.assertRaisesRegex(replayer.NotReplayableError, reason):
      dataset_replays.assert_elements(change, range(8))

  @parameterized.parameters(
    ('read again', _shuffled_in_a_loop),
    ('read again', _shuffled_twice),
    ('read again', lambda d: _order(d.shuffle(3, seed=1).repeat(2))),
    ('reads a variable', _filtered_by_a_variable),
    ('unknown lengths', _slices_of_unknown_lengths),
  )
  def test_graphs(self, reason, build):
    with self.assertRaisesRegex(replayer.NotReplayableError, reason):
      dataset_replays.assert_same(build, range(5))
