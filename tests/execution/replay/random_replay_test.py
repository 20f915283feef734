# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for random_replay: compiled by XLA, against TensorFlow's own kernels."""

import re

from fedfish_tff import private_apis
from fedfish_tff.execution import threads
from fedfish_tff.execution.replay import random_replay
from fedfish_tff.execution.replay import replayer
from tests import tolerance
from tests.execution import graph_replays

from absl.testing import parameterized
import hypothesis
from hypothesis import strategies as st
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.framework import kernels

_SEED = np.array([3, -7], np.int32)
_BOUND = 7

_draw = tf.random


def setUpModule():
  # A multinomial's rows are drawn by each thread in its own way.
  threads.use_one_intra_op_thread()


def _spec(array):
  return tf.TensorSpec(array.shape, array.dtype)


class _Pair:
  """A graph of random operations: of TensorFlow, and replayed for XLA."""

  def __init__(self, build, *specs, **options):
    self._graph = graph_replays.ReplayedGraph(build, *specs)
    self._replayed = self._graph.replayed(
      handlers=random_replay.HANDLERS, use_xla=True, **options
    )

  def check(self, *values, of_xla=None, relative=None):
    """Compares both, with other arguments `of_xla` if there are any."""
    expected = self._graph.run_in_session(*values)
    found = self._replayed(*map(tf.constant, of_xla or values))
    for a, b in zip(found, expected, strict=True):
      a = a.numpy()
      np.testing.assert_equal((a.dtype, a.shape), (b.dtype, b.shape))
      if relative is None:
        np.testing.assert_array_equal(a, b)
      else:
        tolerance.assert_close(
          a.astype(np.float64), b.astype(np.float64), relative=relative
        )


def _uniform(seed):
  return [
    _draw.stateless_uniform([9], seed, dtype=dtype)
    for dtype in (tf.float16, tf.bfloat16, tf.float32, tf.float64)
  ]


def _shapes(seed):
  """Draws of partial blocks, of whole ones, and of no number."""
  return [
    _draw.stateless_uniform(shape, seed)
    for shape in ((3, 7), (2, 8), (), (0, 3), (1,))
  ]


def _ints(seed):
  return [
    _draw.stateless_uniform(
      [9], seed, minval=minval, maxval=maxval, dtype=dtype
    )
    for dtype, minval, maxval in (
      (tf.uint32, None, None),
      (tf.int32, -5, 100),
      (tf.int32, -(2**31), 2**31 - 1),
      (tf.int64, None, None),
      (tf.int64, -(2**62), 2**62 + 1),
    )
  ]


def _first_versions(seed):
  """As serialized before TensorFlow 2.5, and by models.create_keras_classifier."""
  ops = tf.raw_ops
  return [
    ops.StatelessRandomUniform(shape=[9], seed=seed),
    ops.StatelessRandomUniformInt(shape=[9], seed=seed, minval=-3, maxval=9),
    ops.StatelessRandomUniformFullInt(shape=[9], seed=seed, dtype=tf.int64),
    *ops.StatelessRandomGetKeyCounter(seed=seed),
    *ops.StatelessRandomGetKeyCounterAlg(seed=seed),
    ops.StatelessRandomGetAlg(),
  ]


class SeedsTest(parameterized.TestCase):
  def _check(self, build, dtype, **options):
    pair = _Pair(build, tf.TensorSpec([2], dtype))
    largest = np.iinfo(dtype).max
    numbers = st.integers(-largest - 1, largest)

    @hypothesis.settings(max_examples=10, deadline=None)
    @hypothesis.given(st.tuples(numbers, numbers))
    @hypothesis.example((-1, 0))
    def check(seed):
      pair.check(np.array(seed, dtype), **options)

    check()

  @parameterized.parameters((_uniform, np.int32), (_ints, np.int64))
  def test_bit_for_bit(self, build, dtype):
    self._check(build, dtype)

  @parameterized.parameters((_shapes, np.int64), (_first_versions, np.int32))
  @pytest.mark.thorough
  def test_shapes_and_older_operations(self, build, dtype):
    self._check(build, dtype)

  def test_normal(self):
    self._check(
      lambda seed: [
        _draw.stateless_normal([3, 7], seed),
        tf.raw_ops.StatelessRandomNormal(shape=[9], seed=seed),
      ],
      np.int32,
      relative=tolerance.FLOAT32_SUMS,
    )

  @parameterized.parameters(
    (tf.float64, 1e-14), (tf.float16, 1e-3), (tf.bfloat16, 1e-2)
  )
  @pytest.mark.thorough
  def test_normal_of_other_types(self, dtype, relative):
    pair = _Pair(
      lambda seed: _draw.stateless_normal([501], seed, dtype=dtype),
      _spec(_SEED),
    )
    pair.check(_SEED, relative=relative)

  @parameterized.parameters(
    # The numbers of blocks have 128 bits.
    ([2**64 - 2, 5],),
    ([2**32 - 1, 2**64 - 1],),
    ([2**64 - 1, 2**64 - 1],),
  )
  def test_counters(self, counter):
    key = np.array([2**63 + 12345], np.uint64)
    counter = np.array(counter, np.uint64)
    pair = _Pair(
      lambda key, counter: tf.raw_ops.StatelessRandomUniformV2(
        shape=[30], key=key, counter=counter, alg=1
      ),
      _spec(key),
      _spec(counter),
    )
    pair.check(key, counter)


