# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of indexes of clients, their ids and their files."""

import io
import pathlib

from fedfish_tff import errors
from fedfish_tff.datasets import client_files
from fedfish_tff.datasets import client_index
from fedfish_tff.datasets import sorted_ids
from tests import grouped_clients

from absl.testing import parameterized
from dataset_grouper import serialization
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import tensorflow as tf

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


# What can be encoded as UTF-8.
_TEXT = st.text(st.characters(exclude_categories=('Cs',)), max_size=5)


def _ids(values):
  return sorted_ids.SortedIds(pa.array(values, pa.large_string()))


class SortedIdsTest(parameterized.TestCase):
  @settings(max_examples=200)
  @given(st.sets(_TEXT, max_size=30), _TEXT, st.data())
  def test_is_like_a_tuple(self, values, other, data):
    expected = tuple(sorted(values))
    ids = _ids(expected)
    self.assertLen(ids, len(expected))
    self.assertEqual(tuple(ids), expected)
    self.assertEqual(tuple(reversed(ids)), expected[::-1])
    for i in range(-len(expected), len(expected)):
      self.assertEqual(ids[i], expected[i])
    for value in (*expected, other):
      self.assertEqual(value in ids, value in expected)
      self.assertEqual(ids.count(value), expected.count(value))
      self.assertEqual(
        sorted_ids.contains_id(expected, value), value in expected
      )
      self.assertEqual(ids.find(value) is None, value not in expected)
      if value in expected:
        self.assertEqual(ids.index(value), expected.index(value))
    bound = st.none() | st.integers(-35, 35)
    step = data.draw(st.sampled_from([None, 1, 2, -1, -3]))
    part = slice(data.draw(bound), data.draw(bound), step)
    self.assertEqual(tuple(ids[part]), expected[part])
    if step in (None, 1):
      self.assertEqual(
        [v in ids[part] for v in values], [v in expected[part] for v in values]
      )

  def test_places_out_of_range(self):
    ids = _ids(['a', 'b'])
    for i in (2, -3):
      with self.assertRaises(IndexError):
        ids[i]
    for arguments in (('c',), ('a', 1), ('b', 0, 1), ('a', 5)):
      with self.assertRaises(ValueError):
        ids.index(*arguments)
    self.assertNotIn(None, ids)

  def test_a_part_is_no_copy(self):
    ids = _ids([f'{i:06}' for i in range(100_000)])
    before = pa.total_allocated_bytes()
    part = ids[10_000:90_000]
    self.assertLess(pa.total_allocated_bytes() - before, 10_000)
    self.assertEqual(part[0], '010000')
    self.assertLess(ids.nbytes, 2e6)
    self.assertEqual(sum(1 for _ in ids), 100_000)

  @parameterized.parameters(
    (['b', 'a'], "'a' .*'b'"),
    (['a', 'b', 'b'], "'b' .*'b'"),
    (['a', None], '1 of 2 missing'),
  )
  def test_bad_ids(self, values, regex):
    with self.assertRaisesRegex(errors.InputError, regex):
      _ids(values)

  def test_repr(self):
    self.assertEqual(repr(_ids(['a'])), "SortedIds(['a'])")
    self.assertEqual(repr(_ids('abcd')), "SortedIds(['a', 'b', 'c', ...])")


class ClientFileTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.path = pathlib.Path(self.create_tempdir().full_path) / 'a.tfrecord'

  def _write(self, path, clients):
    with client_files.ClientFile(path) as file:
      for client_id, (examples, words) in clients.items():
        sizes = np.array([len(example) for example in examples], np.int64)
        file.write(client_id, iter(examples), sizes=sizes, words=words)

  # Where lengths, with those around them, get another byte; and where a record
  # is made in several pieces.
  @parameterized.parameters(
    ([0],),
    (range(110, 130),),
    ([2**14 - 10 + i for i in range(12)],),
    ([2**22 + 5, 3, 2**21, 2**22],),
  )
  def test_records_are_those_of_dataset_grouper(self, sizes):
    examples = [bytes([i % 256]) * size for i, size in enumerate(sizes)]
    self._write(self.path, {'ü.org': (examples, 7)})
    (record,) = tf.data.TFRecordDataset(str(self.path)).as_numpy_iterator()
    expected = serialization.create_sequence_example(examples)
    feature = expected.context.feature
    feature['client_id'].bytes_list.value.append('ü.org'.encode())
    feature['examples'].int64_list.value.append(len(examples))
    feature['words'].int64_list.value.append(7)
    self.assertEqual(record, expected.SerializeToString(deterministic=True))

  @parameterized.parameters('', 'ram://client_files_test/a.tfrecord')
  def test_an_index_is_made_from_the_file(self, path):
    path = path or self.path
    clients = {'b': ([b'x', b'yy'], 3), 'a' * 9999: ([b'z' * 300], 2**40)}
    self._write(path, clients)
    rows = client_files.read_index(path, 'train', 4).to_pylist()
    self.assertEqual(
      [(r['client_id'], r['examples'], r['words']) for r in rows],
      [('b', 2, 3), ('a' * 9999, 1, 2**40)],
    )
    self.assertEqual({(r['split'], r['shard']) for r in rows}, {('train', 4)})
    records = tf.data.TFRecordDataset(str(path)).as_numpy_iterator()
    self.assertEqual([r['record_bytes'] for r in rows], list(map(len, records)))

  # Where lengths get another byte.
  @parameterized.parameters(0, 127, 128, 2**14 - 1, 2**14, 2**21, 2**28)
  def test_fields(self, size):
    content = b'a' * size
    message = tf.train.BytesList(value=[content]).SerializeToString()
    self.assertEqual(client_files._header(1, size) + content, message)
    (num_bytes,) = client_files._field_sizes(np.array([size]))
    self.assertLen(message, num_bytes)
    self.assertEqual(
      client_files._read_field(io.BytesIO(message + b'more')), content
    )

  def test_what_fails_leaves_nothing(self):
    with self.assertRaises(KeyboardInterrupt):
      with client_files.ClientFile(self.path) as file:
        file.write('a', [b'x'], sizes=np.array([1]), words=1)
        raise KeyboardInterrupt
    self.assertEmpty(list(self.path.parent.iterdir()))

  def test_records_without_context(self):
    record = serialization.create_sequence_example([b'x']).SerializeToString()
    for content in (record, b'', b'\x0a', b'\x0a\x80', b'\x0a\x01\xff'):
      with tf.io.TFRecordWriter(str(self.path)) as writer:
        writer.write(content)
      with self.assertRaisesRegex(
        errors.InputError, 'at byte 0 of .* must have the id and the sizes'
      ):
        client_files.read_index(self.path, 'train', 0)
