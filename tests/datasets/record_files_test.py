# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of TFRecord files, against TensorFlow's own."""

import pathlib
import struct

from fedfish_tff import errors
from fedfish_tff.datasets import record_files

from absl.testing import parameterized
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
import tensorflow as tf

_PAYLOADS = (b'first', b'', bytes(range(256)) * 5, b'last')


class RecordFilesTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self._path = pathlib.Path(self.create_tempdir().full_path) / 'a.tfrecord'

  def _scan(self, path=None):
    return [
      (offset, num_bytes, file.read(num_bytes))
      for offset, num_bytes, file in record_files.scan_records(
        path or self._path
      )
    ]

  def _assert_refused(self, message, offset=0, **kwargs):
    """Asserts that no record is read."""
    with self.assertRaisesRegex(errors.InputError, message):
      record_files.read_record(self._path, offset, **kwargs)

  def _write(self, payloads=_PAYLOADS, path=None):
    """Writes records, each in two pieces; returns where they begin."""
    self._path.unlink(missing_ok=True)
    with record_files.open_file(path or self._path, 'xb') as file:
      for payload in payloads:
        pieces = [payload[:7], payload[7:]]
        record_files.write_record(file, pieces, len(payload))
    sizes = [
      len(payload) + record_files.RECORD_OVERHEAD for payload in payloads
    ]
    return [sum(sizes[:i]) for i in range(len(sizes))]

  @settings(max_examples=40)
  @given(st.lists(st.binary(max_size=300), max_size=8))
  def test_tensorflow_reads_what_is_written(self, payloads):
    offsets = self._write(payloads)
    found = list(tf.data.TFRecordDataset(str(self._path)).as_numpy_iterator())
    self.assertEqual(found, payloads)
    for offset, payload in reversed(list(zip(offsets, payloads))):
      self.assertEqual(record_files.read_record(self._path, offset), payload)
    self.assertEqual(
      self._scan(),
      [(o, len(payload), payload) for o, payload in zip(offsets, payloads)],
    )

  def test_offsets_of_damaged_files(self):
    last = self._write()[-1]
    whole = self._path.read_bytes()
    for cut in (1, 10, 18):
      self._path.write_bytes(whole[:-cut])
      with self.assertRaisesRegex(
        errors.InputError, f'ends before the end of the record at byte {last}'
      ):
        self._scan()
    self._path.write_bytes(b'x' + whole[1:])
    with self.assertRaisesRegex(
      errors.InputError, 'record at byte 0 .*damaged'
    ):
      self._scan()
    with self.assertRaisesRegex(errors.InputError, 'none .*cannot be read .No'):
      self._scan('/none')

  def test_a_file_system_of_tensorflow(self):
    path = 'ram://record_files_test/a.tfrecord'
    offsets = self._write(path=path)
    found = list(tf.data.TFRecordDataset(path).as_numpy_iterator())
    self.assertEqual(found, list(_PAYLOADS))
    self.assertEqual([offset for offset, _, _ in self._scan(path)], offsets)

  def test_every_changed_byte_is_noticed(self):
    offset = self._write()[2]
    whole = self._path.read_bytes()
    for place in range(offset, offset + len(_PAYLOADS[2]) + 16, 7):
      damaged = bytearray(whole)
      damaged[place] ^= 1
      self._path.write_bytes(damaged)
      self._assert_refused(
        rf'byte {offset} of .*a.tfrecord is damaged: the ch', offset
      )
    # Its neighbours are none the worse for it.
    for before_or_after in (0, 3):
      record_files.read_record(self._path, self._write()[before_or_after])

  def test_every_missing_byte_is_noticed(self):
    offset = self._write()[3]
    whole = self._path.read_bytes()
    for size in range(offset, len(whole)):
      self._path.write_bytes(whole[:size])
      self._assert_refused(
        f'a.tfrecord .*ends before .* at byte {offset}', offset
      )

  def test_a_length_that_no_file_has(self):
    """The checksum of the length fits: as if somebody meant it."""
    length = struct.pack('<Q', 2**63)
    checksum = record_files._masked_checksum(length)
    self._path.write_bytes(length + struct.pack('<I', checksum) + b'abc')
    self._assert_refused('byte 0 of .* cannot be re')

  def test_outside_of_the_file(self):
    self._write()
    self._assert_refused('ends before', 10**15)
    self._assert_refused('cannot be read .Invalid', -1)

  def test_another_length_than_expected(self):
    self._write()
    self._assert_refused('byte 0 of .* 6 bytes, got 5', payload_bytes=6)

  def test_no_file(self):
    for path in (self._path, self._path.parent):
      with self.assertRaisesRegex(errors.InputError, r'read \((No|Is a) '):
        record_files.read_record(path, 0)
