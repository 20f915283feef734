# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the files of client states: damage, other content, names."""

import collections
import pathlib

from fedfish_tff import errors
from fedfish_tff.simulation import client_state_files

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf


def _state(value):
  return collections.OrderedDict(
    weights=(np.full([2, 3], value, np.float32), np.zeros([0], np.float32)),
    last_round=np.int32(value),
  )


class ClientStateFilesTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)
    self.path = self.folder / client_state_files.file_name(1)

  def _write(self, state):
    client_state_files.write_state(self.path, state)

  def _read(self, structure=None):
    return client_state_files.read_state(
      self.path, structure or _state(0), client_id='a/b'
    )

  def _assert_equal(self, found, expected):
    tf.nest.assert_same_structure(found, expected)
    for a, b in zip(tf.nest.flatten(found), tf.nest.flatten(expected)):
      self.assertEqual(np.asarray(a).tobytes(), np.asarray(b).tobytes())
      self.assertEqual(np.asarray(a).dtype, np.asarray(b).dtype)

  def test_reads_what_was_written(self):
    saved = _state(-0.0)
    saved['weights'][0][0, 0] = np.nan
    self._write(saved)
    self._assert_equal(self._read(), saved)

  def test_a_damaged_file_is_named_with_its_client(self):
    self._write(_state(5))
    whole = self.path.read_bytes()
    for length in (0, 1, len(whole) // 2, len(whole) - 1):
      self.path.write_bytes(whole[:length])
      with self.assertRaisesRegex(
        errors.InputError, r"client 'a/b' in .*1\.npz is damaged"
      ):
        self._read()

  def test_a_missing_file_is_named_with_its_client(self):
    with self.assertRaisesRegex(
      errors.InputError, r"client 'a/b' in .*1\.npz cannot be read"
    ):
      self._read()

  def test_no_flipped_bit_changes_a_state(self):
    saved = _state(5)
    self._write(saved)
    whole = self.path.read_bytes()
    refused = 0
    for index in range(len(whole)):
      flipped = bytes([whole[index] ^ (1 << index % 8)])
      self.path.write_bytes(whole[:index] + flipped + whole[index + 1 :])
      try:
        found = self._read()
      except errors.InputError as error:
        self.assertIn("client 'a/b'", str(error))
        refused += 1
        continue
      # Such as in a date, which means nothing.
      self._assert_equal(found, saved)
    self.assertGreater(refused, len(whole) // 2)

  def test_another_structure_is_refused(self):
    self._write(_state(5))
    with self.assertRaisesRegex(
      errors.InputError, "client 'a/b' .* it holds 3 arrays, 1 were expected"
    ):
      self._read((np.zeros(2, np.float32),))
    other = _state(5)
    other['last_round'] = np.int64(5)
    with self.assertRaisesRegex(
      errors.InputError, r'is int32\[\], int64\[\] was expected'
    ):
      self._read(other)

  def test_no_code_is_stored(self):
    with self.assertRaisesRegex(TypeError, 'numbers; found an array of object'):
      self._write((np.array([{}], object),))
    np.savez(self.path, np.array([{}], object))
    with self.assertRaisesRegex(errors.InputError, 'is damaged'):
      self._read((np.zeros(1, np.float32),))

  def test_rounds_are_in_order_and_halves_of_files_none(self):
    for name in ('10.npz', '9.npz', 'x.npz', '3.txt'):
      (self.folder / name).touch()
    self.assertEqual(client_state_files.list_rounds(self.folder), [9, 10])
    self.assertEqual(client_state_files.list_rounds(self.folder / 'none'), [])

  @parameterized.parameters(
    ('a', 'id-a'), ('A', 'id-%41'), ('', 'id-'), ('../x', 'id-%2e%2e%2fx')
  )
  def test_folder_names(self, client_id, name):
    self.assertEqual(client_state_files.folder_name(client_id), name)
    self.assertTrue(client_state_files.is_folder_name(name))

  def test_long_ids_are_hashed_and_differ(self):
    names = {client_state_files.folder_name('x' * n) for n in (200, 201, 5000)}
    self.assertLen(names, 3)
    self.assertTrue(all(client_state_files.is_folder_name(n) for n in names))
    self.assertLess(max(map(len, names)), 255)
    self.assertFalse(client_state_files.is_folder_name('notes'))


if __name__ == '__main__':
  absltest.main()
