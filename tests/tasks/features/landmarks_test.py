# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the splits of Landmarks."""

import pathlib

from fedfish_tff import errors
from tasks.features import landmarks
from tests import photograph_files
from tests.models import random_squeezenet

from absl.testing import parameterized


class LandmarksTest(parameterized.TestCase):
  @parameterized.parameters(('gld160k', 2028), ('gld23k', 203))
  def test_splits(self, split, num_classes):
    folder = pathlib.Path(self.create_tempdir().full_path)
    random_squeezenet.write(folder)

    def create():
      return landmarks.create_task(
        seed=0,
        data_dir=str(folder),
        split=split,
        extractor='squeezenet',
        image_size=32,
        feature_dir=None,
      )

    with self.assertRaisesRegex(
      errors.InputError, f'gldv2.load_data .*no folder .*/{split} with '
    ):
      create()
    photograph_files.write(folder / split, num_users=3)
    task = create()
    self.assertEqual(task.name, 'landmarks')
    self.assertLen(task.train.client_ids, 3)
    kernel, _ = task.create_model().initial_weights[0]
    self.assertEqual(kernel.shape, (512, num_classes))
    x, _ = task.train.load_client('user2')
    self.assertEqual(x.shape, (3, 512))
