# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what tasks on photographs share; more in image_features_test."""

import pathlib
from unittest import mock

from fedfish_tff import errors
from tasks.features import extractors
from tasks.networks import squeezenet
from tests import tolerance
from tests.tasks.networks import random_squeezenet

from absl.testing import absltest
import numpy as np
import tensorflow as tf


class ExtractorsTest(absltest.TestCase):
  def test_any_keras_model(self):
    folder = self.create_tempdir().full_path
    model = tf.keras.Sequential(
      [tf.keras.layers.Conv2D(4, 3, input_shape=(6, 6, 3))]
    )
    model.save(pathlib.Path(folder) / 'model.keras')
    extractor = extractors.create_extractor(
      'file',
      weights='model.keras',
      image_size=6,
      data_dir=folder,
      trusted=True,
    )
    images = np.random.default_rng(0).integers(0, 256, [2, 9, 7, 3], np.uint8)
    expected = model(tf.image.resize(images, [6, 6])).numpy()
    np.testing.assert_allclose(
      extractor.extract(images), expected.mean(axis=(1, 2)), rtol=1e-4
    )

  def test_parts(self):
    images = np.arange(14).reshape(7, 2)
    sizes = []

    def extract(part):
      sizes.append(len(part))
      return part * 2.0

    with mock.patch.object(extractors, '_IMAGES_PER_FILE', 3):
      features = extractors.extract_in_parts(extract, images)
    np.testing.assert_array_equal(features, 2.0 * images)
    self.assertEqual(sizes, [3, 3, 1])

  def test_no_images(self):
    self.assertEmpty(extractors.extract_in_parts(lambda x: x, np.zeros([0, 3])))

  def test_divide(self):
    whole = squeezenet.create_squeezenet(
      random_squeezenet.flatten(random_squeezenet.draw_weights()), image_size=31
    )
    images = np.random.default_rng(0).integers(0, 256, [3, 9, 9, 3], np.uint8)
    features = whole.extract(images)
    for unit_features in (False, True):
      frozen, trained = extractors.divide(
        whole, 'features', unit_features=unit_features
      )
      self.assertIs(frozen, whole)
      self.assertIsNone(trained)
      expected = features
      if unit_features:
        expected = extractors.to_unit_length(features)
      for inputs in ('images', 'fire9/expand'):
        frozen, trained = extractors.divide(
          whole, inputs, unit_features=unit_features
        )
        x = images if frozen is None else frozen.extract(images)
        tolerance.assert_close(trained.extract(x), expected)
      self.assertLen(trained.initial_weights, 4)
    with self.assertRaisesRegex(errors.InputError, "inputs must be .*got 'x'"):
      extractors.divide(whole, 'x', unit_features=True)

  def test_feature_map(self):
    whole = squeezenet.create_squeezenet(
      random_squeezenet.flatten(random_squeezenet.draw_weights()), image_size=31
    )
    identity = extractors.create_feature_map(None, input_shape=(512,))
    self.assertEqual(identity.num_features, 512)
    self.assertEmpty(identity.initial_weights)
    on_images = extractors.create_feature_map(whole, input_shape=(9, 9, 3))
    self.assertEqual(on_images.num_features, 512)
    self.assertLen(on_images.initial_weights, 50)

  def test_unit_length(self):
    features = np.array([[3, 4], [0, 0], [0, -2]], np.float32)
    unit = extractors.to_unit_length(features)
    tolerance.assert_close(
      unit, [[0.6, 0.8], [0, 0], [0, -1]], relative=tolerance.FLOAT32
    )
    self.assertEqual(unit.dtype, np.float32)

  def test_paths(self):
    self.assertEqual(extractors.find_file('a/b', '/c'), pathlib.Path('/c/a/b'))
    self.assertEqual(extractors.find_file('/a', '/c'), pathlib.Path('/a'))
    self.assertEqual(extractors.find_file('a', None), pathlib.Path('a'))
    home = pathlib.Path.home()
    self.assertEqual(extractors.find_file('a', '~'), home / 'a')
    self.assertEqual(extractors.find_file('~/a', '/c'), home / 'a')
