# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of tasks on photographs by user, against TFF's loader."""

from unittest import mock

from fedfish_tff import errors
from tasks.features import photograph_clients
from tasks.features import photographs
from tests import photograph_files
from tests import temporary_folders
from tests import tolerance
from tests import usable_tasks
from tests.tasks.networks import random_squeezenet

from absl.testing import parameterized
import numpy as np
from scipy import ndimage
import tensorflow as tf
import tensorflow_federated as tff

_SIZE = 32


def _middle(image):
  """The central square, resized by SciPy."""
  side = min(image.shape[:2])
  top, left = ((length - side) // 2 for length in image.shape[:2])
  square = image[top : top + side, left : left + side].astype(np.float64)
  places = (np.arange(_SIZE) + 0.5) * side / _SIZE - 0.5
  rows, columns = np.meshgrid(places, places, indexing='ij')
  return np.stack(
    [
      ndimage.map_coordinates(
        square[..., channel], [rows, columns], order=1, mode='nearest'
      )
      for channel in range(3)
    ],
    axis=-1,
  )


class _TestCase(temporary_folders.TestCase):
  def setUp(self):
    super().setUp()
    random_squeezenet.write(self.folder)

  def _create(self, **options):
    return photographs.TASKS['inaturalist'](
      **{
        'seed': 0,
        'data_dir': str(self.folder),
        'extractor': 'squeezenet',
        'image_size': _SIZE,
        'feature_dir': str(self.folder / 'features'),
        **options,
      }
    )


class PhotographsTest(_TestCase):
  def setUp(self):
    super().setUp()
    self._split = self.folder / 'USER_120K'
    photograph_files.write(self._split)

  def test_equals_tffs_loader(self):
    utils = tff.simulation.datasets.inaturalist.utils
    load_tfrecord = utils.load_tfrecord
    with (
      # It writes a log file where it is called.
      mock.patch('logging.basicConfig', autospec=True),
      # It calls this without the second argument, and so fails.
      mock.patch.object(
        utils,
        'load_tfrecord',
        lambda path, logger_tag='test': load_tfrecord(path, logger_tag),
      ),
    ):
      train, test = tff.simulation.datasets.inaturalist.load_data(
        cache_dir=str(self.folder)
      )
    task = self._create(inputs='images')
    self.assertSequenceEqual(task.train.client_ids, train.client_ids)
    for client_id in train.client_ids:
      x, y = task.train.load_client(client_id)
      expected = train.create_tf_dataset_for_client(client_id)
      for image, label, element in zip(x, y, expected, strict=True):
        self.assertEqual(label, element['class'].numpy()[0])
        np.testing.assert_allclose(
          image, _middle(element['image/decoded'].numpy()), atol=0.501
        )
    held_out = sorted(
      (int(label), image.sum())
      for image, label in zip(*usable_tasks.pool(task.validation, task.test))
    )
    expected = sorted(
      (int(e['class'][0]), _middle(e['image/decoded'].numpy()).sum())
      for e in test
    )
    self.assertEqual([y for y, _ in held_out], [y for y, _ in expected])
    np.testing.assert_allclose(
      sorted(total for _, total in held_out),
      sorted(total for _, total in expected),
      rtol=2e-3,
    )

  def test_features_are_those_of_the_images(self):
    images = self._create(inputs='images')
    for unit_features in (True, False):
      features = self._create(unit_features=unit_features)
      network = photographs.extractors.create_extractor(
        'squeezenet',
        weights=None,
        image_size=_SIZE,
        data_dir=str(self.folder),
      )
      for split in ('train', 'validation', 'test'):
        for client_id in getattr(images, split).client_ids:
          pixels, labels = getattr(images, split).load_client(client_id)
          x, y = getattr(features, split).load_client(client_id)
          expected = network.extract(pixels)
          if unit_features:
            expected /= np.linalg.norm(expected, axis=1, keepdims=True)
          tolerance.assert_close(x, expected)
          np.testing.assert_array_equal(y, labels)

  def test_images_are_decoded_once(self):
    def load():
      task = self._create()
      return [task.train.load_client(c) for c in task.train.client_ids]

    first = load()
    with mock.patch.object(
      photograph_clients.PhotographClientData,
      'load_client',
      autospec=True,
      side_effect=AssertionError('read again'),
    ):
      again = load()
    for (x, y), (x_again, y_again) in zip(first, again, strict=True):
      np.testing.assert_array_equal(x, x_again)
      np.testing.assert_array_equal(y, y_again)

  def test_changed_file(self):
    def load():
      return self._create(feature_dir=str(self.folder / 'f')).train.load_client(
        'user2'
      )

    x, _ = load()
    photograph_files.write_records(
      self._split / 'train' / 'user2', 3, 7, np.random.default_rng(9)
    )
    changed, _ = load()
    uncached, _ = self._create(feature_dir=None).train.load_client('user2')
    self.assertFalse(np.array_equal(x, changed))
    np.testing.assert_array_equal(changed, uncached)

  def test_held_out_clients_are_the_same_for_every_seed(self):
    def held_out(seed):
      task = self._create(seed=seed, inputs='images')
      return usable_tasks.load_clients(task.validation, task.test)

    first, second = held_out(0), held_out(1)
    self.assertEqual(first.keys(), second.keys())
    for client_id, (x, _) in first.items():
      np.testing.assert_array_equal(x, second[client_id][0])

  def test_damaged_files_have_no_features(self):
    user = self._split / 'train' / 'user3'
    user.write_bytes(user.read_bytes()[:-9])
    with self.assertRaisesRegex(errors.InputError, "^Client 'user3': The file"):
      self._create().train.load_client('user3')

  def test_unknown_inputs(self):
    with self.assertRaisesRegex(errors.InputError, "inputs .*'x'"):
      self._create(inputs='x')


class InaturalistTest(_TestCase):
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
      [split.name.lower() for split in splits], photographs.INATURALIST_SPLITS
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


class LandmarksTest(temporary_folders.TestCase):
  @parameterized.parameters(('gld160k', 2028), ('gld23k', 203))
  def test_splits(self, split, num_classes):
    random_squeezenet.write(self.folder)

    def create():
      return photographs.TASKS['landmarks'](
        seed=0,
        data_dir=str(self.folder),
        split=split,
        extractor='squeezenet',
        image_size=32,
        feature_dir=None,
      )

    with self.assertRaisesRegex(
      errors.InputError, f'gldv2.load_data .*no folder .*/{split} with '
    ):
      create()
    photograph_files.write(self.folder / split, num_users=3)
    task = create()
    self.assertEqual(task.name, 'landmarks')
    self.assertLen(task.train.client_ids, 3)
    kernel, _ = task.create_model().initial_weights[0]
    self.assertEqual(kernel.shape, (512, num_classes))
    x, _ = task.train.load_client('user2')
    self.assertEqual(x.shape, (3, 512))


class PhotographClientsTest(temporary_folders.TestCase):
  def setUp(self):
    super().setUp()
    photograph_files.write(self.folder)
    self._train = self.folder / 'train'

  def test_users_without_photographs_are_left_out(self):
    (self._train / 'nobody').write_bytes(b'')
    with self.assertLogs('absl', 'WARNING') as logs:
      records = photograph_clients.user_records(self._train)
    self.assertNotIn('nobody', records)
    self.assertIn('1 of 6 users', logs.output[0])

  def test_damaged_and_wrong_files(self):
    content = (self._train / 'user3').read_bytes()
    (self._train / 'user3').write_bytes(content[:-9])
    with tf.io.TFRecordWriter(str(self._train / 'user2')) as writer:
      writer.write(photograph_files.make_record(b'no image', 1))
    with tf.io.TFRecordWriter(str(self._train / 'user1')) as writer:
      jpeg = tf.io.encode_jpeg(np.zeros([8, 8, 3], np.uint8)).numpy()
      writer.write(photograph_files.make_record(jpeg, 1203))
    clients = photograph_clients.PhotographClientData(
      photograph_clients.user_records(self._train),
      image_size=32,
      num_classes=1203,
    )
    for client_id, regex in (
      ('user3', "Client 'user3': The file .*ends before the end"),
      ('user2', "photographs of client 'user2' .*cannot be decoded"),
      ('user1', "^Client 'user1': array 'class' .*1 label.* such as 1203"),
      ('user9', "got 'user9'"),
    ):
      with self.assertRaisesRegex(errors.InputError, regex):
        clients.load_client(client_id)

  def test_too_few_photographs(self):
    path = self.folder / 'test.tfRecord'
    photograph_files.write_records(path, 3, 7, np.random.default_rng(0))
    with self.assertRaisesRegex(errors.InputError, 'least.*photographs.*got 3'):
      photograph_clients.held_out_records(path)
    for user in self._train.iterdir():
      user.write_bytes(b'')
    with self.assertRaisesRegex(errors.InputError, r'\(5 empty files\)'):
      photograph_clients.user_records(self._train)
