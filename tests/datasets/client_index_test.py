# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the index of clients."""

import pathlib

from fedfish_tff import errors
from fedfish_tff.datasets import client_index
from tests import grouped_clients

from absl.testing import parameterized
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

_TEXTS = {
  'train': grouped_clients.make_texts(23),
  'validation': {'v.org': ['v'], 'w.org': ['w w']},
  'held_out': grouped_clients.make_texts(4),
}
_NUMBERS = ('shard', 'offset', 'record_bytes', 'examples')


class ClientIndexTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self._folder = grouped_clients.write_folder(
      pathlib.Path(self.create_tempdir().full_path) / 'd', _TEXTS, num_shards=3
    )
    self._path = self._folder / 'clients.parquet'

  def _index(self):
    return client_index.ClientIndex(self._folder)

  def _assert_refused(self, regex):
    with self.assertRaisesRegex(errors.InputError, regex) as caught:
      self._index().read_split('train')
    self.assertNotIn('\n', str(caught.exception))

  def _load(self, place):
    """Loads the client of a row of the training split."""
    index = self._index()
    return index.load_client(
      'train',
      index.read_split('train'),
      place,
      features=index.folder.features,
    )

  @parameterized.parameters(1, 4, 23, 1000)
  def test_rows_are_those_of_the_file(self, row_group_size):
    grouped_clients.rewrite_index(self._folder, row_group_size=row_group_size)
    table = {
      name: np.array(column)
      for name, column in pq.read_table(self._path).to_pydict().items()
    }
    index = self._index()
    for split, clients in _TEXTS.items():
      rows = index.read_split(split)
      expected = {k: v[table['split'] == split] for k, v in table.items()}
      self.assertSequenceEqual(rows.client_ids, sorted(clients))
      self.assertSequenceEqual(rows.client_ids, list(expected['client_id']))
      for name in _NUMBERS:
        np.testing.assert_array_equal(getattr(rows, name), expected[name])
      for start in range(len(clients)):
        for stop in range(start + 1, len(clients) + 1, 3):
          part = index.read_rows(split, start, stop)
          self.assertSequenceEqual(part.client_ids, sorted(clients)[start:stop])
          np.testing.assert_array_equal(part.offset, rows.offset[start:stop])

  @given(st.data())
  @settings(max_examples=150)
  def test_no_flipped_bit_goes_unnoticed(self, data):
    """Or it is in what nothing reads, such as statistics."""
    whole = self._path.read_bytes()
    expected = self._read_all()
    damaged = bytearray(whole)
    bit = data.draw(st.integers(0, 8 * len(whole) - 1))
    damaged[bit // 8] ^= 1 << bit % 8
    try:
      self._path.write_bytes(damaged)
      self.assertEqual(self._read_all(), expected)
    except errors.InputError:
      pass
    finally:
      self._path.write_bytes(whole)

  def _read_all(self):
    index = self._index()
    all_rows = {split: index.read_split(split) for split in _TEXTS}
    return {
      split: [
        list(rows.client_ids),
        *(getattr(rows, name).tolist() for name in _NUMBERS),
      ]
      for split, rows in all_rows.items()
    }

  def test_takes_split_as_plain_text(self):
    splits = pq.read_table(self._path)['split'].cast(pa.string())
    grouped_clients.rewrite_index(self._folder, split=splits.combine_chunks())
    self.assertLen(self._index().read_split('train').client_ids, 23)

  def test_missing_and_damaged_file(self):
    whole = self._path.read_bytes()
    for size in (0, 3, len(whole) // 2, len(whole) - 1):
      self._path.write_bytes(whole[:size])
      self._assert_refused('index of clients .*cannot be read')
    self._path.write_bytes(b'PAR1' + bytes(len(whole) - 8) + b'PAR1')
    self._assert_refused('cannot be read')
    self._path.unlink()
    self._assert_refused('cannot be read')

  @parameterized.parameters('client_id', 'split', 'shard', 'offset', 'examples')
  def test_column_that_is_missing_or_of_another_type(self, name):
    whole = self._path.read_bytes()
    grouped_clients.rewrite_index(self._folder, **{name: None})
    self._assert_refused(f"column '{name}' of .* the type .*, got None")
    self._path.write_bytes(whole)
    grouped_clients.rewrite_index(
      self._folder, **{name: pa.array(np.zeros(29))}
    )
    self._assert_refused(f"column '{name}' of .* the type .*, got double")

  def test_other_number_of_rows(self):
    splits = {
      name: {'shards': 3, 'clients': len(clients), 'examples': 1, 'words': 1}
      for name, clients in _TEXTS.items()
    }
    del splits['validation']
    grouped_clients.rewrite_description(self._folder, splits=splits)
    self._assert_refused(r'row\(s\).*dataset.json beside.*29')
    # The right sum, but other splits.
    splits['a'] = {'shards': 3, 'clients': 2, 'examples': 1, 'words': 1}
    grouped_clients.rewrite_description(self._folder, splits=splits)
    self._assert_refused("'site-10.org' of split 'train'|of split 'validation'")

  @parameterized.parameters(
    ('client_id', 'site-1.org', "'site-1.org' .*'site-1.org'"),
    ('client_id', 'aaa', "train.*'aaa'.*'site-1.org'"),
    ('client_id', None, '1 of 23 missing'),
    ('split', 'held_out', "'site-10.org' of split 'held_out' among .*'train'"),
    ('examples', None, "'examples' .*1"),
  )
  def test_bad_value(self, name, value, regex):
    values = pq.read_table(self._path)[name].to_pylist()
    # After the four clients held out: those of train, site-0, site-1, site-10.
    values[4 + 2] = value
    grouped_clients.rewrite_index(self._folder, **{name: values})
    self._assert_refused(regex)

  @parameterized.parameters(('shard', 3), ('shard', -1), ('offset', -7))
  def test_record_that_is_nowhere(self, name, value):
    values = pq.read_table(self._path)[name].to_pylist()
    values[4 + 2] = value
    grouped_clients.rewrite_index(self._folder, **{name: values})
    with self.assertRaisesRegex(
      errors.InputError, "^Client 'site-10.org': The record .* cannot be read"
    ):
      self._load(2)

  def test_record_of_another_client(self):
    offsets = pq.read_table(self._path)['offset'].to_pylist()
    train = slice(4, 27)
    offsets[train] = [0] * 23
    grouped_clients.rewrite_index(self._folder, offset=offsets)
    refused = 0
    for place in range(23):
      try:
        self._load(place)
      except errors.InputError as error:
        refused += 1
        self.assertRegex(str(error), r"^Client 'site-.*org': .*must")
    self.assertGreater(refused, 10)

  def test_number_of_examples(self):
    grouped_clients.rewrite_index(self._folder, examples=[7] * 29)
    with self.assertRaisesRegex(
      errors.InputError, "'site-0.org' must hold 7 .*got 1"
    ):
      self._load(0)
