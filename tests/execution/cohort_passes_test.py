# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Passes over datasets that each pass shuffles or draws anew, as in TFF's runtime."""

from tests.execution import client_computations
from tests.execution import two_contexts

from absl.testing import parameterized
import grpc
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_federated as tff

_leaf = tff.tensorflow.computation
_INTS = tff.SequenceType(np.int64)
_RANGE = tf.data.Dataset.range


def _text(dataset):
  return dataset.reduce(
    '', lambda text, n: tf.strings.join([text, tf.strings.as_string(n)], ' ')
  )


def _one_after_the_other(dataset):
  # Reductions that do not depend on each other run in any order, in TFF too.
  first = _text(dataset)
  with tf.control_dependencies([first]):
    return tf.strings.join([first, _text(dataset)], '|')


@tf.function
def _epochs(dataset):
  text = ''
  for _ in tf.range(3):
    for n in dataset:
      text += tf.strings.as_string(n)
    text += '|'
  return text


@tf.function
def _branches(dataset):
  first = _text(dataset)
  if tf.strings.length(first) > 5:
    first += _text(dataset)
  return first


def _repeated_and_once(dataset):
  first = _text(dataset.repeat(2).map(lambda n: 2 * n))
  with tf.control_dependencies([first]):
    second = _text(dataset.take(2))
  with tf.control_dependencies([second]):
    return tf.strings.join([first, second, _text(dataset)], '|')


# The number of passes is the same for all clients.
_FIXED_WORK = dict(
  reductions=_one_after_the_other,
  repeat=lambda d: _text(d.repeat(3)),
  enumerate=lambda d: _one_after_the_other(
    d.enumerate().map(lambda i, n: 10 * i + n)
  ),
)

_WORK = dict(
  epochs=_epochs,
  branches=_branches,
  repeat_repeat=lambda d: _text(d.map(lambda n: n + 1).repeat(2).repeat(2)),
  filter=lambda d: _one_after_the_other(d.filter(lambda n: n > 1)),
  repeat_and_take=lambda d: _text(d.repeat().take(12)),
  zip=lambda d: _text(tf.data.Dataset.zip((d, d)).map(lambda a, b: 10 * a + b)),
  concatenate=lambda d: _text(d.concatenate(d).map(lambda n: n + 1)),
  nested=lambda d: _text(
    _RANGE(2).map(lambda n: d.reduce(n, lambda a, b: 9 * a + b))
  ),
)


_at_clients = client_computations.at_clients


def _numbered(state, n):
  return 10 * state + n


_numbered = _leaf(_numbered, (np.int64, np.int64))
_double = _leaf(lambda n: 2 * n, np.int64)


def _intrinsics(dataset):
  """Two reductions of a sequence and two of what is made of it."""
  zero = _leaf(lambda: tf.constant(0, tf.int64))()
  doubled = tff.sequence_map(_double, dataset)
  return [
    tff.sequence_reduce(sequence, zero, _numbered)
    for sequence in (dataset, dataset, doubled, doubled)
  ]


def _with_random_numbers():
  return _RANGE(5).map(
    lambda n: n + tf.random.uniform([], maxval=2**60, dtype=tf.int64)
  )


def _drawn_by_a_seed(dataset):
  return dataset.map(
    lambda n: n + tf.random.uniform([], maxval=9, dtype=n.dtype, seed=3)
  )


def _resampled():
  return (
    _RANGE(500)
    .rejection_resample(
      lambda n: tf.cast(n % 2, tf.int32), [0.9, 0.1], [0.5, 0.5]
    )
    .map(lambda _, n: n)
  )


_UNSEEDED = dict(
  shuffle=lambda: _RANGE(30).shuffle(30),
  batches=lambda: _RANGE(30).shuffle(30).batch(3).unbatch(),
  shuffled_part=lambda: _RANGE(3).concatenate(_RANGE(30).shuffle(30)),
  random=lambda: tf.data.Dataset.random(rerandomize_each_iteration=True).take(
    4
  ),
  sampled=lambda: tf.data.Dataset.sample_from_datasets(
    [_RANGE(60), _RANGE(100, 160)], rerandomize_each_iteration=True
  ),
  random_numbers=_with_random_numbers,
  resampled=_resampled,
)


