# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what the tasks on CIFAR share, on random images."""

import pathlib

from fedfish_tff import models
from tasks.images import cifar_shards
from tasks.images import labelled_images
from tests import named_tensors
from tests import tolerance

from absl.testing import absltest
import numpy as np

_MEAN, _DEVIATION = (0.5, 0.25, 0.0), (0.1, 0.2, 0.5)


def _create_task(read, **options):
  return cifar_shards.create_cifar_task(
    'cifar',
    read,
    models.create_lenet5,
    4,
    _MEAN,
    _DEVIATION,
    seed=0,
    data_dir='folder',
    images='file',
    num_clients=3,
    num_held_out=2,
    classes_per_client=2,
    **options,
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
      for client_id in client_data.client_ids:
        x, y = client_data.load_client(client_id)
        self.assertEqual((x.dtype, y.dtype), (np.float32, np.int32))
        back = 255 * (x * np.array(_DEVIATION) + np.array(_MEAN))
        tolerance.assert_close(
          back, np.round(back), relative=tolerance.FLOAT32_SUMS
        )
        self.assertLessEqual(
          {i.tobytes() for i in np.round(back).astype(np.uint8)}, pixels
        )
    model = task.create_model()
    named_tensors.assert_named(task.tensor_names, model.initial_weights[0])
    logits = model.predict_on_batch(model.initial_weights, x)
    self.assertEqual(logits.shape, (len(x), 4))
