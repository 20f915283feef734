# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Pipes, devices and folders in place of files."""

import os
import pathlib

from fedfish_tff import regular_files

from absl.testing import absltest


class RegularFilesTest(absltest.TestCase):
  def test_reads_files_and_nothing_else(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    (folder / 'file').write_bytes(b'content')
    (folder / 'link').symlink_to(folder / 'file')
    os.mkfifo(folder / 'pipe')
    for name in ('file', 'link'):
      self.assertEqual(regular_files.read_bytes(folder / name), b'content')
    for path in (folder / 'pipe', '/dev/zero'):
      with self.assertRaisesRegex(OSError, 'Not a regular file'):
        regular_files.read_bytes(path)
    with self.assertRaises(IsADirectoryError):
      regular_files.read_bytes(folder)
    with self.assertRaises(FileNotFoundError):
      regular_files.read_bytes(folder / 'absent')


if __name__ == '__main__':
  absltest.main()
