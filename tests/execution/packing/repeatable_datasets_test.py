# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Datasets that are repeatable, and those that draw or keep anything."""

from fedfish_tff.execution.packing import repeatable_datasets

from absl.testing import parameterized
import numpy as np
import tensorflow as tf


def _uniform(value):
  return value + tf.random.uniform([], maxval=1000, dtype=tf.int64)


@tf.function
def _uniform_function(value):
  return _uniform(value)


def _loop(value, draw):
  return tf.while_loop(
    lambda i, _: i < 3,
    lambda i, v: (i + 1, draw(v)),
    (tf.constant(0), value),
  )[1]


def _plus_one(value):
  return value + 1


def _with_variable():
  variable = tf.Variable(1, dtype=tf.int64)
  dataset = tf.data.Dataset.range(3).map(lambda v: v + variable)
  dataset.variable = variable  # Alive as long as the dataset.
  return dataset


def _with_table():
  table = tf.lookup.StaticHashTable(
    tf.lookup.KeyValueTensorInitializer(
      tf.range(3, dtype=tf.int64), tf.range(3, dtype=tf.int64)
    ),
    -1,
  )
  dataset = tf.data.Dataset.range(3).map(table.lookup)
  dataset.table = table
  return dataset


def _unordered():
  options = tf.data.Options()
  options.deterministic = False
  return tf.data.Dataset.range(3).with_options(options)


_RANGE = tf.data.Dataset.range

_REPEATABLE = dict(
  slices=lambda: tf.data.Dataset.from_tensor_slices({'x': [1.0], 'y': ['a']}),
  batches=lambda: _RANGE(9).batch(2).repeat(2).take(4).skip(1).prefetch(1),
  parallel=lambda: (
    _RANGE(9)
    .map(_plus_one, num_parallel_calls=2)
    .batch(2, num_parallel_calls=2)
  ),
  fixed_shuffle=lambda: _RANGE(9).shuffle(
    5, seed=1, reshuffle_each_iteration=False
  ),
  fixed_unseeded_shuffle=lambda: _RANGE(9).shuffle(
    5, reshuffle_each_iteration=False
  ),
  stateless_random=lambda: _RANGE(9).map(
    lambda v: tf.random.stateless_uniform([], [1, v])
  ),
  loop=lambda: _RANGE(9).map(lambda v: _loop(v, _plus_one)),
  check=lambda: _RANGE(9).map(
    lambda v: tf.debugging.check_numerics(tf.cast(v, tf.float32), 'bad')
  ),
  nested=lambda: _RANGE(9).window(2).flat_map(lambda w: w.batch(2)),
  interleave=lambda: _RANGE(3).interleave(
    lambda v: tf.data.Dataset.from_tensors(v).repeat(2)
  ),
  filter=lambda: _RANGE(9).batch(2).unbatch().filter(lambda v: v > 3),
  padded=lambda: _RANGE(9).map(lambda v: tf.range(v)).padded_batch(3),
  zipped=lambda: tf.data.Dataset.zip(
    (_RANGE(3), _RANGE(3).concatenate(_RANGE(1)))
  ),
  cache=lambda: _RANGE(9).cache(),
)

_OTHERS = dict(
  shuffle=lambda: _RANGE(9).shuffle(5),
  seeded_shuffle=lambda: _RANGE(9).shuffle(5, seed=1).batch(2),
  shuffled_input=lambda: tf.data.Dataset.zip((_RANGE(9), _RANGE(9).shuffle(3))),
  random_map=lambda: _RANGE(9).map(_uniform),
  random_filter=lambda: _RANGE(9).filter(lambda v: _uniform(v) > 500),
  random_in_function=lambda: _RANGE(9).map(_uniform_function),
  random_in_loop=lambda: _RANGE(9).map(lambda v: _loop(v, _uniform)),
  random_in_branch=lambda: _RANGE(9).map(
    lambda v: tf.cond(v > 3, lambda: _uniform(v), lambda: v)
  ),
  random_in_nested_dataset=lambda: _RANGE(9).flat_map(
    lambda v: _RANGE(2).map(_uniform)
  ),
  shuffle_in_nested_dataset=lambda: _RANGE(2).flat_map(
    lambda v: _RANGE(9).shuffle(9)
  ),
  random_numbers=lambda: tf.data.Dataset.random().take(3),
  sampled=lambda: tf.data.Dataset.sample_from_datasets([_RANGE(5), _RANGE(5)]),
  generator=lambda: tf.data.Dataset.from_generator(
    lambda: iter([1]), output_signature=tf.TensorSpec([], tf.int32)
  ),
  python=lambda: _RANGE(9).map(
    lambda v: tf.numpy_function(lambda a: a, [v], tf.int64)
  ),
  variable=_with_variable,
  table=_with_table,
  unordered=_unordered,
  unordered_map=lambda: _RANGE(9).map(
    _plus_one, num_parallel_calls=2, deterministic=False
  ),
  unordered_interleave=lambda: _RANGE(9).interleave(
    lambda v: _RANGE(2), num_parallel_calls=2, deterministic=False
  ),
  opaque=lambda: tf.data.experimental.from_variant(
    tf.data.experimental.to_variant(_RANGE(9)), _RANGE(9).element_spec
  ),
)


