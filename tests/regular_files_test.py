# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of files that users give, which may hold anything or be no files."""

import builtins
import io
import json
import os
import pathlib
from unittest import mock

from fedfish_tff import errors
from fedfish_tff import regular_files

from absl.testing import absltest
from absl.testing import parameterized


class RegularFilesTest(absltest.TestCase):
  def test_reads_files_and_nothing_else(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    (folder / 'file').write_bytes(b'content')
    (folder / 'link').symlink_to(folder / 'file')
    os.mkfifo(folder / 'pipe')
    for name in ('file', 'link'):
      self.assertEqual(regular_files.read_bytes(folder / name), b'content')
    for path in (folder / 'pipe', '/dev/zero'):
      with self.assertRaisesRegex(errors.InputError, 'Not a regular file'):
        regular_files.read_bytes(path)
    with self.assertRaisesRegex(errors.InputError, 'Is a directory'):
      regular_files.read_bytes(folder)
    for path in (folder / 'absent', folder / 'file' / 'absent'):
      with self.assertRaises(regular_files.MissingFileError):
        regular_files.read_bytes(path)

  def test_only_files_with_one_name_are_changed_in_place(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    (folder / 'file').write_bytes(b'content')
    (folder / 'link').symlink_to(folder / 'file')
    os.mkfifo(folder / 'pipe')
    for name in ('file', 'new'):
      with open(folder / name, 'ab', opener=regular_files.own_opener) as file:
        file.write(b'!')
    os.link(folder / 'file', folder / 'backup')
    for name in ('file', 'backup', 'link', 'pipe'):
      with self.assertRaises(OSError):
        open(folder / name, 'ab', opener=regular_files.own_opener)
    self.assertEqual((folder / 'file').read_bytes(), b'content!')
    self.assertEqual((folder / 'new').read_bytes(), b'!')

  def test_what_has_no_end_is_refused(self):
    path = pathlib.Path(self.create_tempdir().full_path) / 'sparse'
    with open(path, 'wb') as file:
      file.truncate(2**40)
    for read in (regular_files.read_bytes, regular_files.digest):
      with self.assertRaisesRegex(
        errors.InputError, 'at most 268,435,456 bytes, got 1,099,511,627,776'
      ):
        read(path)
    # As the kernel's log, whose next line would be waited for.
    waiting = mock.create_autospec(io.BufferedReader, instance=True)
    waiting.__enter__.return_value = waiting
    waiting.read.return_value = None
    waiting.fileno.return_value = os.open(os.devnull, os.O_RDONLY)
    self.addCleanup(os.close, waiting.fileno.return_value)
    with mock.patch.object(builtins, 'open', return_value=waiting):
      with self.assertRaisesRegex(errors.InputError, 'kmsg: .*unavailable'):
        regular_files.read_bytes('kmsg')


class PatternsTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)

  def test_a_plain_folder_is_the_same_folder(self):
    for name in ('plain', 'a [x]*\\?'):
      folder = self.folder / name
      folder.mkdir()
      (folder / 'file').write_text(name)
      with regular_files.plain_folder(folder) as plain:
        self.assertNoCommonElements(plain, '*?[\\')
        self.assertEqual(pathlib.Path(plain, 'file').read_text(), name)

  def test_files_are_found_before_patterns(self):
    for name in ('a[1].txt', 'a1.txt', '[b]/c/.d.txt', '[b]/c/e.txt'):
      (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
      (self.folder / name).touch()
    for pattern, expected in (
      ('a[1].txt', ['a[1].txt']),
      ('a[1]*.txt', ['a1.txt']),
      ('a*', ['a1.txt', 'a[1].txt']),
      ('[b]/c/*.txt', ['[b]/c/.d.txt', '[b]/c/e.txt']),
      ('**/e.txt', ['[b]/c/e.txt']),
      ('none/*', []),
    ):
      found = regular_files.find_files(f'{self.folder}/{pattern}')
      self.assertEqual(found, [f'{self.folder}/{name}' for name in expected])


_FORM = {'n': int, 'x': (float, None), 'names': [str], 'sizes': {...: int}}
_GOOD = {
  'n': 1,
  'x': 2.5,
  'names': ['a'],
  'sizes': {'b': 2},
  'at most 268,435,456 bytes': [{}],
}


class JsonTest(parameterized.TestCase):
  def _read(self, text):
    path = self.create_tempfile('a.json', text).full_path
    return regular_files.read_json(path, _FORM)

  def test_reads(self):
    self.assertEqual(self._read(json.dumps(_GOOD)), _GOOD)
    for x in (3, None):
      self.assertEqual(self._read(json.dumps(_GOOD | {'x': x}))['x'], x)

  @parameterized.parameters(
    ('{', 'valid JSON'),
    ('[' * 100_000, 'valid JSON'),
    ('[' * 100 + ']' * 100, 'nested more than 64 deep'),
    ('[1' + '0' * 5000 + ']', 'valid JSON'),
    (json.dumps(2**63), 'more than 64 bits'),
    ('1e999', 'inf is not finite'),
    ('{"more": NaN}', 'nan is not finite'),
    ('"\\ud800"', 'surrogates'),
    ('[]', r'it must be an object, got \[\]'),
    (json.dumps(_GOOD | {'n': True}), 'n must be .*got True'),
    (json.dumps(_GOOD | {'n': 1.0}), 'n must be .*got 1.0'),
    (json.dumps(_GOOD | {'x': 'a'}), "x must be .*got 'a'"),
    (json.dumps(_GOOD | {'names': [1]}), 'a value of names must be .*got 1'),
    (json.dumps(_GOOD | {'sizes': {'b': None}}), 'sizes.b must be .*got None'),
    (json.dumps({'n': 1}), 'names must be .*got None'),
  )
  def test_refuses(self, text, message):
    with self.assertRaisesRegex(errors.InputError, f'a.json.*{message}'):
      self._read(text)


class CsvTest(parameterized.TestCase):
  def test_reads(self):
    path = self.create_tempfile('a.csv', '\ufeffa,b\n\n1,"2\n,"\n3,4').full_path
    self.assertEqual(
      regular_files.read_csv(path, ['b']),
      [(4, {'a': '1', 'b': '2\n,'}), (5, {'a': '3', 'b': '4'})],
    )

  @parameterized.parameters(
    (b'', "the columns a, each once, got ''"),
    (b'a,a\n1,2\n', "the columns a, each once, got 'a,a'"),
    (b'a,b\n1\n', 'Line 2 .*2 cells'),
    (b'a\n\xff\n', 'is no CSV file'),
    (b'a\n' + b'x' * 200_000, 'is no CSV file: field larger'),
  )
  def test_refuses(self, content, message):
    path = self.create_tempfile('a.csv', content).full_path
    with self.assertRaisesRegex(
      errors.InputError, f'a.csv.*{message}|{message}'
    ):
      regular_files.read_csv(path, ['a'])
