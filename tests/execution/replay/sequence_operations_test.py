# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for sequence_operations: against tf.data, on the same graph."""

from fedfish_tff.execution.packing import sequence_packing
from fedfish_tff.execution.replay import replayer
from fedfish_tff.execution.replay import sequence_arrays
from tests.execution import dataset_replays

from absl.testing import absltest
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
    cut, arrays = sequence_arrays.to_graph_arrays(
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
          sequence_arrays.client_sequence(cut, arrays, element_type, number)
        ],
      )
      self.assertEqual(found, [digest(dataset)])


class NotReplayableTest(absltest.TestCase):
  def test_rebatch_of_other_than_all_rows(self):
    with self.assertRaisesRegex(replayer.NotReplayableError, 'Rebatch'):
      dataset_replays.assert_elements(
        lambda dataset: dataset.batch(2).take(1).rebatch(3), range(8)
      )

  def test_batches_of_elements_of_unknown_shape(self):
    with self.assertRaisesRegex(
      replayer.NotReplayableError, 'elements of unknown shape'
    ):
      dataset_replays.assert_elements(
        lambda dataset: dataset.batch(2).batch(2), range(8)
      )

  def test_filters_of_more_than_the_data(self):
    for change in (
      lambda dataset: dataset.repeat(10**12).filter(lambda i: i > 1).take(2),
      lambda dataset: (
        tf.data.Dataset.range(10**12).filter(lambda i: i > 1).take(2)
      ),
    ):
      with self.assertRaises(replayer.NotReplayableError):
        dataset_replays.assert_elements(change, range(3))

  def test_shuffles_that_are_read_again(self):
    def in_a_loop(dataset):
      shuffled = dataset.shuffle(3, seed=1)
      return tf.while_loop(
        lambda i, _: i < 2,
        lambda i, t: (i + 1, shuffled.reduce(t, lambda t, e: 3 * t + e)),
        (0, tf.constant(0, tf.int64)),
      )

    def twice(dataset):
      shuffled = dataset.shuffle(3, seed=1)
      return [shuffled.reduce(t, lambda t, e: 3 * t + e) for t in np.arange(2)]

    def repeated(dataset):
      repeated = dataset.shuffle(3, seed=1).repeat(2)
      return repeated.reduce(np.int64(0), lambda t, e: 3 * t + e)

    for build in (in_a_loop, twice, repeated):
      with self.assertRaisesRegex(replayer.NotReplayableError, 'read again'):
        dataset_replays.assert_same(build, range(5))

  def test_shuffles_of_other_than_rows(self):
    for change in (
      lambda dataset: dataset.repeat(2).shuffle(3, seed=1),
      lambda dataset: dataset.map(lambda i: 2 * i).shuffle(3, seed=1),
      lambda dataset: dataset.shuffle(3, seed=1).shuffle(3, seed=2),
    ):
      with self.assertRaisesRegex(
        replayer.NotReplayableError, 'other than rows'
      ):
        dataset_replays.assert_elements(change, range(5))

  def test_filters_that_read_variables(self):
    def build(dataset):
      limit = tf.Variable(2, dtype=tf.int64)
      return dataset.filter(lambda i: i < limit).reduce(0, lambda n, _: n + 1)

    with self.assertRaisesRegex(
      replayer.NotReplayableError, 'reads a variable'
    ):
      dataset_replays.assert_same(build, range(3))

  def test_datasets_of_the_graph(self):
    with self.assertRaisesRegex(
      replayer.NotReplayableError, 'ShardDataset of a dataset'
    ):
      dataset_replays.assert_elements(
        lambda dataset: dataset.concatenate(
          tf.data.Dataset.from_tensors(tf.constant(1, tf.int64)).shard(2, 0)
        ),
        range(3),
      )

  def test_slices_of_unknown_lengths(self):
    def build(dataset):
      x = dataset.reduce(tf.constant([0], tf.int64), lambda x, i: x + i)
      y = tf.boolean_mask(x, x > 0)
      slices = tf.data.Dataset.from_tensor_slices
      return slices((x, y)).reduce(0, lambda n, _: n + 1)

    with self.assertRaisesRegex(replayer.NotReplayableError, 'unknown lengths'):
      dataset_replays.assert_same(build, range(3))
