# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Fault tests of atomic writing."""

# bazel: tags = ['smoke']

import errno
import os
import pathlib
from unittest import mock

from fedfish_tff import errors
from fedfish_tff.simulation import files

from absl.testing import absltest
from absl.testing import parameterized
import tensorflow as tf


class WriteAtomicallyTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.path = pathlib.Path(self.create_tempdir().full_path) / 'a.json'

  def test_replaces_the_content(self):
    files.write_atomically(self.path, b'old')
    files.write_atomically(self.path, b'new')
    self.assertEqual(self.path.read_bytes(), b'new')
    self.assertEqual(os.listdir(self.path.parent), ['a.json'])

  @parameterized.parameters('fsync', 'replace')
  def test_a_full_disk_leaves_the_old_content(self, function):
    files.write_atomically(self.path, b'old')
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with mock.patch.object(os, function, autospec=True, side_effect=full):
      with self.assertRaisesRegex(
        errors.InputError, f'{self.path}: No space left .*free some space'
      ):
        files.write_atomically(self.path, b'new')
    self.assertEqual(self.path.read_bytes(), b'old')
    self.assertEqual(os.listdir(self.path.parent), ['a.json'])

  def test_names_a_path_that_cannot_be_written(self):
    files.write_atomically(self.path, b'a file, not a folder')
    with self.assertRaisesRegex(errors.InputError, 'a.json/b: Not a directory'):
      files.write_atomically(self.path / 'b', b'new')

  def test_knows_its_leftovers(self):
    seen = []
    with mock.patch.object(
      os,
      'replace',
      autospec=True,
      side_effect=lambda source, _: seen.append(source),
    ):
      files.write_atomically(self.path, b'new')
    self.assertTrue(files.is_temporary(seen[0]))
    self.assertFalse(files.is_temporary(self.path))


class UnwritableErrorTest(absltest.TestCase):
  def test_tensorflows_internals_are_left_out(self):
    error = tf.errors.ResourceExhaustedError(
      None,
      None,
      '{{function_node __wrapped__SaveV2_dtypes_23_device_/job:localhost}} '
      '/disk/part; No space left on device [Op:SaveV2]',
    )
    self.assertEqual(
      str(files.unwritable_error('/disk/part', error)),
      'Cannot write /disk/part: No space left on device; free some space and '
      'run the same command again.',
    )

  def test_other_errors_of_tensorflow_keep_their_first_line(self):
    error = tf.errors.UnknownError(None, None, 'Strange.\nAnd more.')
    self.assertIn('Strange', str(files.unwritable_error('/disk', error)))
    self.assertNotIn('more', str(files.unwritable_error('/disk', error)))


class CheckEntriesTest(absltest.TestCase):
  def test_names_what_is_no_file(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    (folder / 'a').mkdir()
    (folder / 'a' / 'file').touch()
    (folder / 'a' / 'gone').symlink_to(folder / 'gone')
    files.check_entries(folder)
    files.check_entries(folder / 'absent')
    for make in (os.mkfifo, lambda path: path.symlink_to('/dev/zero')):
      make(folder / 'a' / 'other')
      with self.assertRaisesRegex(errors.InputError, 'a/other is a pipe, a'):
        files.check_entries(folder)
      (folder / 'a' / 'other').unlink()


class MakeFolderTest(absltest.TestCase):
  def test_makes_parents_and_takes_what_is_there(self):
    path = pathlib.Path(self.create_tempdir().full_path) / 'a' / 'b'
    for _ in range(2):
      self.assertEqual(files.make_folder(path), path)
      self.assertTrue(path.is_dir())

  def test_place_that_cannot_be_one_is_named(self):
    with self.assertRaisesRegex(errors.InputError, '/dev/null/a'):
      files.make_folder('/dev/null/a')


if __name__ == '__main__':
  absltest.main()
