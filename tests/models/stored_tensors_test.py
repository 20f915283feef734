# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tensors in HDF5 files of little data and large promises."""

import os
import pathlib

from fedfish_tff import errors
from fedfish_tff.models import stored_tensors

from absl.testing import parameterized
import h5py
import numpy as np


class OpenHdf5Test(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)
    self.path = self.folder / 'a.h5'

  def _open(self):
    with stored_tensors.open_hdf5(self.path) as file:
      found = stored_tensors.find_datasets(file)
      return {name: dataset[()] for name, dataset in found.items()}

  def test_reads_what_the_file_holds(self):
    zeros = np.zeros(2**16)
    with h5py.File(self.path, 'w') as file:
      file['a'] = zeros
      # Space for more rows of it.
      file.create_dataset('b/c', data=zeros, maxshape=(None,), chunks=(2**20,))
      file['empty'] = h5py.Empty('f4')
      os.mkfifo(self.folder / 'pipe')
      file['link'] = h5py.ExternalLink(str(self.folder / 'pipe'), 'a')
    found = self._open()
    self.assertCountEqual(found, ['a', 'b/c', 'empty'])
    np.testing.assert_array_equal(found['a'], zeros)
    np.testing.assert_array_equal(found['b/c'], zeros)

  @parameterized.parameters(
    ((2**40,), (2**20,), 'f4', 'at most 268,435,456, got 4,398,046,511,104'),
    # One value, in a chunk that is decompressed as a whole.
    ((1,), (2**28,), 'f4', 'at most 268,435,456, got 1,073,741,824'),
    ((1,), (1,), 'S1000000000', 'at most 268,435,456, got 1,000,000,000'),
  )
  def test_values_that_were_never_written(self, shape, chunks, dtype, message):
    with h5py.File(self.path, 'w') as file:
      file.create_dataset('a', shape, dtype, chunks=chunks, maxshape=(None,))
    self.assertLess(self.path.stat().st_size, 10_000)
    with self.assertRaisesRegex(ValueError, message):
      self._open()

  def test_many_tensors_count_together(self):
    with h5py.File(self.path, 'w') as file:
      for i in range(5):
        file.create_dataset(f'{i}', (2**24,), 'f4', chunks=(2**20,))
    with self.assertRaisesRegex(ValueError, 'got 335,544,320'):
      self._open()

  def test_tensors_in_other_files(self):
    other = self.folder / 'secret'
    other.write_bytes(bytes(range(64)))
    layout = h5py.VirtualLayout((4,), 'f4')
    layout[:] = h5py.VirtualSource(str(self.folder / 'b.h5'), 'a', (4,))
    for create in (
      lambda file: file.create_dataset(
        'a', (4,), 'f4', external=[(str(other), 0, 16)]
      ),
      lambda file: file.create_virtual_dataset('a', layout),
    ):
      with h5py.File(self.path, 'w') as file:
        create(file)
      with self.assertRaisesRegex(ValueError, 'a must be in the file'):
        self._open()


class CastTest(parameterized.TestCase):
  @parameterized.parameters(
    (np.array([0.1]), 'f4', np.array([0.1], 'f4')),
    (np.array(7, 'u1'), 'f8', np.array(7.0)),
    (np.array([2.0, -3.0]), 'i8', np.array([2, -3])),
    (np.array([True]), '?', np.array([True])),
    (np.array([0.5]), 'i8', 'got 0.5'),
    (np.array([3, -1]), 'u1', 'got -1'),
    (np.array([2**40]), 'i4', 'got 1099511627776'),
    (np.array([np.nan]), 'i4', 'got nan'),
    (np.array([70000.0]), 'f2', 'got 70000'),
    (np.array([1]), '?', 'numbers that bool can have, got int64'),
  )
  def test_numbers_that_the_dtype_has(self, array, dtype, expected):
    tensor = stored_tensors.StoredTensor.of_array(array)
    if isinstance(expected, np.ndarray):
      found = stored_tensors.cast(tensor, np.dtype(dtype), name='A')
      np.testing.assert_array_equal(found, expected, strict=True)
    else:
      with self.assertRaisesRegex(errors.InputError, f'^A must .*{expected}'):
        stored_tensors.cast(tensor, np.dtype(dtype), name='A')
