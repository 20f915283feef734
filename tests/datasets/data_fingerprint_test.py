# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of fingerprints: what changes them, what does not, what is read."""

import hashlib
import json

from fedfish_tff.datasets import client_data
from fedfish_tff.datasets import data_fingerprint

from absl.testing import parameterized
from hypothesis import given
from hypothesis import strategies as st
import numpy as np


def _clients():
  return {
    'a': (np.arange(6, dtype=np.float32).reshape(3, 2), np.arange(3)),
    'b': (np.ones((2, 2), np.float32), np.zeros(2, np.int64)),
  }


def _fingerprint(clients):
  return data_fingerprint.fingerprint(client_data.InMemoryClientData(clients))


class _RecordingClientData(client_data.InMemoryClientData):
  """Notes which clients are read."""

  def __init__(self, clients):
    super().__init__(clients)
    self.read = []

  def load_client(self, client_id):
    self.read.append(client_id)
    return super().load_client(client_id)


class FingerprintTest(parameterized.TestCase):
  def test_is_the_same_for_the_same_data(self):
    clients = _clients()
    expected = _fingerprint(clients)
    self.assertRegex(expected, '^[0-9a-f]{64}$')
    self.assertEqual(_fingerprint(dict(reversed(clients.items()))), expected)
    # Another layout in memory.
    x, y = clients['a']
    clients['a'] = (np.asfortranarray(x), np.repeat(y, 2)[::2])
    self.assertEqual(_fingerprint(clients), expected)

  def test_is_the_checksum_of_these_bytes_for_many_ids(self):
    ids = [f'{i:05}' for i in range(10_000)]
    x = np.zeros(1)
    expected = hashlib.sha256(json.dumps(ids).encode())
    for place in range(16):
      client_id = ids[place * 9999 // 15]
      expected.update(b'["%b", "array", "<f8", [1]]' % client_id.encode())
      expected.update(x.tobytes())
    self.assertEqual(_fingerprint(dict.fromkeys(ids, x)), expected.hexdigest())

  def test_texts(self):
    def of(*texts):
      # Made anew, to be elsewhere in memory.
      array = np.array([bytes(bytearray(text)) for text in texts], object)
      return _fingerprint({'a': array})

    self.assertEqual(of(b'one', b'two'), of(b'one', b'two'))
    self.assertLen({of(b'one', b'two'), of(b'on', b'etwo'), of(b'one')}, 3)

  def test_is_the_checksum_of_these_bytes(self):
    """Runs on the disk know their data by it: it must not change."""
    (x_a, y_a), (x_b, y_b) = _clients().values()
    expected = hashlib.sha256(
      b'["a", "b"]'
      + b'["a", "x", "<f4", [3, 2]]'
      + x_a.tobytes()
      + b'["a", "y", "<i8", [3]]'
      + y_a.tobytes()
      + b'["b", "x", "<f4", [2, 2]]'
      + x_b.tobytes()
      + b'["b", "y", "<i8", [2]]'
      + y_b.tobytes()
    )
    self.assertEqual(_fingerprint(_clients()), expected.hexdigest())

  @given(num_clients=st.integers(1, 60))
  def test_reads_evenly_spaced_clients_once(self, num_clients):
    ids = [f'{i:02}' for i in range(num_clients)]
    data = _RecordingClientData({i: (np.zeros(1),) for i in ids})
    data_fingerprint.fingerprint(data)
    self.assertLen(data.read, min(num_clients, 16))
    positions = [ids.index(i) for i in data.read]
    gaps = np.diff(positions)
    if len(gaps):
      self.assertGreater(gaps.min(), 0)
      self.assertLessEqual(gaps.max() - gaps.min(), 1)
      self.assertEqual((positions[0], positions[-1]), (0, num_clients - 1))

  def test_no_clients(self):
    data = client_data.InMemoryClientData(_clients())
    self.assertNotEqual(
      data_fingerprint.fingerprint(data.select([])), _fingerprint(_clients())
    )
