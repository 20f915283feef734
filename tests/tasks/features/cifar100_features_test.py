# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of CIFAR-100 on features, on random images."""

from fedfish_tff import errors
from tasks.features import cifar100_features
from tests import labelled_images
from tests import tff_database
from tests.models import random_squeezenet

from absl.testing import absltest
import numpy as np


class Cifar100FeaturesTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self._folder = self.create_tempdir().full_path
    random_squeezenet.write(self._folder)

  def _create(self, **options):
    return cifar100_features.create_task(
      **{
        'seed': 0,
        'data_dir': self._folder,
        'inputs': 'images',
        'image_size': 32,
        'feature_dir': None,
        **options,
      }
    )

  def test_published_images(self):
    arrays = tff_database.write_cifar100(self._folder, num_examples=25)
    task = self._create(num_clients=7, alpha=1.0)
    for clients, split in (
      ([task.train], 'train'),
      ([task.validation, task.test], 'test'),
    ):
      found = sorted(
        (int(label), image.astype(np.uint8).tobytes())
        for data in clients
        for client_id in data.client_ids
        for image, label in zip(*data.load_client(client_id))
      )
      expected = sorted(
        (int(label), image.tobytes())
        for images, labels, _ in arrays[split].values()
        for image, label in zip(images, labels)
      )
      self.assertEqual(found, expected)

  def test_sample(self):
    labelled_images.write(self._folder, num_classes=100, per_class=3)
    task = self._create(images='images.npz', inputs='features')
    self.assertLen(task.train.client_ids, 100)
    labels = [task.train.load_client(c)[1] for c in task.train.client_ids]
    self.assertCountEqual(
      [label for of_client in labels for label in set(of_client.tolist())],
      range(100),
    )
    kernel, _ = task.create_model().initial_weights[0]
    self.assertEqual(kernel.shape, (512, 100))

  def test_missing_file(self):
    with self.assertRaisesRegex(
      errors.InputError,
      "'cifar100_features' found no file .*/cifar100.sqlite; fetch .* or name "
      # It has no option to download it.
      'the folder of such a file by --data_dir.$',
    ):
      self._create()
