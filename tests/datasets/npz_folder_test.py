# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of clients in a folder of .npz files."""

import io
import os
import pathlib
import struct
from unittest import mock
import zipfile

from fedfish_tff import errors
from fedfish_tff import regular_files
from fedfish_tff.datasets import npz_files
from fedfish_tff.datasets import npz_folder
from tests import temporary_folders

from absl.testing import absltest
import numpy as np
import tensorflow as tf


def _pair(n, num_features=2):
  x = np.arange(n * num_features, dtype=np.float32).reshape(n, num_features)
  return dict(x=x, y=np.arange(n, dtype=np.int64))


class NpzFolderClientDataTest(temporary_folders.TestCase):
  def _save(self, client_id, **arrays):
    np.savez(self.folder / f'{client_id}.npz', **arrays)

  def _assert_refused(self, client_id, regex):
    data = npz_folder.NpzFolderClientData(self.folder)
    with self.assertRaisesRegex(errors.InputError, regex) as context:
      data.load_client(client_id)
    self.assertIn(repr(client_id), str(context.exception))
    self.assertNotIn('\n', str(context.exception))

  def test_reads_clients(self):
    self._save('b', **_pair(3), more=np.zeros(7))
    np.savez_compressed(self.folder / 'a.b c.npz', **_pair(2))
    (self.folder / 'README.txt').write_text('not a client')
    (self.folder / '._b.npz').write_text('left by a file manager')
    data = npz_folder.NpzFolderClientData(str(self.folder))
    self.assertEqual(data.client_ids, ('a.b c', 'b'))
    self.assertEqual(
      data.element_spec,
      (tf.TensorSpec([2], tf.float32), tf.TensorSpec([], tf.int64)),
    )
    x, y = data.load_client('b')
    np.testing.assert_array_equal(x, _pair(3)['x'])
    np.testing.assert_array_equal(y, _pair(3)['y'])
    with self.assertRaisesRegex(errors.InputError, "client .*'c'"):
      data.load_client('c')
    with self.assertRaisesRegex(errors.InputError, "got '../b'"):
      data.load_client('../b')

  def test_reads_lazily(self):
    self._save('a', **_pair(2))
    (self.folder / 'z.npz').write_bytes(b'damaged')
    data = npz_folder.NpzFolderClientData(self.folder)
    self.assertLen(data.load_client('a')[1], 2)

  def test_missing_and_empty_folders(self):
    with self.assertRaisesRegex(
      errors.InputError, r"'/nowhere/at/all' .*cannot be read \(No such file"
    ):
      npz_folder.NpzFolderClientData('/nowhere/at/all')
    with self.assertRaisesRegex(errors.InputError, 'one .npz file per client'):
      npz_folder.NpzFolderClientData(self.folder)
    self._save('a', **_pair(2))
    with self.assertRaisesRegex(errors.InputError, 'Not a directory'):
      npz_folder.NpzFolderClientData(self.folder / 'a.npz')

  def test_an_npy_file_is_no_archive(self):
    with open(self.folder / 'bad.npz', 'wb') as file:
      np.save(file, np.zeros(3))
    self._assert_refused('bad', 'is not a zip file')

  def test_every_truncation_is_reported(self):
    self._save('a', **_pair(2))
    self._save('bad', **_pair(3))
    path = self.folder / 'bad.npz'
    content = path.read_bytes()
    data = npz_folder.NpzFolderClientData(self.folder)
    for length in range(0, len(content) - 1, 7):
      path.write_bytes(content[:length])
      with self.assertRaisesRegex(errors.InputError, "'bad' .*cannot be read"):
        data.load_client('bad')

  def test_flipped_bytes_never_give_other_values(self):
    self._save('bad', **_pair(3))
    path = self.folder / 'bad.npz'
    content = path.read_bytes()
    for position in range(0, len(content), 5):
      flipped = bytearray(content)
      flipped[position] ^= 0xFF
      path.write_bytes(flipped)
      try:
        # Bytes outside of what is read may be anything.
        x, y = npz_folder.NpzFolderClientData(self.folder).load_client('bad')
      except errors.InputError as error:
        self.assertIn("'bad'", str(error))
      else:
        np.testing.assert_array_equal(x, _pair(3)['x'])
        np.testing.assert_array_equal(y, _pair(3)['y'])

  def test_missing_arrays(self):
    self._save('a', **_pair(2))
    self._save('bad', x=np.zeros([2, 2]), labels=np.zeros(2))
    self._assert_refused('bad', r"\['labels', 'x'\]")

  def test_object_arrays_are_not_read(self):
    self._save('a', **_pair(2))
    self._save('bad', x=np.array([1, None], object), y=np.zeros(2))
    self._assert_refused('bad', "'x' .*Python objects")

  def test_a_client_of_other_arrays_than_the_first(self):
    self._save('a', **_pair(2))
    self._save('bad', **_pair(2, num_features=3))
    self._assert_refused('bad', r"'x' .*float32\[3\]")

  def test_file_that_vanished(self):
    self._save('a', **_pair(2))
    self._save('bad', **_pair(2))
    data = npz_folder.NpzFolderClientData(self.folder)
    os.remove(self.folder / 'bad.npz')
    with self.assertRaisesRegex(errors.InputError, "'bad' .*No such file"):
      data.load_client('bad')

  def test_clients_without_examples(self):
    self._save('a', **_pair(0))
    self._save('b', **_pair(2))
    self._assert_refused('a', 'at least one example')
    data = npz_folder.NpzFolderClientData(self.folder, skip_empty_clients=True)
    self.assertEqual(data.client_ids, ('b',))
    os.remove(self.folder / 'b.npz')
    with self.assertRaisesRegex(errors.InputError, 'no client with examples'):
      npz_folder.NpzFolderClientData(self.folder, skip_empty_clients=True)

  def test_skipping_reports_damaged_files(self):
    self._save('a', **_pair(2))
    (self.folder / 'bad.npz').write_bytes(b'damaged')
    with self.assertRaisesRegex(errors.InputError, "'bad' .*cannot be read"):
      npz_folder.NpzFolderClientData(self.folder, skip_empty_clients=True)

  def _divide(self, **clients):
    """Saves pairs (train, test), either may be None, in two subfolders."""
    for name in ('train', 'test'):
      (self.folder / name).mkdir()
    for client_id, pair in clients.items():
      for name, arrays in zip(('train', 'test'), pair, strict=True):
        if arrays is not None:
          np.savez(self.folder / name / f'{client_id}.npz', **arrays)

  def _own_test(self, **options):
    return npz_folder.NpzFolderClientData(self.folder, **options).own_test

  def test_own_test_data_in_the_file(self):
    self._save('a', **_pair(2))
    self.assertIsNone(self._own_test())
    own = _pair(5)
    self._save('b', **_pair(3), x_test=own['x'], y_test=own['y'])
    self._save('c', **_pair(3), x_test=own['x'][:0], y_test=own['y'][:0])
    found = self._own_test()
    self.assertEqual(found.client_ids, ('b',))
    for array, name in zip(found.load_client('b'), 'xy'):
      np.testing.assert_array_equal(array, own[name])
    with self.assertRaisesRegex(errors.InputError, "got 'a'"):
      found.load_client('a')

  def test_own_test_data_in_a_folder(self):
    self._divide(a=(_pair(2), _pair(1)), b=(_pair(3), None))
    (self.folder / 'config.json').write_text('{}')
    data = npz_folder.NpzFolderClientData(self.folder)
    self.assertEqual(data.client_ids, ('a', 'b'))
    self.assertLen(data.load_client('b')[1], 3)
    self.assertEqual(data.own_test.client_ids, ('a',))
    self.assertLen(data.own_test.load_client('a')[1], 1)

  def test_own_test_data_in_the_files_of_a_divided_folder(self):
    own = _pair(5)
    a = _pair(2) | {'x_test': own['x'], 'y_test': own['y']}
    self._divide(a=(a, None), b=(_pair(3), None))
    (self.folder / 'test').rmdir()
    self.assertEqual(self._own_test().client_ids, ('a',))

  def test_files_beside_those_of_a_divided_folder_are_refused(self):
    self._divide(a=(None, _pair(1)))
    self._save('a', **_pair(2))
    with self.assertRaisesRegex(errors.InputError, 'a.npz and train and test'):
      self._own_test()

  def test_a_client_with_test_data_alone(self):
    self._divide(a=(_pair(2), _pair(1)), b=(None, _pair(1)))
    with self.assertRaisesRegex(errors.InputError, "'b' .* in test alone"):
      self._own_test()

  def test_skipped_clients_have_no_test_data(self):
    self._divide(a=(_pair(2), _pair(1)), b=(_pair(0), _pair(1)))
    found = self._own_test(skip_empty_clients=True)
    self.assertEqual(found.client_ids, ('a',))

  def test_own_test_data_of_another_shape(self):
    own = _pair(2, num_features=3)
    self._save('a', **_pair(2), x_test=own['x'], y_test=own['y'])
    with self.assertRaisesRegex(
      errors.InputError, r"^Own test data: Array 'x' of client 'a' .*\[3\]"
    ):
      self._own_test().load_client('a')

  def test_half_of_the_own_test_data(self):
    self._save('a', **_pair(2), x_test=_pair(1)['x'])
    with self.assertRaisesRegex(
      errors.InputError, r"arrays \['x_test', 'y_test'\], got \['x', 'x_test'"
    ):
      self._own_test()

  def test_pickles_are_not_read(self):
    self._divide()
    for name in ('train', 'test'):
      np.savez_compressed(self.folder / name / '0.npz', data=_pair(2))
    with self.assertRaisesRegex(
      errors.InputError, r"got \['data'\]; if it is a pickled .* np.savez\("
    ):
      npz_folder.NpzFolderClientData(self.folder).load_client('0')

  def test_folders_of_other_frameworks(self):
    (self.folder / 'partition.pkl').write_bytes(b'never opened')
    with self.assertRaisesRegex(errors.InputError, 'FL-bench .* by np.savez'):
      npz_folder.NpzFolderClientData(self.folder)
    self._divide()
    (self.folder / 'train' / 'all_data_0.json').write_text('{}')
    with self.assertRaisesRegex(
      errors.InputError, f'partition_dataset --dataset={self.folder} '
    ):
      npz_folder.NpzFolderClientData(self.folder)