class MultinomialTest(parameterized.TestCase):
  @parameterized.parameters(
    (tf.float32, 1, tf.int32),
    (tf.float64, 5, tf.int64),
    (tf.float16, 3, tf.int32),
  )
  def test_classes(self, dtype, num_samples, output_dtype):
    logits = np.random.default_rng(0).normal(0, 3, [41, 6]).astype(np.float32)
    # No class, one class, and some of them never.
    logits[:4] = [[np.nan], [np.inf], [-np.inf], [1e38]]
    logits[4, 1:] = -np.inf
    logits[5, :3] = np.nan
    pair = _Pair(
      lambda logits, seed: _draw.stateless_categorical(
        tf.cast(logits, dtype), num_samples, seed, dtype=output_dtype
      ),
      _spec(logits),
      _spec(_SEED),
    )
    for seed in range(5):
      pair.check(logits, np.array([seed, -seed], np.int32))

  @pytest.mark.thorough
  def test_many_classes(self):
    logits = np.random.default_rng(0).normal(size=[20, 3001])
    pair = _Pair(
      lambda logits, seed: _draw.stateless_categorical(logits, 3, seed),
      _spec(logits),
      _spec(_SEED),
    )
    pair.check(logits, _SEED)


class BoundedSizesTest(parameterized.TestCase):
  """The number of rows of a batch has but a bound where XLA compiles it."""

  @parameterized.parameters(
    lambda x, seed: tf.nn.experimental.stateless_dropout(x, 0.25, seed),
    # With an odd number of columns blocks begin anywhere.
    lambda x, seed: _draw.stateless_uniform(tf.shape(x[:, :3]), seed),
    lambda x, seed: _draw.stateless_uniform(
      [tf.shape(x)[0]], seed, dtype=tf.float64
    ),
    lambda x, seed: _draw.stateless_uniform(
      [3, tf.shape(x)[0], 5], seed, maxval=9, dtype=tf.int32
    ),
    lambda x, seed: tf.nn.experimental.stateless_dropout(
      tf.reshape(x, [-1, 2, 2, 2]),
      0.5,
      seed,
      noise_shape=[tf.shape(x)[0], 1, 1, 2],
    ),
    lambda x, seed: _draw.stateless_categorical(x, 3, seed),
    lambda x, seed: _draw.stateless_categorical(tf.tile(x, [1, 20]), 1, seed),
    lambda x, seed: _draw.stateless_categorical(
      tf.reshape(x, [-1, 2]), 1, seed, dtype=tf.int32
    ),
  )
  def test_as_of_the_size(self, build):
    rows = np.random.default_rng(1).normal(size=[_BOUND, 8]).astype(np.float32)
    pair = _Pair(
      build,
      tf.TensorSpec([None, 8], tf.float32),
      _spec(_SEED),
      feeds=lambda x, size, seed: [
        private_apis.set_dynamic_size(x, size),
        seed,
      ],
    )
    for size in (0, 1, 4, _BOUND):
      pair.check(rows[:size], _SEED, of_xla=(rows, np.int32(size), _SEED))


def _uniform_by(seed, algorithm):
  key, counter = tf.raw_ops.StatelessRandomGetKeyCounter(seed=seed)
  return tf.raw_ops.StatelessRandomUniformV2(
    shape=[3], key=key, counter=counter, alg=algorithm
  )


class RefusalsTest(parameterized.TestCase):
  @parameterized.parameters(
    lambda seed: _draw.stateless_truncated_normal([3], seed),
    lambda seed: _draw.uniform([3]),
    lambda seed: _draw.shuffle(seed),
    lambda seed: _uniform_by(seed, 2),
    # Which it is, is not known when it is traced.
    lambda seed: _uniform_by(seed, seed[0]),
    lambda seed: _draw.stateless_uniform(
      tf.boolean_mask([2, 3], seed > 1), seed
    ),
  )
  def test_what_is_not_the_same(self, build):
    graph = graph_replays.ReplayedGraph(build, _spec(_SEED))
    replayed = graph.replayed(handlers=random_replay.HANDLERS, use_xla=True)
    with self.assertRaises(replayer.NotReplayableError):
      replayed(tf.constant(_SEED))

  def test_nothing_random_is_left_to_xla(self):
    # XLA's kernels are registered when it first compiles.
    tf.function(lambda: tf.constant(0), jit_compile=True)()
    words = re.compile(
      'Random|Rng|Multinomial|Normal|Shuffle|Sampl|Stateful(Uniform|Trunc|Stand)'
    )
    names = {
      kernel.op
      for kernel in kernels.get_all_registered_kernels().kernel
      if kernel.device_type == 'XLA_CPU_JIT' and words.search(kernel.op)
    }
    self.assertContainsSubset({'RandomUniform', 'StatelessMultinomial'}, names)
    self.assertContainsSubset(
      names - {'RandomGammaGrad'}, random_replay.HANDLERS
    )
