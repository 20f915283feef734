# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Clients of a few classes, with test images of the same."""

import functools

from fedfish_tff import errors
from fedfish_tff import models
from tasks.images import class_shards
from tasks.images import labelled_images
from tests import usable_tasks

from absl.testing import absltest
import numpy as np


def _images(num_images=600, num_classes=6, *, test_classes=6):
  number = np.arange(num_images)
  is_test = number % 3 == 0
  y = (number // 3 % num_classes).astype(np.int32)
  y[is_test] %= test_classes
  return labelled_images.LabelledImages(
    images=number[:, np.newaxis].astype(np.float32), labels=y, is_test=is_test
  )


def _create(images, **options):
  return class_shards.create_class_shards_task(
    'shards',
    images,
    **{
      'seed': 0,
      'num_clients': 10,
      'num_held_out': 4,
      'classes_per_client': 3,
      'create_model': functools.partial(
        models.create_mlp_classifier,
        num_features=1,
        num_classes=6,
        hidden_units=(),
        seed=0,
      ),
      'tensor_names': models.mlp_tensor_names(0),
      **options,
    },
  )


def _splits(task):
  return task.train, task.validation, task.test


def _load_all(task):
  return usable_tasks.load_clients(*_splits(task))


class ClassShardsTest(absltest.TestCase):
  def test_clients_have_the_classes_and_test_images_of_the_same(self):
    images = _images()
    task = _create(images)
    sizes = [len(split.client_ids) for split in _splits(task)]
    self.assertEqual(sizes, [10, 2, 2])
    seen = []
    for client_id, (x, y) in _load_all(task).items():
      test_x, test_y = task.own_test.load_client(client_id)
      self.assertLen(np.unique(y), 3)
      self.assertContainsSubset(np.unique(test_y), np.unique(y))
      # Half as many are for testing, of each class up to one.
      for label in np.unique(y):
        difference = np.sum(test_y == label) - np.sum(y == label) / 2
        self.assertLessEqual(abs(difference), 1)
      seen.append(x)
      seen.append(test_x)
      for part, labels, is_test in ((x, y, False), (test_x, test_y, True)):
        numbers = part[:, 0].astype(int)
        np.testing.assert_array_equal(images.labels[numbers], labels)
        self.assertTrue(np.all(images.is_test[numbers] == is_test))
    # Every image is in one client.
    np.testing.assert_array_equal(
      np.sort(np.concatenate(seen)[:, 0]), np.arange(600)
    )

  def test_clients_without_test_images(self):
    task = _create(_images(test_classes=1), classes_per_client=1)
    known = set(task.own_test.client_ids)
    for client_id, (_, y) in _load_all(task).items():
      self.assertEqual(client_id in known, 0 in y)

  def test_preprocesses_test_images_too(self):
    task = _create(
      _images(), preprocess=lambda examples: (-1 - examples[0], examples[1])
    )
    x, _ = task.own_test.load_client(task.train.client_ids[0])
    self.assertLess(x.max(), 0)

  def test_bad_options(self):
    images = _images()
    with self.assertRaisesRegex(errors.InputError, 'classes_per_client'):
      _create(images, classes_per_client=7)
    untested = labelled_images.LabelledImages(
      images=images.images, labels=images.labels, is_test=np.zeros(600, bool)
    )
    with self.assertRaises(errors.InputError):
      _create(untested)
