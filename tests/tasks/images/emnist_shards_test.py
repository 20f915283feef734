# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Ten classes of EMNIST among clients of a few of them, on random images."""

import tempfile

from fedfish_tff import errors
from tasks.images import emnist_shards
from tests import named_tensors
from tests import tff_database
from tests import usable_tasks

from absl.testing import parameterized
import numpy as np


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

  def test_bad_options(self):
    for options, message in (
      (dict(characters='runes'), 'characters'),
      (dict(max_images=-1), 'max_images'),
    ):
      with self.assertRaisesRegex(errors.InputError, message):
        self._create(**options)
