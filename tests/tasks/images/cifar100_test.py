# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the CIFAR-100 task, on random images."""

from fedfish_tff import errors
from tasks.images import cifar100
from tests import named_tensors
from tests import temporary_folders
from tests import tff_database
from tests import tolerance
from tests import usable_tasks

from absl.testing import parameterized
import numpy as np
import tensorflow as tf


class Cifar100Test(temporary_folders.TestCase):
  def _create(self, **options):
    return cifar100.create_task(seed=0, data_dir=str(self.folder), **options)

  @parameterized.parameters(('fine', 1, 100), ('coarse', 2, 20))
  def test_clients(self, label, array, num_classes):
    arrays = tff_database.write_cifar100(self.folder)
    task = self._create(label=label)
    self.assertEqual(
      task.train.client_ids, tuple(f'train_{n}' for n in range(4))
    )
    self.assertLen(task.validation.client_ids, 2)
    self.assertCountEqual(
      task.validation.client_ids + task.test.client_ids,
      [f'test_{n}' for n in range(4)],
    )
    for data in (task.train, task.validation, task.test):
      for client_id in data.client_ids:
        x, y = data.load_client(client_id)
        split, number = client_id.split('_')
        client = arrays[split][number]
        np.testing.assert_array_equal(y, client[array])
        expected = tf.map_fn(
          lambda image: tf.image.per_image_standardization(
            tf.image.resize_with_crop_or_pad(image, 24, 24)
          ),
          client[0].astype(np.float32),
        )
        tolerance.assert_close(x, expected)
        self.assertEqual((x.dtype, y.dtype), (np.float32, np.int32))
    model = task.create_model()
    self.assertEqual(model.initial_weights[0][-1].shape, (num_classes,))
    named_tensors.assert_named(task.tensor_names, model.initial_weights[0])

  @parameterized.parameters('fine', 'coarse')
  def test_alpha_deals_the_images_of_training_clients_alone(self, label):
    tff_database.write_cifar100(self.folder)
    published, dealt = (self._create(label=label, alpha=a) for a in (None, 0.1))
    self.assertEqual(dealt.test.client_ids, published.test.client_ids)
    before, after = map(usable_tasks.pool, (published.train, dealt.train))
    self.assertCountEqual(after[1], before[1])

  def test_validation_fraction(self):
    tff_database.write_cifar100(self.folder, num_test=10)
    task = self._create(validation_fraction=0.2)
    self.assertLen(task.validation.client_ids, 2)
    self.assertLen(task.test.client_ids, 8)

  def test_standardize(self):
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, [3, 24, 24, 3], np.uint8)
    images[1] = 77
    images[2] = 77
    images[2, 0, 0, 0] = 78
    x = cifar100.standardize(images)
    np.testing.assert_allclose(
      x,
      tf.image.per_image_standardization(images),
      rtol=1e-3,
      atol=1e-4,
    )
    tolerance.assert_close(x[0].mean(dtype=np.float64), 0, scale=1)
    np.testing.assert_allclose(x[0].std(dtype=np.float64), 1, atol=1e-5)
    np.testing.assert_array_equal(x[1], 0)

  @parameterized.parameters(((32, 32), (24, 24)), ((9, 6), (4, 5)))
  def test_crop(self, shape, cropped):
    images = np.arange(2 * shape[0] * shape[1] * 3).reshape(2, *shape, 3)
    np.testing.assert_array_equal(
      cifar100.crop(images, cropped),
      tf.image.resize_with_crop_or_pad(images, *cropped),
    )

  @parameterized.parameters(((3, 9), '3x9'), ((9, 4), '9x4'))
  def test_images_are_not_padded(self, shape, told):
    with self.assertRaisesRegex(errors.InputError, f'at least 4x5, got {told}'):
      cifar100.crop(np.zeros([2, *shape, 3]), (4, 5))

  @parameterized.parameters({}, {'model': 'compact_cnn'})
  def test_models(self, **options):
    tff_database.write_cifar100(self.folder)
    weights = usable_tasks.check(self._create(**options)).initial_weights[0]
    self.assertLen(weights[-1], 100)

  def test_no_clients_for_testing(self):
    tff_database.write_cifar100(self.folder)
    with self.assertRaisesRegex(
      errors.InputError, r"0.99 of TFF's 4 test client\(s\) .*testing"
    ):
      self._create(validation_fraction=0.99)

  def test_client_without_the_label_asked_for(self):
    image = {'image': np.zeros(3072, np.int64), 'label': [1]}
    clients = {'0': [image], '1': [image]}
    tff_database.write_tff_database(
      self.folder / 'cifar100.sqlite', {'train': clients, 'test': clients}
    )
    task = self._create(label='coarse')
    with self.assertRaisesRegex(
      errors.InputError,
      "client 'train_0' .*cannot be read .*coarse_label",
    ):
      task.train.load_client('train_0')

  def test_missing_file(self):
    with self.assertRaisesRegex(
      errors.InputError, "'cifar100' found no file .*/cifar100.sqlite; fetch"
    ):
      self._create()