class PassesTest(two_contexts.TestCase, parameterized.TestCase):
  def setUp(self):
    super().setUp()
    # TensorFlow's own test cases leave a global seed behind.
    tf.random.set_seed(None)

  @parameterized.named_parameters(_WORK.items())
  def test_shuffled_by_a_seed(self, work):
    comp = _at_clients(_leaf(work, _INTS))
    data = [_RANGE(n).shuffle(5, seed=3) for n in (5, 4)]
    expected = self.there(comp, data)
    for _ in range(2):
      self.assertEqual(self.here(comp, data), expected)
    (reason,) = self.cohort.runner.general_path_reasons
    self.assertIn('each pass draws or shuffles anew', reason)

  @parameterized.parameters(
    (lambda d: d.shuffle(5, seed=3), tuple(_FIXED_WORK)),
    (lambda d: d.shuffle(5, seed=3).repeat(2).map(abs), ('repeat',)),
    (lambda d: d.shuffle(5, seed=3).cache(), ('reductions', 'repeat')),
    (_drawn_by_a_seed, ('reductions', 'repeat')),
  )
  def test_as_many_passes_as_are_made(self, finish, work):
    """Clients have unequal numbers of elements, and one has equal passes."""
    data = [*(finish(_RANGE(n)) for n in (6, 3, 5)), _RANGE(4)]
    for name in work:
      comp = _at_clients(_leaf(_FIXED_WORK[name], _INTS))
      expected = self.there(comp, data)
      for _ in range(2):
        self.assertEqual(self.here(comp, data), expected)
    self.assertEmpty(self.cohort.runner.general_path_reasons)

  @parameterized.parameters(
    (lambda d: d.batch(1), True),
    # TensorFlow may draw a shuffle's orders for all repetitions by one seed.
    (lambda d: d.batch(1).unbatch().map(lambda n: n[None]), False),
    # What a pass that ends early has read is not kept.
    (lambda d: d.batch(1).cache(), False),
  )
  @pytest.mark.thorough
  def test_repetitions_before_another_pass(self, finish, is_graph):
    comp = _at_clients(
      _leaf(
        lambda d: _repeated_and_once(d.map(lambda n: n[0])),
        tff.SequenceType(tff.TensorType(np.int64, [None])),
      )
    )
    data = [finish(_RANGE(6).shuffle(5, seed=3))]
    for _ in range(2):
      self.assertEqual(self.here(comp, data), self.there(comp, data))
    self.assertEqual(not self.cohort.runner.general_path_reasons, is_graph)

  @parameterized.parameters(
    (lambda d: d, True),
    # Where a pass ends early, the next one's repetitions are other ones.
    (lambda d: d.repeat(2), False),
    (lambda d: d.cache(), False),
  )
  def test_passes_that_end_early(self, finish, is_graph):
    comp = _at_clients(_leaf(lambda d: _one_after_the_other(d.take(2)), _INTS))
    data = [finish(_RANGE(n).shuffle(5, seed=3)) for n in (6, 3)]
    for _ in range(2):
      self.assertEqual(self.here(comp, data), self.there(comp, data))
    self.assertEqual(not self.cohort.runner.general_path_reasons, is_graph)

  def test_no_repetition(self):
    """TensorFlow refuses it after a shuffle."""
    comp = _at_clients(_leaf(lambda d: _text(d.repeat(0)), _INTS))
    for run in (self.here, self.there):
      with self.assertRaisesRegex(grpc.RpcError, 'count must be greater'):
        run(comp, [_RANGE(5).shuffle(5, seed=3)])

  @parameterized.named_parameters(_UNSEEDED.items())
  def test_without_a_seed(self, make):
    comp = _at_clients(_leaf(_one_after_the_other, _INTS))
    (text,) = self.here(comp, [make()])
    first, second = text.split(b'|')
    self.assertNotEqual(first, second)

  def test_in_several_computations(self):
    """Each of them begins anew."""
    leaves = [
      _leaf(work, _INTS) for work in (_text, lambda d: _text(d.prefetch(1)))
    ]
    work = tff.federated_computation(lambda d: [f(d) for f in leaves], _INTS)
    seeded = [_RANGE(9).shuffle(9, seed=1)]
    ((first, second),) = self.here(_at_clients(work), seeded)
    self.assertEqual(first, second)
    self.assertEqual(
      self.here(_at_clients(work), seeded),
      self.there(_at_clients(work), seeded),
    )
    ((first, second),) = self.here(_at_clients(work), [_RANGE(30).shuffle(30)])
    self.assertNotEqual(first, second)

  def test_of_a_dataset_that_a_computation_returns(self):
    """Seen by the others as TFF's runtime hands it on: serialized."""
    plus_one = _leaf(lambda d: d.map(lambda n: n + 1), _INTS)
    leaves = [_leaf(work, _INTS) for work in (_text, _one_after_the_other)]

    @tff.federated_computation(_INTS)
    def work(dataset):
      returned = plus_one(dataset)
      return [leaf(returned) for leaf in leaves]

    for comp, data in (
      (_at_clients(work), [_RANGE(5).shuffle(5, seed=3)]),
      (work, _RANGE(5).shuffle(5, seed=3)),
    ):
      expected = self.there(comp, data)
      for _ in range(2):
        self.assertEqual(self.here(comp, data), expected)

  def test_of_sequence_intrinsics(self):
    """In a call they go on, in any order; the next call begins anew."""
    comp = tff.federated_computation(_intrinsics, _INTS)
    order = _at_clients(_leaf(lambda d: _text(d.repeat(4)), _INTS))
    data = _RANGE(5).shuffle(5, seed=3)
    (text,) = self.there(order, [data])
    digits = np.array(text.split(), np.int64).reshape(4, 5)
    sums = digits @ 10 ** np.arange(5)[::-1]
    expected = {*sums[:2], *2 * sums[2:]}
    for _ in range(2):
      self.assertEqual(set(self.here(comp, data)), expected)
      self.assertEqual(set(*self.here(_at_clients(comp), [data])), expected)
    several = self.here(comp, _RANGE(9).shuffle(9))
    self.assertLen(set(several), 4)

  def test_a_cache_is_of_one_call(self):
    comp = _at_clients(_leaf(_one_after_the_other, _INTS))
    data = [_RANGE(30).shuffle(30).cache()]
    passes = [p for _ in range(2) for p in self.here(comp, data)[0].split(b'|')]
    self.assertEqual(passes[0], passes[1])
    self.assertEqual(passes[2], passes[3])
    self.assertNotEqual(passes[0], passes[2])

  def test_what_remains_a_graph(self):
    """One pass over any dataset, or any number where all are equal."""
    path = self.create_tempfile(content='3\n1\n2\n').full_path
    file = tf.data.TextLineDataset([path]).map(
      lambda line: tf.strings.to_number(line, tf.int64)
    )
    shuffled = _RANGE(5).shuffle(5, seed=3)
    fixed = _RANGE(5).shuffle(5, seed=3, reshuffle_each_iteration=False)

    @tf.function
    def loop(dataset):
      text = ''
      for n in dataset:
        text += tf.strings.as_string(n)
      return text

    def branch(dataset):
      return tf.cond(
        tf.random.uniform([]) < 2, lambda: _text(dataset), lambda: ''
      )

    for work, data in (
      (loop, shuffled.repeat(2)),
      (branch, shuffled),
      (lambda d: _text(d.skip(1).filter(lambda n: n != 3).repeat(1)), shuffled),
      (_one_after_the_other, fixed.cache()),
      (_epochs, file),
      (lambda d: _text(d.skip(1).shuffle(5, seed=1).take(9)), _RANGE(13)),
    ):
      comp = _at_clients(_leaf(work, _INTS))
      self.assertEqual(self.here(comp, [data]), self.there(comp, [data]))
    self.assertEmpty(self.cohort.runner.general_path_reasons)
