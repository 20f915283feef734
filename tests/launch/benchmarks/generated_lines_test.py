# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Made-up lines are such as C4 has."""

import collections
import glob
import json
import os
import urllib.parse

from launch.benchmarks import generated_lines

from absl.testing import absltest

_NUM_BYTES = 800_000


class GeneratedLinesTest(absltest.TestCase):
  def _generate(self, name):
    pattern = generated_lines.generate(
      self.create_tempdir(name).full_path, _NUM_BYTES
    )
    lines = []
    for path in sorted(glob.glob(pattern)):
      with open(path, 'rb') as file:
        lines.append(file.read().splitlines())
    return pattern, lines

  def test_lines(self):
    pattern, files = self._generate('a')
    self.assertLen(files, generated_lines.NUM_FILES)
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


if __name__ == '__main__':
  absltest.main()
