# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Files of labelled images, whole, wrong and damaged."""

import itertools

from fedfish_tff import errors
from tasks.images import labelled_images
from tests import labelled_images as image_files
from tests import temporary_folders

import numpy as np

_NUM_CLASSES = 10


class ReadNpzTest(temporary_folders.TestCase):
  def setUp(self):
    super().setUp()
    self._arrays = image_files.write(
      self.folder, num_classes=_NUM_CLASSES, per_class=12
    )

  def test_bad_files(self):
    path = self.folder / 'bad.npz'
    good = self._arrays
    for change, regex in (
      ({'labels': None}, "images, labels, is_test, got no array 'labels'"),
      (
        {'images': good['images'][..., 0]},
        r'images uint8\[120, 8, 8\], labels',
      ),
      ({'images': good['images'] / 255}, 'got images float64'),
      ({'labels': good['labels'] + 0.5}, 'labels float64'),
      ({'is_test': good['is_test'][:-1]}, r'is_test uint8\[119\]'),
      (
        {'labels': good['labels'] + 1},
        r'bad.npz: array .*labels of .* such as 10',
      ),
    ):
      arrays = {k: v for k, v in (good | change).items() if v is not None}
      np.savez(path, **arrays)
      with self.assertRaisesRegex(errors.InputError, regex):
        labelled_images.read_npz(path, num_classes=_NUM_CLASSES)
    for content in (b'', b'text', path.read_bytes()[:1000]):
      path.write_bytes(content)
      with self.assertRaisesRegex(
        errors.InputError, 'bad.npz .*cannot be read'
      ):
        labelled_images.read_npz(path, num_classes=_NUM_CLASSES)

  def test_damaged_files(self):
    """Every byte, read as it was, or refused in a sentence."""
    path = self.folder / 'damaged.npz'
    images = {name: array[::8] for name, array in self._arrays.items()}
    images['images'] = images['images'][:, :2, :2]
    np.savez_compressed(path, **images)
    content = path.read_bytes()
    expected = labelled_images.read_npz(path, num_classes=_NUM_CLASSES)
    refused = 0
    # 4 makes bzip2 of DEFLATE and 6 LZMA, where the way to compress is told.
    for place, change in itertools.product(range(len(content)), (4, 6, 255)):
      damaged = bytearray(content)
      damaged[place] ^= change
      path.write_bytes(damaged)
      try:
        found = labelled_images.read_npz(path, num_classes=_NUM_CLASSES)
      except errors.InputError as error:
        self.assertNotIn('()', str(error))
        refused += 1
      else:
        np.testing.assert_array_equal(found.images, expected.images)
        np.testing.assert_array_equal(found.labels, expected.labels)
        np.testing.assert_array_equal(found.is_test, expected.is_test)
    self.assertGreater(refused, 1.5 * len(content))
