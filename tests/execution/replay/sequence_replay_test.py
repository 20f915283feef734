# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for sequence_replay: against tf.data, on the same graph."""

from fedfish_tff.execution.replay import replayer
from fedfish_tff.execution.replay import sequence_replay
from tests.execution import dataset_replays

from absl.testing import absltest
from absl.testing import parameterized
import hypothesis
from hypothesis import strategies as st
import tensorflow as tf

_SMALL = st.integers(-1, 7)
# What a dataset goes through, one after the other, each with its number.
_OPERATIONS = st.lists(
  st.tuples(st.sampled_from(['skip', 'take', 'repeat']), _SMALL), max_size=4
)


class OperationsTest(parameterized.TestCase):
  @hypothesis.given(_OPERATIONS, st.integers(0, 6))
  @hypothesis.settings(max_examples=20, deadline=None)
  def test_take_skip_and_repeat(self, operations, size):
    def change(dataset):
      for name, number in operations:
        dataset = getattr(dataset, name)(number)
      return dataset.take(30)  # Those without end end here.

    dataset_replays.assert_elements(change, range(size))

  def test_more_repeats_than_can_be_counted(self):
    dataset_replays.assert_elements(
      lambda dataset: dataset.repeat(2**62).skip(5).take(4), range(3)
    )

  @parameterized.parameters(None, 2)
  def test_map(self, num_parallel_calls):

    def change(dataset):
      offset = tf.constant(10, tf.int64)
      dataset = dataset.map(
        lambda i: i * i + offset, num_parallel_calls=num_parallel_calls
      )
      return dataset.repeat(2).map(lambda i: (i - 1, tf.strings.as_string(i)))

    dataset_replays.assert_elements(change, range(4))

  def test_a_negative_skip_of_what_does_not_end(self):
    dataset_replays.assert_elements(
      lambda dataset: dataset.map(lambda i: i + 1).repeat().skip(-1), range(3)
    )

  def test_what_does_not_change_elements(self):
    options = tf.data.Options()
    options.deterministic = True
    dataset_replays.assert_elements(
      lambda dataset: dataset.prefetch(2).with_options(options), range(3)
    )


class ReduceTest(parameterized.TestCase):
  @parameterized.parameters(0, 1, 5, 13)
  def test_in_order(self, size):
    def build(dataset):
      return dataset.reduce(
        ('', tf.constant(0, tf.int64)),
        lambda state, i: (
          tf.strings.join([state[0], tf.strings.as_string(i), ',']),
          state[1] + i * i,
        ),
      )

    text, squares = dataset_replays.assert_same(build, range(size))
    self.assertEqual(text, ''.join(f'{i},' for i in range(size)).encode())
    self.assertEqual(squares, sum(i * i for i in range(size)))

  def test_several_passes(self):
    def build(dataset):
      total = dataset.reduce(tf.constant(0, tf.int64), lambda a, i: a + i)
      count = dataset.repeat(3).reduce(0, lambda n, _: n + 1)
      # What the second pass does depends on the first.
      return (
        total,
        count,
        dataset.reduce(
          tf.constant(1, tf.int64), lambda a, i: (a * (i + total)) % 1009
        ),
      )

    total, count, _ = dataset_replays.assert_same(build, range(1, 6))
    self.assertEqual((total, count), (15, 15))

  def test_a_pass_for_every_element(self):
    def build(dataset):
      return dataset.reduce(
        tf.constant(0, tf.int64),
        lambda total, i: (
          total
          + dataset.reduce(tf.constant(0, tf.int64), lambda a, j: a + i * j)
        ),
      )

    self.assertEqual(dataset_replays.assert_same(build, range(4)), [36])

  def test_passes_in_a_loop_and_in_a_branch(self):
    @tf.function
    def build(dataset):
      total = tf.constant(0, tf.int64)
      for epoch in tf.range(3):
        if tf.equal(epoch, 1):
          total += dataset.reduce(tf.constant(1, tf.int64), lambda a, i: a * i)
        else:
          total += dataset.reduce(tf.constant(0, tf.int64), lambda a, i: a + i)
      return total

    self.assertEqual(dataset_replays.assert_same(build, [2, 3, 4]), [42])

  def test_state_of_changing_shape(self):
    def build(dataset):
      return dataset.reduce(
        tf.zeros([0], tf.int64), lambda kept, i: tf.concat([kept, [i]], axis=0)
      )

    kept, *_ = dataset_replays.assert_same(
      lambda dataset: build(dataset.take(3)), range(5)
    )
    self.assertEqual(list(kept), [0, 1, 2])

  def test_variables(self):
    def build(dataset):
      total, seen = tf.Variable(0, dtype=tf.int64), tf.Variable(0)

      @tf.function
      def run():
        def add(n, i):
          total.assign_add(i * n)
          if i > 2:
            seen.assign_add(1)
          return n + 1

        n = dataset.reduce(tf.constant(1, tf.int64), add)
        again = dataset.reduce(n, add)
        return n, again, total.read_value(), seen.read_value()

      return run()

    self.assertEqual(
      dataset_replays.assert_same(build, range(5)), [6, 11, 130, 4]
    )


class CheckTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.node = tf.compat.v1.NodeDef(op='SomeDataset')

  def test_sequences(self):
    sequence = sequence_replay.Sequence(tf.constant(2, tf.int64), lambda i: [i])
    self.assertIs(sequence_replay.check_sequence(self.node, sequence), sequence)

  def test_others(self):
    with self.assertRaisesRegex(
      replayer.NotReplayableError,
      'SomeDataset of a dataset that the graph makes itself',
    ):
      sequence_replay.check_sequence(self.node, tf.constant(1))


def _number(text):
  return tf.strings.to_number(text, tf.int64)


def _fail_at(number):
  """A map that fails at one element, and whose result may be left out."""
  return lambda i: _number(
    tf.where(tf.equal(i, number), 'none', tf.strings.as_string(i))
  )


def _count(dataset):
  return dataset.reduce(tf.constant(0, tf.int64), lambda n, *_: n + 1)


class FailuresTest(parameterized.TestCase):
  """An element that nobody reads may fail, as in tf.data."""

  @parameterized.named_parameters(
    ('is_counted', lambda d: _count(d.map(_fail_at(2)))),
    ('is_skipped', lambda d: _count(d.map(_fail_at(2)).skip(3))),
    ('is_mapped', lambda d: _count(d.map(_fail_at(2)).map(lambda i: 1))),
    (
      'is_a_part',
      lambda d: d.map(lambda i: (i, _fail_at(2)(i))).reduce(
        tf.constant(0, tf.int64), lambda n, pair: n + pair[0]
      ),
    ),
    (
      'is_filtered',
      lambda d: _count(d.map(_fail_at(2)).filter(lambda i: True)),
    ),
    (
      'is_a_remainder',
      lambda d: _count(d.map(_fail_at(4)).batch(2, drop_remainder=True)),
    ),
    (
      'shows_the_end',
      lambda d: _count(tf.data.Dataset.zip((d.map(_fail_at(4)), d.take(4)))),
    ),
  )
  def test_fails(self, build):
    with self.assertRaises(tf.errors.InvalidArgumentError):
      dataset_replays.assert_same(build, range(5))

  def test_what_is_not_reached_does_not_fail(self):
    def build(dataset):
      mapped = dataset.map(_fail_at(4))
      return (
        _count(mapped.take(4)),
        _count(mapped.take(2).concatenate(mapped.take(1))),
        _count(tf.data.Dataset.zip((mapped, dataset.take(2)))),
      )

    dataset_replays.assert_same(build, range(5))


class NotReplayableTest(absltest.TestCase):
  def test_datasets_of_the_graph(self):
    with self.assertRaisesRegex(
      replayer.NotReplayableError, 'CacheDataset.* of a dataset'
    ):
      dataset_replays.assert_same(
        lambda dataset: (
          tf.data.Dataset.from_tensors(1)
          .cache()
          .reduce(0, lambda a, b: a + b)
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
