# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of folders of clients that are whole or not there."""

import os
import pathlib
import signal
from unittest import mock

from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff import new_files
from launch.data import client_folder

from absl.testing import absltest
from absl.testing import parameterized
from hypothesis import given
from hypothesis import strategies as st
import numpy as np

_TEXT = st.text(
  st.characters(exclude_categories=('Cs',)) | st.sampled_from('/.%\\'),
  max_size=300,
)


class ClientIdTest(parameterized.TestCase):
  @given(st.lists(_TEXT, unique=True, max_size=8))
  def test_different_names_are_different_files(self, names):
    ids = [client_folder.client_id(name) for name in names]
    self.assertLen(set(ids), len(names))
    for client_id in ids:
      self.assertNotIn('/', client_id)
      self.assertNotIn('\0', client_id)
      self.assertFalse(client_id.startswith('.'))
      self.assertBetween(len(f'{client_id}.npz'.encode()), 5, 255)

  @parameterized.parameters(
    ('Zoë', 'Zoë'),
    ('f_0012', 'f_0012'),
    ('www.a.org/b', 'www.a.org%2Fb'),
    ('.hidden', '%2Ehidden'),
    ('50%', '50%25'),
    ('', '%'),
  )
  def test_names_stay_readable(self, name, client_id):
    self.assertEqual(client_folder.client_id(name), client_id)


class NewFolderTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.parent = pathlib.Path(self.create_tempdir().full_path)
    self.folder = self.parent / 'clients'

  def test_clients_are_read_as_they_were_written(self):
    x, y = np.arange(12, dtype=np.uint8).reshape(3, 2, 2), np.array([2, 0, 1])
    with client_folder.new_folder(self.folder) as partial:
      for name in ('Zoë', '%'):
        client_folder.write_client(partial, name, x=x, y=y)
      self.assertFalse(self.folder.exists())
    clients = datasets.NpzFolderClientData(self.folder)
    self.assertEqual(clients.client_ids, ('%', 'Zoë'))
    for name in clients.client_ids:
      for found, expected in zip(clients.load_client(name), (x, y)):
        np.testing.assert_array_equal(found, expected)
        self.assertEqual(found.dtype, expected.dtype)
    self.assertEqual(list(self.parent.iterdir()), [self.folder])

  def test_an_empty_folder_is_free(self):
    self.folder.mkdir()
    with client_folder.new_folder(self.folder) as partial:
      (partial / 'a').write_text('')
    self.assertEqual([p.name for p in self.folder.iterdir()], ['a'])

  def test_nothing_is_overwritten(self):
    self.folder.mkdir()
    (self.folder / 'mine').write_text('')
    with self.assertRaisesRegex(errors.InputError, 'not empty'):
      with client_folder.new_folder(self.folder):
        self.fail('Not reached.')
    with self.assertRaisesRegex(errors.InputError, 'got a file'):
      client_folder.check_is_free(self.folder / 'mine')
    self.assertEqual(list(self.parent.iterdir()), [self.folder])

  def test_failures_leave_nothing(self):
    for error, raised in (
      (KeyboardInterrupt(), KeyboardInterrupt),
      (OSError(28, 'No space left on device'), errors.InputError),
    ):
      with self.assertRaises(raised):
        with client_folder.new_folder(self.folder) as partial:
          (partial / 'a').write_text('')
          raise error
      self.assertEmpty(list(self.parent.iterdir()))

  def test_a_killed_process_leaves_nothing_that_looks_whole(self):
    child = os.fork()
    if not child:
      with client_folder.new_folder(self.folder) as partial:
        (partial / 'half').mkdir()
        (partial / 'half.npz').write_text('half')
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    partial, lock = sorted(os.listdir(self.parent))
    self.assertTrue(new_files.is_temporary(partial))
    self.assertEqual(lock, f'{partial}.lock')
    with client_folder.new_folder(self.folder) as partial:
      (partial / 'whole').write_text('')
    self.assertEqual(list(self.parent.iterdir()), [self.folder])
    self.assertEqual([p.name for p in self.folder.iterdir()], ['whole'])

  def test_work_to_go_on_with_is_kept(self):
    for name in ('work', 'more'):
      with self.assertRaises(KeyboardInterrupt):
        with client_folder.new_folder(self.folder, work='work') as partial:
          (partial / name).mkdir()
          raise KeyboardInterrupt
    with client_folder.new_folder(self.folder, work='work') as partial:
      (partial / 'work').rmdir()
    self.assertEqual([p.name for p in self.folder.iterdir()], ['more'])

  def test_two_writers_do_not_mix(self):
    with client_folder.new_folder(self.folder) as partial:
      (partial / 'a').write_text('')
      with self.assertRaisesRegex(errors.InputError, 'Another process'):
        with client_folder.new_folder(self.folder):
          self.fail('Not reached.')
    self.assertEqual([p.name for p in self.folder.iterdir()], ['a'])

  def test_what_others_have_put_there_stays_and_is_not_used(self):
    outside = pathlib.Path(self.create_tempdir().full_path)
    (self.parent / 'clients.lock').write_text('pins')
    (self.parent / 'clients.partial' / 'work').mkdir(parents=True)
    link, partial = map(new_files.temporary_path, [self.folder] * 2)
    link.symlink_to(outside)
    (partial / 'work').mkdir(parents=True)
    before = set(self.parent.rglob('*'))
    with mock.patch.object(os, 'geteuid', autospec=True, return_value=-1):
      with client_folder.new_folder(self.folder, work='work') as new:
        self.assertNotIn(new, (link, partial))
    self.assertEqual(set(self.parent.rglob('*')), {*before, self.folder})
    self.folder.rmdir()
    (partial / 'work' / 'runs').symlink_to(outside)
    with self.assertRaisesRegex(
      errors.InputError, 'work/runs .*got a link that leads out'
    ):
      with client_folder.new_folder(self.folder, work='work'):
        self.fail('Not reached.')
    self.assertEmpty(list(outside.iterdir()))

  def test_a_folder_that_cannot_be_made(self):
    (self.parent / 'got a file').write_text('')
    with self.assertRaisesRegex(errors.InputError, 'Cannot write'):
      with client_folder.new_folder(self.parent / 'got a file' / 'clients'):
        self.fail('Not reached.')
