# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of client data kept in memory."""

import collections
from concurrent import futures

from fedfish_tff import errors
from fedfish_tff.datasets import cached_client_data
from fedfish_tff.datasets import client_data

from absl.testing import absltest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
import numpy as np


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
    cached = cached_client_data.CachedClientData(inner, max_bytes=60)
    for _ in range(3):
      for client_id in cached.client_ids:
        np.testing.assert_array_equal(
          cached.load_client(client_id)[0], int(client_id)
        )
    self.assertEqual(inner.reads, {'0': 1, '1': 1, '2': 1})
    self.assertEqual(cached.kept_bytes, 60)
    self.assertEqual(cached.element_spec, inner.element_spec)

  def test_least_recently_used_goes_first(self):
    inner = _counting(10, 10, 10)
    cached = cached_client_data.CachedClientData(inner, max_bytes=20)
    for client_id in ('0', '1', '0', '2', '0', '1'):
      cached.load_client(client_id)
    # '2' drove out '1', which was used before '0' was again.
    self.assertEqual(inner.reads, {'0': 1, '1': 2, '2': 1})

  def test_client_larger_than_the_budget_passes_through(self):
    inner = _counting(10, 100)
    cached = cached_client_data.CachedClientData(inner, max_bytes=50)
    for client_id in ('0', '1', '1', '0'):
      cached.load_client(client_id)
    self.assertEqual(inner.reads, {'0': 1, '1': 2})
    self.assertEqual(cached.kept_bytes, 10)

  @settings(max_examples=100)
  @given(
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=8),
    max_bytes=st.integers(1, 100),
    data=st.data(),
  )
  def test_equals_a_plain_model_of_the_policy(self, sizes, max_bytes, data):
    accesses = data.draw(st.lists(st.integers(0, len(sizes) - 1), max_size=40))
    inner = _counting(*sizes)
    cached = cached_client_data.CachedClientData(inner, max_bytes=max_bytes)
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
    cached = cached_client_data.CachedClientData(inner, max_bytes=200)
    with futures.ThreadPoolExecutor(8) as pool:
      list(pool.map(cached.load_client, list(inner.client_ids) * 10))
    self.assertEqual(set(inner.reads.values()), {1})
    self.assertEqual(cached.kept_bytes, 200)

  def test_views_share_the_cache(self):
    inner = _counting(10, 10)
    cached = cached_client_data.CachedClientData(inner, max_bytes=100)
    cached.select(['0']).load_client('0')
    cached.select(['0', '1']).load_client('0')
    self.assertEqual(inner.reads, {'0': 1})

  def test_bad_input(self):
    with self.assertRaisesRegex(errors.InputError, 'max_bytes .* is 0'):
      cached_client_data.CachedClientData(_counting(1), max_bytes=0)
    cached = cached_client_data.CachedClientData(_counting(1), max_bytes=9)
    with self.assertRaisesRegex(errors.InputError, "no client 'x'"):
      cached.load_client('x')
