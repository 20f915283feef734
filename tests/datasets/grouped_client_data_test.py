# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of clients opened by id."""

import pathlib

from fedfish_tff import errors
from fedfish_tff.datasets import batches
from fedfish_tff.datasets import client_data
from fedfish_tff.datasets import client_views
from fedfish_tff.datasets import grouped_client_data
from fedfish_tff.datasets import grouped_writer
from fedfish_tff.datasets import sorted_ids
from fedfish_tff.simulation import cohort_prefetch
from fedfish_tff.simulation import participation
from tests import grouped_clients

from absl.testing import absltest
import numpy as np
import tensorflow as tf

_TEXTS = grouped_clients.make_texts(40)


def _lengths(examples):
  """Numbers in place of texts, as a tokenizer makes them."""
  lengths = np.array([len(text) for text in examples['text']], np.int32)
  return np.stack([lengths, lengths % 7], axis=1), lengths


class GroupedClientDataTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self._folder = grouped_clients.write_folder(
      pathlib.Path(self.create_tempdir().full_path) / 'd',
      {'train': _TEXTS, 'held_out': {'x.org': ['x']}},
      num_shards=3,
    )
    self._data = grouped_client_data.GroupedClientData(self._folder, 'train')

  def test_clients(self):
    data = self._data
    self.assertIsInstance(data.client_ids, sorted_ids.SortedIds)
    self.assertSequenceEqual(data.client_ids, sorted(_TEXTS))
    self.assertEqual(data.element_spec, grouped_clients.TEXT)
    self.assertEqual(
      data.client_sizes.tolist(), [len(_TEXTS[c]) for c in sorted(_TEXTS)]
    )
    for client_id, texts in _TEXTS.items():
      found = data.load_client(client_id)
      self.assertEqual(list(found), ['text'])
      self.assertEqual([t.decode() for t in found['text']], texts)
      self.assertFalse(found['text'].flags.writeable)

  def test_unknown_client(self):
    for client_id in ('x.org', '', None):
      with self.assertRaisesRegex(
        errors.InputError, r"client .*40 \('site-0.org'"
      ):
        self._data.load_client(client_id)

  def test_features(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    features = {
      'text': tf.TensorSpec([], tf.string),
      'url': tf.TensorSpec([], tf.string),
      'when': tf.TensorSpec([], tf.int64),
    }
    with grouped_writer.GroupedWriter(folder, features=features) as writer:
      writer.write('train', 'a', [{'text': 't', 'url': b'u', 'when': 3}])
    data = grouped_client_data.GroupedClientData(
      folder, 'train', features=('when', 'text')
    )
    self.assertEqual(list(data.element_spec), ['text', 'when'])
    found = data.load_client('a')
    self.assertEqual(found['when'].tolist(), [3])
    self.assertNotIn('url', found)

  def test_cohorts_are_those_of_clients_in_memory(self):
    in_memory = client_data.InMemoryClientData(
      {
        client_id: _lengths({'text': [text.encode() for text in texts]})
        for client_id, texts in _TEXTS.items()
      }
    )
    cohorts = []
    for data in (
      in_memory,
      client_views.PreprocessedClientData(self._data, _lengths),
    ):
      with cohort_prefetch.CohortPrefetcher(
        data,
        participation.uniform_participation(
          data.client_ids, cohort_size=4, seed=3
        ),
        batches.BatchSpec(batch_size=2, epochs=2),
        seed=3,
        last_round=3,
      ) as prefetcher:
        cohorts.append([prefetcher.load(r) for r in (1, 2, 3)])
    for expected, found in zip(*cohorts):
      self.assertEqual(
        [c.client_id for c in found], [c.client_id for c in expected]
      )
      tf.nest.map_structure(
        np.testing.assert_array_equal,
        [list(c) for c in found],
        [list(c) for c in expected],
      )

  def test_no_such_split(self):
    with self.assertRaisesRegex(
      errors.InputError, "no clients in split 'test'; found held_out, train"
    ):
      grouped_client_data.GroupedClientData(self._folder, 'test')
