# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of CIFAR-10 on features: on real photographs where they are at hand."""

import shutil

from tasks.features import cifar10_features
from tests import labelled_images
from tests import local_data
from tests.models import random_squeezenet

from absl.testing import absltest
import numpy as np
import pytest


class Cifar10FeaturesTest(absltest.TestCase):
  def test_published_names_of_files(self):
    folder = self.create_tempdir().full_path
    labelled_images.write(folder, 'cifar10.npz', num_classes=10)
    random_squeezenet.write(folder)
    task = cifar10_features.create_task(
      seed=0, data_dir=folder, num_clients=10, image_size=32, feature_dir=None
    )
    self.assertEqual(task.name, 'cifar10_features')
    self.assertLen(task.train.client_ids, 10)
    kernel, bias = task.create_model().initial_weights[0]
    self.assertEqual((kernel.shape, bias.shape), ((512, 10), (10,)))

  @pytest.mark.slow
  def test_ridge_regression_on_real_features(self):
    folder = self.create_tempdir().full_path
    shutil.copy(
      local_data.find_sample('cifar10') / 'cifar10_subset.npz', folder
    )
    task = cifar10_features.create_task(
      seed=0,
      data_dir=folder,
      images='cifar10_subset.npz',
      weights=str(
        local_data.find_sample('squeezenet_v11') / random_squeezenet.FILE_NAME
      ),
      feature_dir=None,
    )

    def together(*parts):
      examples = [
        part.load_client(c) for part in parts for c in part.client_ids
      ]
      x, y = (np.concatenate(arrays) for arrays in zip(*examples))
      return np.c_[x.astype(np.float64), np.ones(len(x))], y

    x, y = together(task.train)
    test_x, test_y = together(task.validation, task.test)
    self.assertEqual((x.shape, test_x.shape), ((8000, 513), (2000, 513)))
    weights = np.linalg.solve(x.T @ x + 0.01 * np.eye(513), x.T @ np.eye(10)[y])
    accuracy = np.mean(np.argmax(test_x @ weights, axis=1) == test_y)
    # 75.6 % of standardised features of 3,000 images.
    self.assertBetween(accuracy, 0.75, 0.80)
