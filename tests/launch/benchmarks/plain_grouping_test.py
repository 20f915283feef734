# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The yardstick of grouping counts what there is."""

import pathlib

from launch.benchmarks import plain_grouping
from tests.datasets.grouping import web_pages

from absl.testing import absltest


class PlainGroupingTest(absltest.TestCase):
  def test_counts(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    lines = web_pages.good_lines(200)
    (folder / 'a.jsonl').write_bytes(b'\n'.join(lines[:150]))
    (folder / 'b.jsonl').write_bytes(b'\n'.join(lines[150:]))
    counts = plain_grouping.count_groups(
      str(folder / '*.jsonl'), path=folder / 'counts'
    )
    # 15 hosts, from 0 to 14; all but the first with 'www.' and without.
    self.assertEqual(counts, (2 * 15 - 1, 200))
