# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of iNaturalist's splits."""

from fedfish_tff import errors
from tasks.features import inaturalist
from tests import photograph_files
from tests import temporary_folders
from tests.models import random_squeezenet

from absl.testing import parameterized
import tensorflow_federated as tff


class InaturalistTest(temporary_folders.TestCase):
  def setUp(self):
    super().setUp()
    random_squeezenet.write(self.folder)

  def _create(self, **options):
    return inaturalist.create_task(
      **{
        'seed': 0,
        'data_dir': str(self.folder),
        'extractor': 'squeezenet',
        'image_size': 32,
        'feature_dir': None,
        **options,
      }
    )

  # TFF looks for the one and makes the other.
  @parameterized.parameters('GEO_1K', 'geo_1k')
  def test_folder(self, folder):
    photograph_files.write(self.folder / folder, num_users=2)
    task = self._create(split='geo_1k')
    self.assertEqual(task.name, 'inaturalist')
    self.assertSequenceEqual(task.train.client_ids, ['user0', 'user1'])
    kernel, _ = task.create_model().initial_weights[0]
    self.assertEqual(kernel.shape, (512, 1203))

  def test_splits_are_tffs(self):
    splits = tff.simulation.datasets.inaturalist.INaturalistSplit
    self.assertCountEqual(
      [split.name.lower() for split in splits], inaturalist.SPLITS
    )

  def test_missing_files(self):
    with self.assertRaisesRegex(
      errors.InputError, 'inaturalist.load_data as data_dir'
    ):
      self._create(data_dir=None)
    regex = 'no folder .*/USER_120K with the folder train and the file test.tf'
    with self.assertRaisesRegex(errors.InputError, regex):
      self._create()
    photograph_files.write(self.folder / 'USER_120K')
    (self.folder / 'USER_120K' / 'test.tfRecord').unlink()
    with self.assertRaisesRegex(errors.InputError, regex):
      self._create()
    with self.assertRaisesRegex(
      errors.InputError, "split must be .*got 'users'"
    ):
      self._create(split='users')
