# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of streams of clients."""

import itertools
import pathlib
from unittest import mock

from fedfish_tff import errors
from fedfish_tff.datasets import client_index
from fedfish_tff.datasets import record_files
from fedfish_tff.datasets import streamed_clients
from tests import grouped_clients

from absl.testing import parameterized
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
import numpy as np

_NUM_CLIENTS = 101
_TEXTS = grouped_clients.make_texts(_NUM_CLIENTS)


class StreamedClientsTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self._folder = grouped_clients.write_folder(
      pathlib.Path(self.create_tempdir().full_path) / 'd',
      {'held_out': {'x.org': ['x']}, 'train': _TEXTS},
    )
    grouped_clients.rewrite_index(self._folder, row_group_size=9)

  def _stream(self, window=20, seed=5, split='train'):
    return streamed_clients.StreamedClients(
      self._folder, split, window=window, seed=seed
    )

  def _ids(self, *, window=20, seed=5, **kwargs):
    return [c.client_id for c in self._stream(window, seed).clients(**kwargs)]

  @settings(max_examples=20)
  @given(
    window=st.integers(1, 300),
    seed=st.integers(0, 2**40),
    epoch=st.integers(0, 1000),
    position=st.integers(0, _NUM_CLIENTS + 5),
  )
  def test_an_epoch_has_each_client_once(self, window, seed, epoch, position):
    stream = self._stream(window, seed)
    self.assertEqual(stream.num_clients, _NUM_CLIENTS)
    clients = list(stream.clients(epoch=epoch))
    self.assertCountEqual([c.client_id for c in clients], _TEXTS)
    for client in clients:
      self.assertEqual(
        [text.decode() for text in client.examples['text']],
        _TEXTS[client.client_id],
      )
    # Entered in its midst, by another process.
    rest = self._stream(window, seed).clients(epoch=epoch, position=position)
    self.assertEqual(
      [c.client_id for c in rest], [c.client_id for c in clients[position:]]
    )

  def test_order_is_that_of_seed_and_epoch(self):
    orders = [
      self._ids(window=50, seed=seed, epoch=epoch)
      for seed in (1, 2)
      for epoch in (0, 1)
    ]
    for one, other in itertools.combinations(orders, 2):
      self.assertNotEqual(one, other)
    self.assertEqual(self._ids(window=50, seed=2, epoch=1), orders[3])
    self.assertEqual(
      self._ids(window=3, seed=7)[:3],
      ['site-83.org', 'site-19.org', 'site-73.org'],
    )

  def test_the_whole_split_as_window_is_a_fair_shuffle(self):
    places = np.array(
      [
        self._ids(window=_NUM_CLIENTS, epoch=epoch).index('site-0.org')
        for epoch in range(60)
      ]
    )
    # Mean and deviation of a uniform place, within four standard errors.
    self.assertLess(abs(places.mean() - 50), 4 * 29.2 / 60**0.5)
    self.assertBetween(places.std(), 20, 37)

  @parameterized.parameters(1, 10, 37, 500)
  def test_no_more_than_the_window_is_in_memory(self, window):
    """And clients are read one by one, when they are asked for."""
    rows_read = []

    def read_rows(index, split, start, stop):
      rows_read.append(stop - start)
      return original(index, split, start, stop)

    original = client_index.ClientIndex.read_rows
    with mock.patch.object(
      client_index.ClientIndex,
      'read_rows',
      autospec=True,
      side_effect=read_rows,
    ):
      with mock.patch.object(
        record_files,
        'read_record',
        autospec=True,
        side_effect=record_files.read_record,
      ) as read:
        clients = self._stream(window).clients()
        for number in range(1, 6):
          next(clients)
          self.assertEqual(read.call_count, number)
          self.assertLessEqual(sum(rows_read), number - 1 + window)

  def test_bad_arguments(self):
    with self.assertRaisesRegex(errors.InputError, 'window must be .*got 0'):
      self._stream(window=0)
    with self.assertRaisesRegex(errors.InputError, "split 'test'; found held"):
      self._stream(split='test')
    for name in ('epoch', 'position'):
      with self.assertRaisesRegex(
        errors.InputError, f'{name} must be .*got -1'
      ):
        next(self._stream().clients(**{name: -1}))

  def test_damaged_client_is_named(self):
    for path in self._folder.glob('train-*'):
      path.write_bytes(b'\0' * path.stat().st_size)
    with self.assertRaisesRegex(
      errors.InputError, r"^Client 'site-\d+.org': The record at byte \d+ of"
    ):
      next(self._stream().clients())
