# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of MobileNetV2, on random weights."""

import os
from unittest import mock

from fedfish_tff import errors
from tasks.networks import mobilenet
from tests import temporary_folders

import h5py
import numpy as np
import tensorflow as tf


class MobilenetTest(temporary_folders.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    tf.keras.utils.set_random_seed(0)
    cls.network = tf.keras.applications.MobileNetV2(
      input_shape=(32, 32, 3), alpha=0.35, include_top=False, weights=None
    )

  def test_equals_keras(self):
    path = self.folder / 'weights.h5'
    self.network.save_weights(path)
    # What scripts and ~/.keras/keras.json may have set is not for these weights.
    tf.keras.mixed_precision.set_global_policy('float64')
    tf.keras.backend.set_image_data_format('channels_first')
    try:
      extractor = mobilenet.load_mobilenet_v2(path, image_size=32, width=0.35)
    finally:
      tf.keras.mixed_precision.set_global_policy('float32')
      tf.keras.backend.set_image_data_format('channels_last')
    images = np.random.default_rng(0).integers(0, 256, [3, 16, 16, 3], np.uint8)
    inputs = tf.keras.applications.mobilenet_v2.preprocess_input(
      tf.image.resize(images, [32, 32])
    )
    expected = self.network(inputs, training=False).numpy().mean(axis=(1, 2))
    self.assertGreater(np.ptp(expected), 0)
    np.testing.assert_allclose(
      extractor.extract(images),
      expected,
      rtol=1e-3,
      atol=1e-4 * np.abs(expected).max(),
    )
    self.assertEqual(extractor.num_features, 1280)
    again = mobilenet.load_mobilenet_v2(path, image_size=32, width=0.35)
    self.assertEqual(again.fingerprint, extractor.fingerprint)

  def test_keras_own_folder(self):
    with mock.patch.dict(os.environ, {'HOME': str(self.folder)}):
      with self.assertRaisesRegex(
        errors.InputError,
        'no file .*/.keras/models/mobilenet_v2_weights_.*_224_no_top.h5, .*published as',
      ):
        mobilenet.load_mobilenet_v2(width=0.35)
      models = self.folder / '.keras' / 'models'
      models.mkdir(parents=True)
      self.network.save_weights(
        models
        / 'mobilenet_v2_weights_tf_dim_ordering_tf_kernels_0.35_224_no_top.h5'
      )
      extractor = mobilenet.load_mobilenet_v2(width=0.35, image_size=32)
    np.testing.assert_array_equal(
      extractor.initial_weights[0], self.network.trainable_variables[0]
    )

  def test_bad_input(self):
    path = self.folder / 'weights.h5'
    self.network.save_weights(path)
    with self.assertRaisesRegex(
      errors.InputError, 'weights of MobileNetV2 of width 0.5 cannot be read'
    ):
      mobilenet.load_mobilenet_v2(path, width=0.5, image_size=32)
    # A tensor of values that were never written, before it is compared.
    with h5py.File(path, 'a') as file:
      file.create_dataset('more', (2**40,), 'f4', chunks=(2**20,))
    with self.assertRaisesRegex(errors.InputError, 'must have datasets of at '):
      mobilenet.load_mobilenet_v2(path, width=0.35, image_size=32)
    path.write_bytes(path.read_bytes()[:1000])
    with self.assertRaisesRegex(errors.InputError, 'cannot be read'):
      mobilenet.load_mobilenet_v2(path, width=0.35, image_size=32)
    with self.assertRaisesRegex(errors.InputError, 'least 32x32.*31x31'):
      mobilenet.load_mobilenet_v2(path, image_size=31)
    with self.assertRaisesRegex(errors.InputError, 'no file /none'):
      mobilenet.load_mobilenet_v2('/none')
