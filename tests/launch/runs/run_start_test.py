# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what a fine-tuning starts from, and of the file that keeps it."""

import json
import pathlib
import tempfile

from fedfish_tff import errors
from launch.runs import run_start
from tests import temporary_folders

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import tensorflow_federated as tff

_TOTALS = {'wire_bytes': 2**40, 'local_steps': 7, 'round_seconds': 0.1}


def _make_start():
  rng = np.random.default_rng(0)
  return run_start.Start(
    tff.learning.models.ModelWeights(
      tuple(
        rng.normal(size=shape).astype(np.float32)
        for shape in ((3, 2), (2,), (), (0, 4))
      ),
      (),
    ),
    3,
    _TOTALS,
  )


class FileTest(temporary_folders.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    folder = cls.enterClassContext(tempfile.TemporaryDirectory())
    cls.start = _make_start()
    run_start.save_start(folder, cls.start)
    cls.content = (pathlib.Path(folder) / run_start.FILE_NAME).read_bytes()

  def setUp(self):
    super().setUp()
    self.path = self.folder / run_start.FILE_NAME

  def _assert_equal(self, found):
    self.assertEqual(found.round_number, self.start.round_number)
    self.assertEqual(found.totals, self.start.totals)
    for one, other in zip(
      found.weights.trainable, self.start.weights.trainable, strict=True
    ):
      self.assertEqual(one.dtype, other.dtype)
      np.testing.assert_array_equal(one, other)

  def _assert_damaged(self):
    with self.assertRaises(errors.InputError) as raised:
      run_start.load_start(self.folder)
    message = str(raised.exception)
    self.assertStartsWith(message, f'{self.path} is damaged (')
    self.assertEndsWith(
      message, '; restore it, or start afresh with --overwrite.'
    )
    self.assertNotIn('\n', message)

  def test_is_read_as_it_was_written(self):
    self.path.write_bytes(self.content)
    self._assert_equal(run_start.load_start(self.folder))
    self.assertEqual([p.name for p in self.folder.iterdir()], ['start.npz'])

  def test_a_workdir_without_one(self):
    self.assertIsNone(run_start.load_start(self.folder))
    self.assertIsNone(run_start.load_start(self.folder / 'nothing'))

  @given(st.data())
  def test_a_file_that_was_cut(self, data):
    length = data.draw(st.integers(0, len(self.content) - 1))
    self.path.write_bytes(self.content[:length])
    self._assert_damaged()

  @given(st.data())
  def test_a_byte_that_has_changed(self, data):
    """It is noticed, unless nothing depends on it."""
    place = data.draw(st.integers(0, len(self.content) - 1))
    content = bytearray(self.content)
    content[place] ^= data.draw(st.integers(1, 255))
    self.path.write_bytes(content)
    try:
      found = run_start.load_start(self.folder)
    except errors.InputError:
      self._assert_damaged()
    else:
      self._assert_equal(found)

  def test_files_of_something_else(self):
    for content in (b'text', b'PK', np.float32(1).tobytes(), b'[]'):
      self.path.write_bytes(content)
      self._assert_damaged()
    with open(self.path, 'wb') as file:
      np.save(file, np.zeros(3))
    self._assert_damaged()
    for arrays in (
      {'other': np.zeros(3)},
      {'state': np.array('not JSON')},
      {'state': np.array('[]')},
      {'state': np.array('{}')},
      {
        'state': np.array(
          json.dumps({'round': 3, 'totals': {}, 'num_weights': 1})
        ),
        'w': 1,
      },
    ):
      with open(self.path, 'wb') as file:
        np.savez(file, **arrays)
      self._assert_damaged()

  def test_a_place_that_is_taken(self):
    self.path.mkdir()
    with self.assertRaisesRegex(
      errors.InputError, f'^Cannot read {self.path}: Is a directory.$'
    ):
      run_start.load_start(self.folder)
    with self.assertRaisesRegex(errors.InputError, f'Cannot write {self.path}'):
      run_start.save_start(self.folder, self.start)
