# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""CIFAR-10 among clients by Dirichlet draws."""

import shutil

from fedfish_tff import errors
from tasks.images import cifar10_dirichlet
from tests import local_data
from tests import named_tensors
from tests import tolerance
from tests import usable_tasks

from absl.testing import parameterized
import numpy as np


class Cifar10DirichletTest(parameterized.TestCase):
  def test_real_images(self):
    source = local_data.find_sample('cifar10') / 'cifar10_subset.npz'
    folder = self.create_tempdir().full_path
    shutil.copy(source, f'{folder}/cifar10.npz')
    task = cifar10_dirichlet.create_task(seed=0, data_dir=folder)
    self.assertLen(task.train.client_ids, 16)
    x, _ = usable_tasks.pool(task.train)
    # As published of all images: a sample has about the same.
    self.assertLess(np.abs(x.mean((0, 1, 2))).max(), 0.05)
    self.assertLess(np.abs(x.std((0, 1, 2)) - 1).max(), 0.05)

  @parameterized.parameters('vgg9', 'lenet')
  def test_every_image_is_somewhere(self, model):
    rng = np.random.default_rng(0)
    arrays = dict(
      images=rng.integers(0, 256, [300, 32, 32, 3], np.uint8),
      labels=np.arange(300) % 10,
      is_test=np.arange(300) % 3 == 0,
    )
    folder = self.create_tempdir().full_path
    np.savez(f'{folder}/few.npz', **arrays)
    task = cifar10_dirichlet.create_task(
      seed=1, data_dir=folder, images='few.npz', model=model, num_clients=3
    )
    splits = task.train, task.validation, task.test
    sizes = [len(usable_tasks.pool(split)[1]) for split in splits]
    self.assertEqual(sizes, [200, 50, 50])
    x, found = usable_tasks.pool(*splits)
    back = x * [63.0, 62.1, 66.7] + [125.3, 123.0, 113.9]
    for split, part in ((False, slice(200)), (True, slice(200, 300))):
      expected = arrays['images'][arrays['is_test'] == split]
      labels = arrays['labels'][arrays['is_test'] == split]
      self.assertCountEqual(
        zip(map(bytes, np.uint8(np.round(back[part]))), found[part]),
        zip(map(bytes, expected), labels),
      )
    weights = task.create_model().initial_weights[0]
    named_tensors.assert_named(task.tensor_names, weights)
    widths = [len(bias) for bias in weights[1:-1:2]]
    again = task.create_sized_model(widths, 1).initial_weights[0]
    tolerance.assert_same(weights, again)

  def test_unknown_model(self):
    with self.assertRaisesRegex(errors.InputError, 'vgg9, lenet'):
      cifar10_dirichlet.create_task(seed=0, model='resnet')
