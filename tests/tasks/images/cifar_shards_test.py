# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of CIFAR-10 and CIFAR-100 among clients of a few classes."""

import pathlib
import shutil

from fedfish_tff import errors
from tasks.images import cifar_shards
from tasks.images import labelled_images
from tests import local_data
from tests import named_tensors
from tests import temporary_folders
from tests import tff_database
from tests import tolerance
from tests import usable_tasks

from absl.testing import absltest
import numpy as np

_MEAN, _DEVIATION = (0.5, 0.25, 0.0), (0.1, 0.2, 0.5)


def _create_task(read, **options):
  return cifar_shards.create_cifar_task(
    'cifar',
    read,
    {},
    4,
    _MEAN,
    _DEVIATION,
    seed=0,
    data_dir='folder',
    images='file',
    num_clients=3,
    num_held_out=2,
    classes_per_client=2,
    max_images=0,
    **{'model': 'lenet5', 'augment': False, **options},
  )


def _generate(low=0):
  rng = np.random.default_rng(0)
  return labelled_images.LabelledImages(
    images=rng.integers(low, 256, [120, 32, 32, 3], np.uint8),
    labels=np.arange(120, dtype=np.int32) % 4,
    is_test=np.arange(120) % 5 == 0,
  )


class CifarShardsTest(absltest.TestCase):
  def test_augmentation_is_of_training_only(self):
    plain, augmented = (
      _create_task(lambda _: _generate(), augment=augment)
      for augment in (False, True)
    )
    x, _ = plain.train.load_client(plain.train.client_ids[0])
    for training in (False, True):
      one, other = (
        model.predict_on_batch(model.initial_weights, x, training=training)
        for model in (plain.create_model(), augmented.create_model())
      )
      self.assertEqual(np.array_equal(one, other), not training)

  def test_images_and_model(self):
    data = _generate()
    asked = []

    def read(path):
      asked.append(path)
      return data

    task = _create_task(read)
    self.assertEqual(asked, [pathlib.Path('folder/file')])
    pixels = {image.tobytes() for image in data.images}
    for client_data in (task.train, task.own_test):
      x, y = usable_tasks.pool(client_data)
      self.assertEqual((x.dtype, y.dtype), (np.float32, np.int32))
      back = 255 * (x * np.array(_DEVIATION) + np.array(_MEAN))
      tolerance.assert_close(back, np.round(back))
      self.assertLessEqual(
        {i.tobytes() for i in np.round(back).astype(np.uint8)}, pixels
      )
    for name in ('lenet5', 'compact_cnn'):
      task = _create_task(read, model=name)
      model = task.create_model()
      named_tensors.assert_named(task.tensor_names, model.initial_weights[0])
      logits = model.predict_on_batch(model.initial_weights, x)
      self.assertEqual(logits.shape, (len(x), 4))


class Cifar10Test(temporary_folders.TestCase):
  def test_real_images(self):
    source = local_data.find_sample('cifar10') / 'cifar10_subset.npz'
    shutil.copy(source, f'{self.folder}/cifar10.npz')
    task = cifar_shards.TASKS['cifar10'](seed=0, data_dir=str(self.folder))
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
      cifar_shards.TASKS['cifar10'](seed=0, data_dir=str(self.folder))


class Cifar100ShardsTest(temporary_folders.TestCase):
  def test_tff_s_images(self):
    tff_database.write_cifar100(str(self.folder), num_train=6, num_examples=50)
    task = cifar_shards.TASKS['cifar100_shards'](
      seed=0, data_dir=str(self.folder), num_clients=8, num_held_out=2
    )
    splits = task.train, task.validation, task.test
    self.assertLen(usable_tasks.load_clients(*splits), 10)
    self.assertLen(usable_tasks.pool(*splits)[1], 6 * 50)
    shapes = [w.shape for w in task.create_model().initial_weights[0]]
    self.assertEqual(shapes[-2:], [(128, 100), (100,)])

  def test_missing_file(self):
    with self.assertRaisesRegex(
      errors.InputError, "'cifar100_shards' found no file .*/cifar100.sqlite"
    ):
      cifar_shards.TASKS['cifar100_shards'](seed=0, data_dir=str(self.folder))
