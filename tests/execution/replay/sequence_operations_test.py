# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for sequence_operations: against tf.data, on the same graph."""

from fedfish_tff.execution.packing import packed_sequences
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
  @parameterized.parameters(
    (0, 5, 1), (2, 9, 3), (2, 8, 3), (5, 0, -2), (6, 0, -2), (3, 3, 1),
    (4, 1, 1), (1, 4, -1),
  )  # fmt: skip
  def test_range(self, start, stop, step):
    def change(dataset):
      numbers = tf.data.Dataset.range(start, stop, step, output_type=tf.int32)
      return numbers.map(lambda i: tf.cast(i, tf.int64)).concatenate(dataset)

    dataset_replays.assert_elements(change, range(2))

  @parameterized.parameters(0, 1, 4)
  def test_tensors_and_slices(self, size):
    def change(dataset):
      total = dataset.reduce(tf.constant(0, tf.int64), lambda n, i: n + i)
      numbers = total + tf.range(total % 5)
      slices = tf.data.Dataset.from_tensor_slices(numbers)
      pairs = tf.data.Dataset.from_tensor_slices(
        {'b': tf.range(3) + 1, 'a': tf.stack([total, total, total])}
      )
      return slices.concatenate(
        tf.data.Dataset.from_tensors(total)
      ).concatenate(pairs.map(lambda p: p['a'] * tf.cast(p['b'], tf.int64)))

    dataset_replays.assert_elements(change, range(size))

  def test_zip_and_enumerate(self):
    dataset_replays.assert_elements(
      lambda dataset: tf.data.Dataset.zip(
        (dataset.enumerate(start=7), {'b': dataset.skip(1), 'a': dataset})
      ),
      range(10, 15),
    )

  def test_concatenate(self):
    dataset_replays.assert_elements(
      lambda dataset: (
        dataset.concatenate(dataset.skip(2))
        .concatenate(dataset.take(0))
        .repeat(2)
      ),
      range(4),
    )

  @parameterized.parameters(0, 3)
  def test_concatenate_without_end(self, size):
    dataset_replays.assert_elements(
      lambda dataset: (
        dataset.concatenate(dataset.repeat())
        .concatenate(dataset.repeat())
        .repeat(2)
        .skip(2)
        .take(8)
      ),
      range(size),
    )

  @parameterized.parameters(0, 1, 9)
  def test_filter(self, size):
    """As federated reconstruction halves a client's batches."""

    def change(dataset):
      odd = (
        dataset.enumerate()
        .filter(lambda i, _: i % 2 > 0)
        .map(lambda _, element: element)
      )
      return odd.repeat(3).take(10)

    dataset_replays.assert_elements(change, range(size))

  @parameterized.parameters(
    (0, False, None), (3, True, 2), (6, False, 2), (7, True, None), (7, False, 2)
  )  # fmt: skip
  def test_batch(self, size, drop_remainder, calls):
    dataset_replays.assert_elements(
      lambda dataset: (
        dataset.map(lambda i: (i, [2 * i, 3 * i]))
        .batch(3, drop_remainder=drop_remainder, num_parallel_calls=calls)
        .repeat(2)
      ),
      range(size),
    )

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
    packed = packed_sequences.concatenate_sequences(
      [sequence_packing.pack_sequence(own, element_type) for own in clients]
    )
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

  @parameterized.parameters((0, 5, True), (13, 5, False), (13, 20, True))
  def test_shuffle(self, size, buffer, reshuffles):
    def shuffle(dataset, seed):
      return dataset.shuffle(
        buffer, seed=seed, reshuffle_each_iteration=reshuffles
      )

    for change in (
      lambda dataset: shuffle(dataset, 3),
      lambda dataset: shuffle(dataset.skip(1).batch(2, True), 4).skip(1),
      lambda dataset: shuffle(dataset, 5).take(4).map(lambda i: 2 * i).batch(3),
      lambda dataset: shuffle(dataset, 6).repeat(1),
      lambda dataset: tf.data.Dataset.zip(
        (shuffle(dataset, 8), shuffle(dataset, 8), shuffle(dataset, 9))
      ),
    ):
      dataset_replays.assert_elements(change, range(size))

  def test_batches_of_batches(self):
    dataset_replays.assert_elements(
      lambda dataset: dataset.batch(2, drop_remainder=True).batch(2), range(7)
    )

  @parameterized.parameters(True, False)
  def test_batches_of_what_does_not_end(self, drop_remainder):
    for size in (1, 2, 4):
      dataset_replays.assert_elements(
        lambda dataset, size=size: (
          dataset.map(lambda i: i + 1)
          .repeat()
          .batch(size, drop_remainder)
          .take(3)
        ),
        range(3),
      )


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
