# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the digits, and of images whose clients hold shards of classes."""

import shutil
import tempfile

from fedfish_tff import errors
from tasks.images import cifar10_dirichlet
from tasks.images import digits
from tasks.images import digits_shards
from tasks.images import emnist_shards
from tests import local_data
from tests import named_tensors
from tests import tff_database
from tests import tolerance
from tests import usable_tasks

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
from sklearn import datasets as sklearn_datasets
import tensorflow as tf


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

  @parameterized.parameters('vgg9', 'lenet', 'compact_cnn')
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


class DigitsShardsTest(absltest.TestCase):
  def test_all_digits_are_divided(self):
    task = digits_shards.create_task(seed=0)
    parts = [task.own_test.load_client(c) for c in task.own_test.client_ids]
    self.assertAlmostEqual(sum(len(y) for _, y in parts), 599, delta=1)
    for data in (task.train, task.validation, task.test):
      parts += [data.load_client(c) for c in data.client_ids]
    x, y = (np.concatenate(arrays) for arrays in zip(*parts))
    images, labels = sklearn_datasets.load_digits(return_X_y=True)
    found = np.column_stack([x * 16, y])
    expected = np.column_stack([images, labels])
    np.testing.assert_array_equal(
      found[np.lexsort(found.T)], expected[np.lexsort(expected.T)]
    )
    self.assertLen(task.train.client_ids, 64)
    named_tensors.assert_named(
      task.tensor_names, task.create_model().initial_weights[0]
    )


class EmnistShardsTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls._folder = cls.enterClassContext(tempfile.TemporaryDirectory())
    cls._arrays = tff_database.write_emnist(cls._folder, num_writers=60)

  def _create(self, **options):
    return emnist_shards.create_task(
      seed=0,
      data_dir=self._folder,
      **{'num_clients': 6, 'num_held_out': 2, **options},
    )

  def _found(self, task, *splits):
    x, y = usable_tasks.pool(*(getattr(task, split) for split in splits))
    return [(int(label), image.tobytes()) for image, label in zip(x, y)]

  @parameterized.parameters(('digits', 0), ('letters', 36))
  def test_ten_classes(self, characters, first):
    task = self._create(characters=characters, classes_per_client=3)
    for split, splits in (
      ('all_train', ('train', 'validation', 'test')),
      ('all_test', ('own_test',)),
    ):
      expected = [
        (int(label) - first, image.astype(np.float32).tobytes())
        for images, labels in self._arrays[split].values()
        for image, label in zip(images, labels)
        if first <= label < first + 10
      ]
      self.assertCountEqual(self._found(task, *splits), expected)
    named_tensors.assert_named(
      task.tensor_names, task.create_model().initial_weights[0]
    )

  def test_fewer_images(self):
    everything = self._found(self._create(), 'train', 'validation', 'test')
    task = self._create(max_images=60)
    found = self._found(task, 'train', 'validation', 'test')
    self.assertLen(found, 60)
    self.assertLess(set(found), set(everything))


def _splits(task):
  return task.train, task.validation, task.test


class DigitsTest(parameterized.TestCase):
  @parameterized.parameters(
    dict(), dict(num_clients=100, alpha=0.01), dict(num_clients=5, alpha=100.0)
  )
  def test_clients_divide_all_images(self, **options):
    task = digits.create_task(seed=0, **options)
    clients = usable_tasks.load_clients(*_splits(task)).values()
    self.assertLen(clients, options.get('num_clients', 40))
    x, y = usable_tasks.pool(*_splits(task))
    images, labels = sklearn_datasets.load_digits(return_X_y=True)
    found = np.column_stack([x * 16, y])
    expected = np.column_stack([images, labels])
    np.testing.assert_array_equal(
      found[np.lexsort(found.T)], expected[np.lexsort(expected.T)]
    )
    self.assertEqual((x.dtype, y.dtype), (np.float32, np.int32))
    self.assertEqual((x.min(), x.max()), (0, 1))
    self.assertGreaterEqual(min(len(client[1]) for client in clients), 8)

  def test_default_clients_differ_in_labels(self):
    task = digits.create_task(seed=0)
    clients = usable_tasks.load_clients(task.train).values()
    labels_held = [len(np.unique(y)) for _, y in clients]
    self.assertLess(np.mean(labels_held), 6)

  def test_the_partition_does_not_depend_on_the_model(self):
    a = digits.create_task(seed=0)
    b = digits.create_task(seed=0, hidden_units=(8, 8))
    for first, second in zip(_splits(a), _splits(b)):
      self.assertEqual(first.client_ids, second.client_ids)
    shapes = [w.shape for w in b.create_model().initial_weights[0]]
    self.assertEqual(shapes, [(64, 8), (8,), (8, 8), (8,), (8, 10), (10,)])

  @parameterized.parameters((64,), (8, 5))
  def test_features_are_the_model_s_last_hidden_layer(self, *hidden_units):
    task = digits.create_task(seed=3, hidden_units=list(hidden_units))
    features, model = task.feature_map, task.create_model()
    self.assertEqual(features.num_features, hidden_units[-1])
    *inner, kernel, bias = model.initial_weights[0]
    tolerance.assert_same(features.initial_weights, inner)
    x, _ = task.train.load_client(task.train.client_ids[0])
    phi = features(features.initial_weights, tf.constant(x))
    logits = model.predict_on_batch(
      model.initial_weights, tf.constant(x), training=False
    )
    # Sums of a few dozen float32 products.
    np.testing.assert_allclose(phi @ kernel + bias, logits, rtol=0, atol=1e-5)

  def test_without_hidden_layers_the_features_are_the_pixels(self):
    task = digits.create_task(seed=0, hidden_units=())
    x, _ = task.train.load_client(task.train.client_ids[0])
    np.testing.assert_array_equal(task.feature_map((), tf.constant(x)), x)

  @parameterized.parameters(
    (dict(num_clients=225), '1797 examples cannot give 225 clients'),
    (dict(num_clients=2), r'2 client\(s\) cannot give'),
  )
  def test_bad_options(self, options, regex):
    with self.assertRaisesRegex(errors.InputError, regex):
      digits.create_task(seed=0, **options)
