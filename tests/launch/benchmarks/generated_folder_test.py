# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of made-up grouped clients."""

import pathlib

from fedfish_tff import datasets
from launch.benchmarks import generated_folder

from absl.testing import absltest


class GeneratedFolderTest(absltest.TestCase):
  def test_clients(self):
    folder = pathlib.Path(self.create_tempdir().full_path) / 'd'
    generated_folder.generate(folder, 1100)
    data = datasets.GroupedClientData(folder, generated_folder.SPLIT)
    self.assertLen(data.client_ids, 1100)
    self.assertBetween(data.client_sizes.mean(), 4, 5)
    self.assertEqual({1, 8}, {data.client_sizes.min(), data.client_sizes.max()})
    lengths = []
    for client_id in data.client_ids[:300]:
      for text in data.load_client(client_id)['text']:
        words = text.decode().split(' ')
        self.assertEqual({len(word) for word in words}, {6})
        lengths.append(len(words))
    self.assertEqual((min(lengths), max(lengths)), (20, 60))


if __name__ == '__main__':
  absltest.main()
