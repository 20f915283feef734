# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of locks, and of file systems that have none."""

import errno
import fcntl
import os
import pathlib
from unittest import mock

from fedfish_tff import errors
from fedfish_tff import locks

from absl.testing import parameterized


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
