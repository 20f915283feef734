# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Repeatable datasets are read once, others always, within the budget."""

import gc
import subprocess
import sys
import textwrap
import threading

from fedfish_tff.execution.packing import packed_cache
from tests import processes

from absl.testing import parameterized
import hypothesis
from hypothesis import strategies as st
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_federated as tff

_VECTOR = tff.TensorType(np.int64, [None])


def _dataset(n=4):
  return tf.data.Dataset.range(n).batch(n)


def _nbytes(n=4):
  return packed_cache.PackedSequenceCache().pack(_dataset(n), _VECTOR).nbytes


class PackedSequenceCacheTest(parameterized.TestCase):
  def test_reads_a_repeatable_dataset_once(self):
    cache = packed_cache.PackedSequenceCache()
    dataset = _dataset()
    packed = cache.pack(dataset, _VECTOR)
    self.assertIs(cache.pack(dataset, _VECTOR), packed)
    self.assertEqual(cache.kept_bytes, packed.nbytes)
    np.testing.assert_array_equal(packed.leaves[0], np.arange(4))

  def test_each_element_type_is_its_own(self):
    cache = packed_cache.PackedSequenceCache()
    dataset = tf.data.Dataset.range(6).batch(3, drop_remainder=True)
    batches = cache.pack(dataset, _VECTOR)
    elements = cache.pack(dataset, tff.TensorType(np.int64, [3]))
    self.assertIsNotNone(batches.layouts[0].bounds)
    self.assertIsNone(elements.layouts[0].bounds)
    self.assertLen(cache, 2)

  def test_reads_other_datasets_every_time(self):
    cache = packed_cache.PackedSequenceCache()
    reads = []

    def note(value):
      reads.append(value)
      return value

    dataset = (
      tf.data.Dataset.range(1)
      .map(lambda v: tf.ensure_shape(tf.numpy_function(note, [v], v.dtype), []))
      .batch(1)
    )
    for _ in range(3):
      cache.pack(dataset, _VECTOR)
    self.assertLen(reads, 3)
    self.assertEmpty(cache)

  def test_keeps_neither_lists_nor_what_exceeds_the_budget(self):
    cache = packed_cache.PackedSequenceCache(_nbytes(4))
    cache.pack([[1, 2]], _VECTOR)
    self.assertEmpty(cache)
    large, small = _dataset(5), _dataset(4)
    cache.pack(large, _VECTOR)
    self.assertEmpty(cache)
    cache.pack(small, _VECTOR)
    self.assertEqual(cache.kept_bytes, _nbytes(4))
    nothing = packed_cache.PackedSequenceCache(0)
    nothing.pack(small, _VECTOR)
    self.assertEmpty(nothing)

  def test_forgets_datasets_that_are_gone(self):
    cache = packed_cache.PackedSequenceCache()
    dataset = _dataset()
    cache.pack(dataset, _VECTOR)
    del dataset
    gc.collect()
    self.assertEmpty(cache)
    self.assertEqual(cache.kept_bytes, 0)

  @pytest.mark.thorough
  def test_a_dataset_that_goes_with_the_program_goes_quietly(self):
    code = """
      from fedfish_tff import execution
      from fedfish_tff.execution.packing import packed_cache
      import numpy as np, tensorflow as tf
      import tensorflow_federated as tff
      # TFF's own context does not end quietly.
      execution.set_default_context()
      dataset = tf.data.Dataset.from_tensor_slices(np.zeros(3))
      cache = packed_cache.PackedSequenceCache()
      cache.pack(dataset, tff.TensorType(np.float64))
    """
    done = subprocess.run(
      [sys.executable, '-c', textwrap.dedent(code)],
      capture_output=True,
      text=True,
      timeout=processes.HANG_SECONDS,
    )
    self.assertNotIn('Exception ignored', done.stderr)
    self.assertEqual(done.returncode, 0)

  def test_a_dataset_that_goes_while_the_lock_is_held_is_forgotten_later(self):
    cache = packed_cache.PackedSequenceCache()
    dataset, other = _dataset(), _dataset(5)
    cache.pack(dataset, _VECTOR)
    with cache._lock:
      del dataset
      gc.collect()
    cache.pack(other, _VECTOR)
    self.assertLen(cache, 1)
    self.assertEqual(cache.kept_bytes, _nbytes(5))

  @hypothesis.settings(max_examples=30, deadline=None)
  @hypothesis.given(
    st.integers(0, 1000), st.lists(st.integers(0, 5), max_size=12)
  )
  def test_the_least_recently_used_goes_first(self, max_bytes, accesses):
    cache = packed_cache.PackedSequenceCache(max_bytes)
    datasets = [_dataset(4 * (n + 1)) for n in range(6)]
    sizes = [_nbytes(4 * (n + 1)) for n in range(6)]
    expected = []  # The least recently used first.
    for n in accesses:
      packed = cache.pack(datasets[n], _VECTOR)
      self.assertEqual(packed.nbytes, sizes[n])
      if n in expected:
        expected.remove(n)
        expected.append(n)
      elif sizes[n] <= max_bytes:
        while sum(sizes[m] for m in expected) + sizes[n] > max_bytes:
          expected.pop(0)
        expected.append(n)
      self.assertEqual(cache.kept_bytes, sum(sizes[m] for m in expected))
      self.assertLen(cache, len(expected))

  def test_several_threads(self):
    datasets = [_dataset(n) for n in range(1, 9)]
    cache = packed_cache.PackedSequenceCache(3 * _nbytes(8))
    wrong = []

    def work(first):
      for step in range(40):
        n = (first * 7 + step * 3) % 8
        packed = cache.pack(datasets[n], _VECTOR)
        fresh = cache.pack(_dataset(n + 1), _VECTOR)
        for found in (packed, fresh):
          if found.leaves[0].tolist() != list(range(n + 1)):
            wrong.append(n)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
      thread.start()
    for thread in threads:
      thread.join(processes.HANG_SECONDS)
    self.assertEmpty(wrong)
    self.assertLessEqual(cache.kept_bytes, 3 * _nbytes(8))
    datasets.clear()
    gc.collect()
    self.assertEqual(cache.kept_bytes, 0)