_ARRAYS = {
  'a': np.arange(6.0).reshape(2, 3).T,
  'empty': np.zeros([0, 4], np.int8),
  'scalar': np.array('text'),
}


class NpzFilesTest(absltest.TestCase):
  def test_reads_what_numpy_writes(self):
    for save in (np.savez, np.savez_compressed):
      content = io.BytesIO()
      save(content, **_ARRAYS)
      with zipfile.ZipFile(content) as archive:
        self.assertEqual(npz_files.npz_array_names(archive), sorted(_ARRAYS))
        for name, array in _ARRAYS.items():
          found = npz_files.read_npz_array(archive, name)
          np.testing.assert_array_equal(found, array, strict=True)
          self.assertEqual(
            npz_files.read_npz_header(archive, name), (array.shape, array.dtype)
          )
        self.assertEqual(npz_files.read_npz_text(archive, 'scalar'), 'text')
        with self.assertRaisesRegex(
          ValueError, "'a' must be a text .* float64"
        ):
          npz_files.read_npz_text(archive, 'a')

  def test_numpy_reads_what_is_written(self):
    contents = []
    for _ in range(2):
      content = io.BytesIO()
      npz_files.write_npz(content, _ARRAYS)
      contents.append(content.getvalue())
    self.assertEqual(*contents)
    with np.load(io.BytesIO(contents[0]), allow_pickle=False) as found:
      self.assertEqual(found.files, list(_ARRAYS))
      for name, array in _ARRAYS.items():
        np.testing.assert_array_equal(found[name], array, strict=True)
    with self.assertRaisesRegex(ValueError, 'allow_pickle=False'):
      npz_files.write_npz(io.BytesIO(), {'a': np.array(print, object)})

  def test_a_small_file_of_many_values_is_refused(self):
    path = pathlib.Path(self.create_tempdir().full_path) / 'a.npz'
    zeros = {'a': np.zeros(2**12), 'b': np.zeros(2**12)}
    numbers = {'a': np.random.default_rng(0).normal(size=2**13)}
    self.enter_context(mock.patch.object(regular_files, '_MOST_BYTES', 2**15))
    for save, arrays in (
      (np.savez, zeros),
      (np.savez_compressed, numbers),
      (np.savez_compressed, {'a': zeros['a'][:4000]}),
    ):
      save(path, **arrays)
      with npz_files.open_archive(path) as archive:
        found = npz_files.read_npz_array(archive, 'a')
        np.testing.assert_array_equal(found, arrays['a'])
    np.savez_compressed(path, **zeros)
    size = path.stat().st_size
    with (
      self.assertRaisesRegex(
        ValueError,
        f'archive of {size:,} bytes must hold at most .*, got 65,[0-9]+; one',
      ),
      npz_files.open_archive(path),
    ):
      pass

  def test_a_wrong_offset_is_damage_and_no_failure_to_read(self):
    path = pathlib.Path(self.create_tempfile().full_path)
    with path.open('wb') as file:
      npz_files.write_npz(file, _ARRAYS)
    content = bytearray(path.read_bytes())
    # The place of the archive's directory, in the last record.
    place = content.rindex(b'PK\5\6') + 16
    (offset,) = struct.unpack_from('<I', content, place)
    struct.pack_into('<I', content, place, offset + 2)
    path.write_bytes(content)
    with self.assertRaisesRegex(ValueError, 'begins before the file'):
      with npz_files.open_archive(path) as archive:
        npz_files.read_npz_array(archive, 'a')

  def test_promises_are_compared_with_the_file(self):
    for shape in ((10, 5 * 10**11), (10**30,), (5,), (0, 7)):
      member = io.BytesIO()
      np.lib.format.write_array_header_1_0(
        member, {'descr': '<f4', 'fortran_order': False, 'shape': shape}
      )
      content = io.BytesIO()
      with zipfile.ZipFile(content, 'w') as archive:
        archive.writestr('a.npy', member.getvalue() + bytes(24))
      with zipfile.ZipFile(content) as archive:
        for read in (npz_files.read_npz_array, npz_files.read_npz_header):
          with self.assertRaisesRegex(ValueError, 'promises .* and holds 24'):
            read(archive, 'a')
