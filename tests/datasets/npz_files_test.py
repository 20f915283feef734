# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Arrays in .npz files, written by NumPy."""

import io
import pathlib
import struct
from unittest import mock
import zipfile

from fedfish_tff import regular_files
from fedfish_tff.datasets import npz_files

from absl.testing import absltest
import numpy as np

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
