# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Made-up lines are such as C4 has, and clients as many as asked for."""

import collections
import glob
import json
import os
import pathlib
import urllib.parse

from fedfish_tff import datasets
from launch.benchmarks import generated_text

from absl.testing import absltest

_NUM_BYTES = 800_000


class WriteLinesTest(absltest.TestCase):
  def _generate(self, name):
    pattern = generated_text.write_lines(
      self.create_tempdir(name).full_path, _NUM_BYTES
    )
    lines = []
    for path in sorted(glob.glob(pattern)):
      with open(path, 'rb') as file:
        lines.append(file.read().splitlines())
    return pattern, lines

  def test_lines(self):
    pattern, files = self._generate('a')
    self.assertLen(files, generated_text.NUM_FILES)
    total = sum(map(os.path.getsize, glob.glob(pattern)))
    self.assertGreaterEqual(total, _NUM_BYTES)
    self.assertLess(total, 1.2 * _NUM_BYTES)
    pages = [json.loads(line) for lines in files for line in lines]
    for page in pages:
      self.assertSameElements(page, ('url', 'text', 'timestamp'))
      self.assertNotEmpty(page['text'].split())
    hosts = collections.Counter(
      urllib.parse.urlsplit(page['url']).hostname for page in pages
    )
    self.assertGreater(max(hosts.values()), 0.2 * len(pages))
    self.assertGreater(sum(n == 1 for n in hosts.values()), 10)

  def test_the_same_every_time(self):
    self.assertEqual(self._generate('a')[1], self._generate('b')[1])


class WriteClientsTest(absltest.TestCase):
  def test_clients(self):
    folder = pathlib.Path(self.create_tempdir().full_path) / 'd'
    generated_text.write_clients(folder, 1100)
    data = datasets.GroupedClientData(folder, generated_text.SPLIT)
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
