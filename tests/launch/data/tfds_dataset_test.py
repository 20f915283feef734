# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of reading labelled examples of TFDS."""

import contextlib
import os
import pathlib
import shutil
from unittest import mock

from fedfish_tff import errors
from launch.data import tfds_dataset
from tests.launch.data import tiny_tfds

from absl.testing import parameterized
import numpy as np
from tensorflow_datasets.core.utils import gcs_utils


class TfdsDatasetTest(tiny_tfds.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.builder = tfds_dataset.load_builder(
      'tiny_leaves', data_dir=str(cls.data_dir)
    )

  def test_examples_are_those_that_were_written(self):
    expected = tiny_tfds.examples()
    data = tfds_dataset.read(
      self.builder, split='train', others=['author', 'kind']
    )
    self.assertEqual(data.name, 'tiny_leaves/1.0.0')
    self.assertEqual((data.feature, data.label), ('image', 'species'))
    self.assertTrue(data.is_image)
    np.testing.assert_array_equal(data.x, expected['image'])
    self.assertEqual(data.x.dtype, np.uint8)
    np.testing.assert_array_equal(data.labels, expected['species'])
    self.assertEqual(data.labels.dtype, np.int64)
    np.testing.assert_array_equal(data.others['kind'], expected['kind'])
    self.assertEqual(
      [author.decode() for author in data.others['author']],
      list(expected['author']),
    )
    self.assertEqual(data.names_of('kind', [1, 0]), ['fish', 'tree'])
    self.assertEqual(data.names_of('height', [7]), ['7'])
    self.assertEqual(
      data.names_of('author', data.others['author'][:1]),
      list(expected['author'][:1]),
    )

  def test_another_feature_and_label_of_a_part(self):
    data = tfds_dataset.read(
      self.builder, split='train[50%:]', feature='sizes', label='kind'
    )
    self.assertFalse(data.is_image)
    expected = tiny_tfds.examples()
    half = tiny_tfds.NUM_EXAMPLES // 2
    np.testing.assert_array_equal(data.x, expected['sizes'][half:])
    np.testing.assert_array_equal(data.labels, expected['kind'][half:])

  @parameterized.parameters(
    (dict(split='trian'), "split.*train, unlabelled.*'trian'"),
    (dict(split='train[:0]'), 'must have examples'),
    (dict(label='tree'), "feature.*author, boxes.*'tree'"),
    (dict(feature='pixels'), "feature .*'pixels'"),
    (dict(others=['writer']), "feature .*'writer'"),
    (dict(label='height'), "'height' .*integer .*example"),
    (dict(feature='species'), "another feature than .* 'species'"),
    (dict(label='boxes'), "'boxes' .*integer .*example"),
    (dict(label='author'), "'author' .*integer .*example"),
    (dict(others=['height']), "'height' .*integer or string"),
    (dict(feature='photo'), "'photo' .*numbers of one shape"),
    (dict(feature='author'), "'author' .*numbers of one shape"),
    (dict(split='unlabelled'), "240 examples .*'species'"),
    (
      dict(split='unlabelled', feature='height', label='kind'),
      "'height' .* finite numbers in each of 240 examples, got NaN .* in 240",
    ),
  )
  def test_bad_requests(self, changed, regex):
    with self.assertRaisesRegex(errors.InputError, regex):
      tfds_dataset.read(self.builder, **{'split': 'train', **changed})

  def test_a_data_set_without_supervised_keys(self):
    with mock.patch.object(type(self.builder.info), 'supervised_keys', None):
      with self.assertRaisesRegex(errors.InputError, '--feature'):
        tfds_dataset.read(self.builder, split='train')

  @parameterized.parameters(
    ('mnsit', "no data set 'mnsit', .* Did you mean mnist"),
    ('mnist', "'mnist' is not prepared .*another --data_dir"),
    ('tiny_leaves:9.9.9', 'at version 9.9.9, only: 1.0.0'),
    ('tiny leaves', 'name of a data set'),
    ('', 'name of a data set'),
    ('no_such_place:mnist', 'no data set'),
  )
  def test_no_such_data_set(self, name, regex):
    with self.assertRaisesRegex(errors.InputError, regex):
      tfds_dataset.load_builder(name, data_dir=str(self.data_dir))

  def test_a_folder_without_tables_is_no_misspelt_name(self):
    folder = self.create_tempdir().full_path
    os.mkdir(os.path.join(folder, 'mnis'))
    self.enter_context(contextlib.chdir(folder))
    for name in ('mnis', folder):
      with self.assertRaisesRegex(
        errors.InputError,
        f'^{name} must be .* folder of tables, .* got another ',
      ):
        tfds_dataset.load_builder(name, data_dir=str(self.data_dir))

  def test_download_prepares_what_is_missing(self):
    empty = self.create_tempdir().full_path
    with mock.patch.object(gcs_utils, '_is_gcs_disabled', True):
      builder = tfds_dataset.load_builder(
        'tiny_leaves', data_dir=empty, download=True
      )
    data = tfds_dataset.read(builder, split='train')
    np.testing.assert_array_equal(data.x, tiny_tfds.examples()['image'])

  def test_a_failed_download_is_one_line(self):
    empty = self.create_tempdir().full_path
    with mock.patch.object(
      tiny_tfds.TinyLeaves,
      'download_and_prepare',
      autospec=True,
      side_effect=ConnectionError('No route to host.\nMore about it.'),
    ):
      with self.assertRaisesRegex(
        errors.InputError, "'tiny_leaves' cannot be .*: No route to host.$"
      ):
        tfds_dataset.load_builder('tiny_leaves', data_dir=empty, download=True)

  def test_damaged_and_missing_files(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    shutil.copytree(self.data_dir, folder, dirs_exist_ok=True)
    builder = tfds_dataset.load_builder('tiny_leaves', data_dir=str(folder))
    (path,) = folder.rglob('tiny_leaves-train.tfrecord*')
    content = path.read_bytes()
    for damage in (
      content[:-7],
      content[:1000] + bytes([content[1000] ^ 1]) + content[1001:],
      b'',
      None,
    ):
      if damage is None:
        os.remove(path)
      else:
        path.write_bytes(damage)
      with self.assertRaisesRegex(errors.InputError, "split 'train', "):
        tfds_dataset.read(builder, split='train')
