# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""CIFAR-100 among clients of a few classes, on random images."""

from fedfish_tff import errors
from tasks.images import cifar100_shards
from tests import tff_database

from absl.testing import absltest


class Cifar100ShardsTest(absltest.TestCase):
  def test_tff_s_images(self):
    folder = self.create_tempdir().full_path
    tff_database.write_cifar100(folder, num_train=6, num_examples=50)
    task = cifar100_shards.create_task(
      seed=0, data_dir=folder, num_clients=8, num_held_out=2
    )
    splits = task.train, task.validation, task.test
    num_examples = [
      len(data.load_client(client_id)[1])
      for data in splits
      for client_id in data.client_ids
    ]
    self.assertLen(num_examples, 10)
    self.assertEqual(sum(num_examples), 6 * 50)
    shapes = [w.shape for w in task.create_model().initial_weights[0]]
    self.assertEqual(shapes[-2:], [(128, 100), (100,)])

  def test_missing_file(self):
    with self.assertRaisesRegex(
      errors.InputError, "'cifar100_shards' found no file .*/cifar100.sqlite"
    ):
      cifar100_shards.create_task(
        seed=0, data_dir=self.create_tempdir().full_path
      )
