# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Client data made of others."""

import collections
from concurrent import futures

from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff.datasets import client_data
from fedfish_tff.datasets import client_views

from absl.testing import absltest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
import numpy as np
import tensorflow as tf


class _CountingClientData(client_data.InMemoryClientData):
  """Counts how often each client is read."""

  def __init__(self, clients):
    super().__init__(clients)
    self.reads = collections.Counter()

  def load_client(self, client_id):
    self.reads[client_id] += 1
    return super().load_client(client_id)


def _counting(*sizes):
  """Clients '0', '1', ... of the given sizes in bytes."""
  return _CountingClientData(
    {str(i): (np.full([n], i, np.uint8),) for i, n in enumerate(sizes)}
  )


class CachedClientDataTest(absltest.TestCase):
  def test_reads_each_client_once_while_it_fits(self):
    inner = _counting(10, 20, 30)
    cached = client_views.CachedClientData(inner, max_bytes=60)
    for _ in range(3):
      for client_id in cached.client_ids:
        np.testing.assert_array_equal(
          cached.load_client(client_id)[0], int(client_id)
        )
    self.assertEqual(inner.reads, {'0': 1, '1': 1, '2': 1})
    self.assertEqual(cached.kept_bytes, 60)
    self.assertEqual(cached.element_spec, inner.element_spec)

  @settings(max_examples=100, deadline=None)
  @given(
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=8),
    max_bytes=st.integers(1, 100),
    data=st.data(),
  )
  def test_equals_a_plain_model_of_the_policy(self, sizes, max_bytes, data):
    accesses = data.draw(st.lists(st.integers(0, len(sizes) - 1), max_size=40))
    inner = _counting(*sizes)
    cached = client_views.CachedClientData(inner, max_bytes=max_bytes)
    kept, reads = [], collections.Counter()
    for i in accesses:
      if i in kept:
        kept.remove(i)
        kept.append(i)
      else:
        reads[str(i)] += 1
        if sizes[i] <= max_bytes:
          kept.append(i)
          while sum(sizes[j] for j in kept) > max_bytes:
            kept.pop(0)
      cached.load_client(str(i))
      self.assertLessEqual(cached.kept_bytes, max_bytes)
      self.assertEqual(cached.kept_bytes, sum(sizes[j] for j in kept))
    self.assertEqual(inner.reads, reads)

  def test_several_threads_read_each_client_once(self):
    inner = _counting(*[10] * 20)
    cached = client_views.CachedClientData(inner, max_bytes=200)
    with futures.ThreadPoolExecutor(8) as pool:
      list(pool.map(cached.load_client, list(inner.client_ids) * 10))
    self.assertEqual(set(inner.reads.values()), {1})
    self.assertEqual(cached.kept_bytes, 200)

  def test_views_share_the_cache(self):
    inner = _counting(10, 10)
    cached = client_views.CachedClientData(inner, max_bytes=100)
    cached.select(['0']).load_client('0')
    cached.select(['0', '1']).load_client('0')
    self.assertEqual(inner.reads, {'0': 1})

  def test_bad_input(self):
    with self.assertRaisesRegex(errors.InputError, 'max_bytes .*0'):
      client_views.CachedClientData(_counting(1), max_bytes=0)
    cached = client_views.CachedClientData(_counting(1), max_bytes=9)
    with self.assertRaisesRegex(errors.InputError, "client .*'x'"):
      cached.load_client('x')


def _data():
  return client_data.InMemoryClientData(
    {
      c: (np.full([n, 2, 2], i, np.uint8), np.arange(n))
      for i, (c, n) in enumerate({'a': 2, 'b': 3}.items())
    }
  )


class PreprocessedClientDataTest(absltest.TestCase):
  def test_applies_the_function_to_whole_clients(self):
    data = client_views.PreprocessedClientData(
      _data(), lambda e: (e[0].reshape(len(e[0]), -1) / 2, e[1])
    )
    self.assertEqual(data.client_ids, ('a', 'b'))
    self.assertEqual(
      data.element_spec,
      (tf.TensorSpec([4], tf.float64), tf.TensorSpec([], tf.int64)),
    )
    x, y = data.load_client('b')
    np.testing.assert_array_equal(x, np.full([3, 4], 0.5))
    np.testing.assert_array_equal(y, [0, 1, 2])

  def test_results_are_validated(self):
    def only_ones_are_infinite(examples):
      x, y = examples
      return np.where(x == 1, np.inf, 0.0), y

    data = client_views.PreprocessedClientData(_data(), only_ones_are_infinite)
    data.load_client('a')
    with self.assertRaisesRegex(errors.InputError, "'x' of client 'b'.*12 NaN"):
      data.load_client('b')
    shorter = client_views.PreprocessedClientData(
      _data(), lambda e: (e[0][1:], e[1])
    )
    with self.assertRaisesRegex(errors.InputError, "client 'a' .*lengths"):
      shorter.load_client('a')
    emptied = client_views.PreprocessedClientData(
      _data(), lambda e: (e[0][:0], e[1][:0])
    )
    with self.assertRaisesRegex(
      errors.InputError, "'a' must have at least one example"
    ):
      emptied.load_client('a')

  def test_input_errors_get_the_clients_name(self):
    def refuse(examples):
      raise errors.InputError('labels of 0 to 9 were expected.')

    data = client_views.PreprocessedClientData(_data(), refuse)
    with self.assertRaisesRegex(errors.InputError, "^Client 'a': labels of 0"):
      data.load_client('b')

  def test_no_clients(self):
    data = client_views.PreprocessedClientData(_data().select([]), lambda e: e)
    self.assertEqual(data.client_ids, ())
    with self.assertRaisesRegex(
      errors.InputError, 'a client to have an element_spec'
    ):
      _ = data.element_spec


def _clients(dtype=np.float32, **first_values):
  return datasets.InMemoryClientData(
    {
      c: {'x': np.arange(v, v + 2, dtype=dtype)}
      for c, v in first_values.items()
    }
  )


class ConcatenatedClientDataTest(absltest.TestCase):
  def test_has_all_examples_of_all_clients(self):
    clients = client_views.ConcatenatedClientData(
      [_clients(b=0, a=10), _clients(c=20), _clients(b=30, c=40)]
    )
    self.assertEqual(clients.client_ids, ('a', 'b', 'c'))
    for client_id, expected in (
      ('a', [10, 11]),
      ('b', [0, 1, 30, 31]),
      ('c', [20, 21, 40, 41]),
    ):
      x = clients.load_client(client_id)['x']
      np.testing.assert_array_equal(x, expected)
      self.assertFalse(x.flags.writeable)
    self.assertEqual(clients.element_spec, _clients(a=0).element_spec)

  def test_unknown_client(self):
    clients = client_views.ConcatenatedClientData([_clients(a=0)])
    with self.assertRaisesRegex(errors.InputError, "client .*'b'"):
      clients.load_client('b')

  def test_parts_must_be_alike(self):
    with self.assertRaisesRegex(
      errors.InputError, 'Part 1 .*float32.*got .*float64'
    ):
      client_views.ConcatenatedClientData(
        [_clients(a=0), _clients(np.float64, a=0)]
      )
    with self.assertRaisesRegex(errors.InputError, 'at least one'):
      client_views.ConcatenatedClientData([])
