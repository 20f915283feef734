# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of synthetic clients that share the examples of published ones."""

from fedfish_tff import datasets
from fedfish_tff import errors
from tasks.images import dealt_clients

from absl.testing import absltest
import numpy as np

_NUM_CLIENTS, _NUM_LABELS = 8, 5


def _published():
  rng = np.random.default_rng(0)
  return datasets.InMemoryClientData(
    {
      f'writer_{n}': {
        'pixels': 1000 * n + np.arange(40),
        'label': rng.integers(0, _NUM_LABELS, 40),
      }
      for n in range(_NUM_CLIENTS)
    }
  )


def _deal(alpha=1.0, seed=0):
  dealt = dealt_clients.deal_anew(
    _published(), label='label', alpha=alpha, seed=seed
  )
  return [dealt.load_client(client) for client in dealt.client_ids]


class DealtClientsTest(absltest.TestCase):
  def test_each_example_has_one_new_client_and_its_label(self):
    published = _published()
    expected = {
      (pixel, label)
      for client in map(published.load_client, published.client_ids)
      for pixel, label in zip(client['pixels'], client['label'])
    }
    dealt = _deal()
    self.assertLen(dealt, _NUM_CLIENTS)
    self.assertGreater(min(len(client['label']) for client in dealt), 0)
    found = [
      pair
      for client in dealt
      for pair in zip(client['pixels'], client['label'])
    ]
    self.assertCountEqual(found, expected)

  def test_alpha_decides_how_many_labels_a_client_has(self):
    def most_common_share(alpha):
      shares = [
        np.bincount(client['label']).max() / len(client['label'])
        for client in _deal(alpha)
      ]
      return np.mean(shares)

    # Clients that are all alike have the shares of all examples.
    self.assertLess(most_common_share(1e4), 1.5 / _NUM_LABELS)
    self.assertGreater(most_common_share(0.01), 0.7)

  def test_seed_decides(self):
    first, again, other = (
      [client['pixels'].tolist() for client in _deal(seed=seed)]
      for seed in (0, 0, 1)
    )
    self.assertEqual(first, again)
    self.assertNotEqual(first, other)

  def test_alpha_must_be_positive(self):
    with self.assertRaisesRegex(errors.InputError, 'alpha'):
      _deal(alpha=0.0)
