# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Fault tests of atomic writing."""

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
  def test_names_what_is_no_file_and_leads_out(self):
    parent = pathlib.Path(self.create_tempdir().full_path)
    folder = parent / 'w'
    (folder / 'a').mkdir(parents=True)
    (folder / 'a' / 'file').touch()
    (folder / 'a' / 'gone').symlink_to(folder / 'gone')
    (folder / 'a' / 'up').symlink_to('../a')
    (folder / 'round').symlink_to('round')
    (parent / 'link').symlink_to(folder)
    for path in (folder, parent / 'link', parent / 'absent'):
      files.check_entries(path)
    (parent / 'w2').mkdir()
    (folder / 'b').symlink_to('a')
    for target in ('/dev/zero', parent, '../../w2', '../../no', '../b/../..'):
      (folder / 'a' / 'other').symlink_to(target)
      for path in (folder, parent / 'link'):
        with self.assertRaisesRegex(
          errors.InputError, f'^{path}/a/other .*got a link that leads out of'
        ):
          files.check_entries(path)
      (folder / 'a' / 'other').unlink()
    os.mkfifo(folder / 'a' / 'other')
    (folder / 'c').symlink_to('a/other')
    for name, is_read in (
      ('a/other', lambda path: path.name != 'c'),
      ('c', lambda path: path.name != 'other'),
    ):
      with self.assertRaisesRegex(
        errors.InputError, f'/{name} .*got a pipe, a'
      ):
        files.check_entries(folder, is_read=is_read)
    files.check_entries(folder, is_read=lambda path: path.parts[0] == 'b')


class MakeFolderTest(absltest.TestCase):
  def test_makes_parents_and_takes_what_is_there(self):
    path = pathlib.Path(self.create_tempdir().full_path) / 'a' / 'b'
    for _ in range(2):
      self.assertEqual(files.make_folder(path), path)
      self.assertTrue(path.is_dir())

  def test_place_that_cannot_be_one_is_named(self):
    with self.assertRaisesRegex(errors.InputError, '/dev/null/a'):
      files.make_folder('/dev/null/a')
