# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Arrays in .npz files, written by NumPy."""

import io
import zipfile

from fedfish_tff.datasets import npz_files

from absl.testing import absltest
import numpy as np


class NpzFilesTest(absltest.TestCase):
  def test_reads_what_numpy_writes(self):
    arrays = {
      'a': np.arange(6.0).reshape(2, 3).T,
      'empty': np.zeros([0, 4], np.int8),
      'scalar': np.array('text'),
    }
    for save in (np.savez, np.savez_compressed):
      content = io.BytesIO()
      save(content, **arrays)
      with zipfile.ZipFile(content) as archive:
        self.assertEqual(npz_files.npz_array_names(archive), sorted(arrays))
        for name, array in arrays.items():
          found = npz_files.read_npz_array(archive, name)
          np.testing.assert_array_equal(found, array, strict=True)
          self.assertEqual(npz_files.read_npz_shape(archive, name), array.shape)

  def test_promises_are_compared_with_the_file(self):
    for shape in ((10, 5 * 10**11), (10**30,), (5,), (0, 7)):
      member = io.BytesIO()
      np.lib.format.write_array_header_1_0(
        member, {'descr': '<f4', 'fortran_order': False, 'shape': shape}
      )
      content = io.BytesIO()
      with zipfile.ZipFile(content, 'w') as archive:
        archive.writestr('a.npy', member.getvalue() + bytes(24))
      with zipfile.ZipFile(content) as archive:
        for read in (npz_files.read_npz_array, npz_files.read_npz_shape):
          with self.assertRaisesRegex(ValueError, 'promises .* and holds 24'):
            read(archive, 'a')
