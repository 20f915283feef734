# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""CIFAR-10 among clients of a few classes."""

import shutil

from fedfish_tff import errors
from tasks.images import cifar10
from tests import local_data

from absl.testing import absltest
import numpy as np


class Cifar10Test(absltest.TestCase):
  def test_real_images(self):
    source = local_data.find_sample('cifar10') / 'cifar10_subset.npz'
    folder = self.create_tempdir().full_path
    shutil.copy(source, f'{folder}/cifar10.npz')
    task = cifar10.create_task(seed=0, data_dir=folder)
    self.assertLen(task.train.client_ids, 100)
    x, y = task.train.load_client(task.train.client_ids[0])
    self.assertLen(np.unique(y), 5)
    test_x, test_y = task.own_test.load_client(task.train.client_ids[0])
    np.testing.assert_array_equal(np.unique(test_y), np.unique(y))
    # Photographs have about the mean and deviation of all of them.
    for images in (x, test_x):
      self.assertLess(np.abs(images.mean((0, 1, 2))).max(), 0.5)
      self.assertLess(np.abs(images.std((0, 1, 2)) - 1).max(), 0.3)

  def test_missing_file(self):
    with self.assertRaisesRegex(
      errors.InputError, 'cifar10.npz .*cannot be read'
    ):
      cifar10.create_task(seed=0, data_dir=self.create_tempdir().full_path)
