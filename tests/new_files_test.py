# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of locks and of new files, which are whole or not there."""

import errno
import fcntl
import os
import pathlib
from unittest import mock

from fedfish_tff import errors
from fedfish_tff import locks
from fedfish_tff import new_files

from absl.testing import absltest
from absl.testing import parameterized


class NewFileTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)

  def test_a_link_is_replaced_and_what_it_leads_to_stays(self):
    outside = pathlib.Path(self.create_tempfile(content='mine').full_path)
    (self.folder / 'a').symlink_to(outside)
    with new_files.new_file(self.folder / 'a') as file:
      file.write(b'new')
      (temporary,) = set(os.listdir(self.folder)) - {'a'}
    self.assertTrue(new_files.is_temporary(temporary))
    self.assertFalse((self.folder / 'a').is_symlink())
    self.assertEqual((self.folder / 'a').read_bytes(), b'new')
    self.assertEqual(outside.read_text(), 'mine')
    self.assertEqual(os.listdir(self.folder), ['a'])
    # No two have the same name, and others are as readable as `open` has them.
    self.assertNotEqual(
      *(new_files.temporary_path(self.folder / 'a') for _ in range(2))
    )
    umask = os.umask(0)
    os.umask(umask)
    self.assertEqual((self.folder / 'a').stat().st_mode & 0o777, 0o666 & ~umask)

  def test_a_failed_one_leaves_nothing(self):
    with self.assertRaises(KeyboardInterrupt):
      with new_files.new_file(self.folder / 'a') as file:
        file.write(b'half')
        raise KeyboardInterrupt
    self.assertEmpty(os.listdir(self.folder))

  def test_leftovers_are_removed_and_nothing_else(self):
    outside = pathlib.Path(self.create_tempfile(content='mine').full_path)
    names = ['a.partial', f'{"0" * 32}.partial', 'sub/a']
    left = [f'{parent}a.json.{"0f" * 16}.partial' for parent in ('', 'sub/')]
    kept = f'skipped/{left[0]}'
    for folder in ('sub', 'skipped'):
      (self.folder / folder).mkdir()
    for name in (*names, left[0], kept):
      (self.folder / name).touch()
    (self.folder / left[1]).symlink_to(outside)
    for folder in ('gone', 'sub/gone'):
      gone = self.folder / f'{folder}.{"0f" * 16}.partial'
      gone.mkdir()
      (gone / 'half').touch()
    new_files.remove_temporaries(self.folder, skipped=['skipped'])
    self.assertCountEqual(
      [
        str(path.relative_to(self.folder))
        for path in self.folder.rglob('*')
        if path.name not in ('sub', 'skipped')
      ],
      [*names, kept],
    )
    self.assertEqual(outside.read_text(), 'mine')


class HoldTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    folder = pathlib.Path(self.create_tempdir().full_path)
    self.path = folder / 'made' / '.lock'

  def test_one_at_a_time(self):
    with locks.hold(self.path):
      with self.assertRaisesRegex(errors.InputError, '^Not now.$'):
        with locks.hold(self.path, in_use='Not now.'):
          self.fail('Not reached.')
    self.assertFalse(self.path.exists())
    with locks.hold(self.path, in_use='Not now.'):
      self.assertTrue(self.path.exists())

  def test_one_that_its_holder_removes_is_taken_anew(self):
    flock, calls = fcntl.flock, []

    def remove(descriptor, operation):
      flock(descriptor, operation)
      calls.append(operation)
      if len(calls) == 1:
        self.path.unlink()

    with mock.patch.object(fcntl, 'flock', autospec=True, side_effect=remove):
      with locks.hold(self.path):
        self.assertTrue(self.path.exists())
    self.assertLen(calls, 2)

  def test_a_link_is_not_followed(self):
    outside = pathlib.Path(self.create_tempdir().full_path) / 'absent'
    self.path.parent.mkdir()
    self.path.symlink_to(outside)
    with self.assertRaises(OSError):
      with locks.hold(self.path):
        self.fail('Not reached.')
    self.assertFalse(outside.exists())

  def test_a_file_of_others_stays(self):
    self.path.parent.mkdir()
    self.path.write_text('pins')
    with self.assertRaisesRegex(errors.InputError, 'got a file with content'):
      with locks.hold(self.path):
        self.fail('Not reached.')
    self.assertEqual(self.path.read_text(), 'pins')

  @parameterized.parameters(
    (errno.ENOLCK, 'No locks'),
    (errno.EOPNOTSUPP, 'not supported'),
    (errno.ENOSYS, 'not impl'),
    (errno.EINVAL, 'Invalid'),
    # As where nothing is asked, or each machine has locks of its own.
    (None, 'two can hold the same one'),
  )
  def test_where_locks_do_not_work(self, number, reason):
    error = OSError(number, os.strerror(number)) if number else None
    with mock.patch.object(fcntl, 'flock', autospec=True, side_effect=error):
      for in_use in (None, 'In use.'):
        with self.assertRaisesRegex(
          errors.InputError,
          f'Locks do not work in {self.path.parent} .*{reason}.*'
          'FEDFISH_TFF_WITHOUT_LOCKS=1',
        ):
          with locks.hold(self.path, in_use=in_use):
            self.fail('Not reached.')
      with mock.patch.dict(os.environ, {'FEDFISH_TFF_WITHOUT_LOCKS': '1'}):
        with locks.hold(self.path):
          pass
    self.assertFalse(self.path.exists())
