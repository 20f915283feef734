# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of files that are whole or not there, and never somebody else's."""

import os
import pathlib

from fedfish_tff import new_files

from absl.testing import absltest


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
