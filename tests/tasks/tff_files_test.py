# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of where the files of TFF's data sets come from; nothing is fetched."""

import os
import pathlib
import socket
from unittest import mock
import urllib.error

from fedfish_tff import errors
from tasks import tff_files
from tests import temporary_folders
from tests import tff_database

from absl.testing import parameterized


def _write(folder):
  tff_database.write_tff_database(
    pathlib.Path(folder) / 'tiny.sqlite', {'train': {'a': [{'x': [1]}]}}
  )


def _load_data(cache_dir):
  """As TFF's loaders are called."""


class TffFilesTest(temporary_folders.TestCase):
  def _load(self, load_data, **changed):
    arguments = dict(
      splits=('train',), data_dir=str(self.folder), download=False
    )
    return tff_files.load_tff_data(
      'tiny', load_data, 'tiny.sqlite', **(arguments | changed)
    )

  def test_calls_the_loader_where_the_file_is(self):
    _write(self.folder)
    for download in (True, False):
      loader = mock.create_autospec(_load_data, return_value='data')
      self.assertEqual(self._load(loader, download=download), 'data')
      loader.assert_called_once_with(cache_dir=str(self.folder))

  def test_without_data_dir_it_is_tffs_cache(self):
    (self.folder / '.tff').mkdir()
    _write(self.folder / '.tff')
    loader = mock.create_autospec(_load_data)
    with mock.patch.dict(os.environ, {'HOME': str(self.folder)}):
      self._load(loader, data_dir=None)
    loader.assert_called_once_with(cache_dir=str(self.folder / '.tff'))

  @parameterized.parameters('.', 'nowhere')
  def test_missing_file(self, folder):
    loader = mock.create_autospec(_load_data)
    with self.assertRaisesRegex(
      errors.InputError,
      "'tiny' found no file .*tiny.sqlite; fetch https://.*/tiny.sqlite.lzma "
      'and unpack it there .*--data_dir.*task.download=True',
    ):
      self._load(loader, data_dir=str(self.folder / folder))
    loader.assert_not_called()
    self.assertEmpty(os.listdir(self.folder))

  def test_file_that_is_no_data_base(self):
    (self.folder / 'tiny.sqlite').write_text('<html>')
    loader = mock.create_autospec(_load_data)
    with self.assertRaisesRegex(errors.InputError, 'TFF data base'):
      self._load(loader)
    loader.assert_not_called()

  def test_download(self):
    folders = []

    def load_data(cache_dir):
      folders.append(cache_dir)
      if not os.path.exists(os.path.join(cache_dir, 'tiny.sqlite')):
        self.assertIsNotNone(socket.getdefaulttimeout())
        _write(cache_dir)
      return 'data'

    folder = self.folder / 'new'
    self.assertEqual(
      self._load(load_data, data_dir=str(folder), download=True), 'data'
    )
    self.assertEqual(os.listdir(folder), ['tiny.sqlite'])
    self.assertLen(folders, 2)
    self.assertNotEqual(folders[0], str(folder))
    self.assertEqual(folders[1], str(folder))
    self.assertIsNone(socket.getdefaulttimeout())

  @parameterized.parameters(
    urllib.error.URLError('no route'), TimeoutError(), EOFError('half a file')
  )
  def test_download_that_fails_leaves_nothing(self, error):
    def load_data(cache_dir):
      pathlib.Path(cache_dir, 'tiny.sqlite').write_bytes(b'half')
      raise error

    with self.assertRaisesRegex(
      errors.InputError, "'tiny' could not download https://.* by other means"
    ):
      self._load(load_data, download=True)
    self.assertEmpty(os.listdir(self.folder))
    self.assertIsNone(socket.getdefaulttimeout())

  def test_download_that_is_cut_short_leaves_nothing(self):
    def load_data(cache_dir):
      _write(cache_dir)
      path = pathlib.Path(cache_dir, 'tiny.sqlite')
      path.write_bytes(path.read_bytes()[:-100])

    with self.assertRaisesRegex(
      errors.InputError, 'could not .*not a whole TFF data'
    ):
      self._load(load_data, download=True)
    self.assertEmpty(os.listdir(self.folder))
