# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of clients whose examples lie in several client data."""

from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff.datasets import concatenated_client_data

from absl.testing import absltest
import numpy as np


def _clients(dtype=np.float32, **first_values):
  return datasets.InMemoryClientData(
    {
      c: {'x': np.arange(v, v + 2, dtype=dtype)}
      for c, v in first_values.items()
    }
  )


class ConcatenatedClientDataTest(absltest.TestCase):
  def test_has_all_examples_of_all_clients(self):
    clients = concatenated_client_data.ConcatenatedClientData(
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
    clients = concatenated_client_data.ConcatenatedClientData([_clients(a=0)])
    with self.assertRaisesRegex(errors.InputError, "no client 'b'"):
      clients.load_client('b')

  def test_parts_must_be_alike(self):
    with self.assertRaisesRegex(errors.InputError, 'Part 1 .*float64.*float32'):
      concatenated_client_data.ConcatenatedClientData(
        [_clients(a=0), _clients(np.float64, a=0)]
      )
    with self.assertRaisesRegex(errors.InputError, 'at least one'):
      concatenated_client_data.ConcatenatedClientData([])
