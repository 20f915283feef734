# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Clients of a few classes, or of shares of published ones, and image files."""

import functools
import itertools

from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff import models
from tasks.images import class_shards
from tasks.images import dealt_clients
from tasks.images import labelled_images
from tests import labelled_images as image_files
from tests import temporary_folders
from tests import usable_tasks

from absl.testing import absltest
import numpy as np


def _images(num_images=600, num_classes=6, *, test_classes=6):
  number = np.arange(num_images)
  is_test = number % 3 == 0
  y = (number // 3 % num_classes).astype(np.int32)
  y[is_test] %= test_classes
  y[~is_test] = np.random.default_rng(0).permutation(y[~is_test])
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
      'max_images': 0,
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


_NUM_CLIENTS, _NUM_LABELS = 8, 5


def _published():
  rng = np.random.default_rng(0)
  return datasets.InMemoryClientData(
    {
      f'writer_{n}': {
        'pixels': 1000 * n + np.arange(40),
        'label': rng.integers(0, _NUM_LABELS, 40),
      }
      for n in range(_NUM_CLIENTS)
    }
  )


def _deal(alpha=1.0, seed=0):
  dealt = dealt_clients.deal_anew(
    _published(), label='label', alpha=alpha, seed=seed
  )
  return [dealt.load_client(client) for client in dealt.client_ids]


class DealtClientsTest(absltest.TestCase):
  def test_each_example_has_one_new_client_and_its_label(self):
    published = _published()
    expected = {
      (pixel, label)
      for client in map(published.load_client, published.client_ids)
      for pixel, label in zip(client['pixels'], client['label'])
    }
    dealt = _deal()
    self.assertLen(dealt, _NUM_CLIENTS)
    self.assertGreater(min(len(client['label']) for client in dealt), 0)
    found = [
      pair
      for client in dealt
      for pair in zip(client['pixels'], client['label'])
    ]
    self.assertCountEqual(found, expected)

  def test_alpha_decides_how_many_labels_a_client_has(self):
    def most_common_share(alpha):
      shares = [
        np.bincount(client['label']).max() / len(client['label'])
        for client in _deal(alpha)
      ]
      return np.mean(shares)

    # Clients that are all alike have the shares of all examples.
    self.assertLess(most_common_share(1e4), 1.5 / _NUM_LABELS)
    self.assertGreater(most_common_share(0.01), 0.7)

  def test_seed_decides(self):
    first, again, other = (
      [client['pixels'].tolist() for client in _deal(seed=seed)]
      for seed in (0, 0, 1)
    )
    self.assertEqual(first, again)
    self.assertNotEqual(first, other)

  def test_alpha_must_be_positive(self):
    with self.assertRaisesRegex(errors.InputError, 'alpha'):
      _deal(alpha=0.0)


_NUM_CLASSES = 10


class ReadNpzTest(temporary_folders.TestCase):
  def setUp(self):
    super().setUp()
    self._arrays = image_files.write(
      self.folder, num_classes=_NUM_CLASSES, per_class=12
    )

  def test_bad_files(self):
    path = self.folder / 'bad.npz'
    good = self._arrays
    for change, regex in (
      ({'labels': None}, "images, labels, is_test, got no array 'labels'"),
      (
        {'images': good['images'][..., 0]},
        r'images uint8\[120, 8, 8\], labels',
      ),
      ({'images': good['images'] / 255}, 'got images float64'),
      ({'labels': good['labels'] + 0.5}, 'labels float64'),
      ({'is_test': good['is_test'][:-1]}, r'is_test uint8\[119\]'),
      (
        {'labels': good['labels'] + 1},
        r'bad.npz: array .*labels of .* such as 10',
      ),
    ):
      arrays = {k: v for k, v in (good | change).items() if v is not None}
      np.savez(path, **arrays)
      with self.assertRaisesRegex(errors.InputError, regex):
        labelled_images.read_npz(path, num_classes=_NUM_CLASSES)
    for content in (b'', b'text', path.read_bytes()[:1000]):
      path.write_bytes(content)
      with self.assertRaisesRegex(
        errors.InputError, 'bad.npz .*cannot be read'
      ):
        labelled_images.read_npz(path, num_classes=_NUM_CLASSES)

  def test_damaged_files(self):
    """Every byte, read as it was, or refused in a sentence."""
    path = self.folder / 'damaged.npz'
    images = {name: array[::8] for name, array in self._arrays.items()}
    images['images'] = images['images'][:, :2, :2]
    np.savez_compressed(path, **images)
    content = path.read_bytes()
    expected = labelled_images.read_npz(path, num_classes=_NUM_CLASSES)
    refused = 0
    # 4 makes bzip2 of DEFLATE and 6 LZMA, where the way to compress is told.
    for place, change in itertools.product(range(len(content)), (4, 6, 255)):
      damaged = bytearray(content)
      damaged[place] ^= change
      path.write_bytes(damaged)
      try:
        found = labelled_images.read_npz(path, num_classes=_NUM_CLASSES)
      except errors.InputError as error:
        self.assertNotIn('()', str(error))
        refused += 1
      else:
        np.testing.assert_array_equal(found.images, expected.images)
        np.testing.assert_array_equal(found.labels, expected.labels)
        np.testing.assert_array_equal(found.is_test, expected.is_test)
    self.assertGreater(refused, 1.5 * len(content))