class IsRepeatableTest(parameterized.TestCase):
  @parameterized.named_parameters(_REPEATABLE.items())
  def test_repeatable(self, make):
    dataset = make()
    self.assertTrue(repeatable_datasets.is_repeatable(dataset))
    self.assertTrue(repeatable_datasets.has_equal_passes(dataset))
    once, again = (
      [
        [np.asarray(t.numpy()).tolist() for t in tf.nest.flatten(e)]
        for e in dataset
      ]
      for _ in range(2)
    )
    self.assertEqual(once, again)

  @parameterized.named_parameters(_OTHERS.items())
  def test_not_repeatable(self, make):
    dataset = make()
    self.assertFalse(repeatable_datasets.is_repeatable(dataset))
    # In one call nobody changes what is only read.
    is_read = hasattr(dataset, 'variable') or hasattr(dataset, 'table')
    self.assertEqual(repeatable_datasets.has_equal_passes(dataset), is_read)

  def test_files(self):
    """They may have changed when they are read again."""
    path = self.create_tempfile(content='a\nb\n').full_path
    names = tf.data.Dataset.from_tensors(path)
    for dataset in (
      names.flat_map(tf.data.TextLineDataset),
      names.interleave(tf.data.TFRecordDataset),
    ):
      self.assertFalse(repeatable_datasets.is_repeatable(dataset.batch(2)))
    for dataset in (
      tf.data.TextLineDataset([path]),
      tf.data.TFRecordDataset([path]),
      tf.data.FixedLengthRecordDataset([path], 2),
      names.map(tf.io.read_file),
      names.map(tf.io.matching_files),
      names.cache(self.create_tempfile().full_path + '.cache'),
    ):
      self.assertFalse(repeatable_datasets.is_repeatable(dataset.batch(2)))
      self.assertTrue(repeatable_datasets.has_equal_passes(dataset.batch(2)))


class FromTheStartTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    # TensorFlow's own test cases leave a global seed behind.
    tf.random.set_seed(None)

  @parameterized.parameters(
    lambda: _RANGE(9).shuffle(5, seed=1).batch(2),
    lambda: _RANGE(9).shuffle(5, seed=1).repeat(3),
    lambda: tf.data.Dataset.zip((_RANGE(9), _RANGE(9).shuffle(9, seed=2))),
    lambda: tf.data.Dataset.random(4, rerandomize_each_iteration=True).take(5),
    lambda: _RANGE(9).shuffle(5, seed=1).cache(),
    lambda: tf.data.experimental.from_variant(
      tf.data.experimental.to_variant(_RANGE(9).shuffle(5, seed=1)),
      _RANGE(9).element_spec,
    ),
  )
  def test_readings_do_not_count(self, make):
    expected = [str(element) for element in make().as_numpy_iterator()]
    dataset = make()
    for _ in range(2):
      list(dataset)
      again = repeatable_datasets.from_the_start(dataset)
      self.assertEqual(again.element_spec, dataset.element_spec)
      self.assertEqual(
        [str(element) for element in again.as_numpy_iterator()], expected
      )

  @parameterized.parameters(
    lambda: _RANGE(9).map(_plus_one),
    lambda: _RANGE(9).shuffle(5),
    lambda: _RANGE(9).shuffle(5, seed=1, reshuffle_each_iteration=False),
    lambda: tf.data.Dataset.from_generator(
      lambda: iter([1]), output_signature=tf.TensorSpec([], tf.int32)
    ).cache(),
  )
  def test_nothing_to_begin_anew(self, make):
    dataset = make()
    self.assertIs(repeatable_datasets.from_the_start(dataset), dataset)
