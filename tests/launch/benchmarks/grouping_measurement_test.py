# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Both ways of grouping are measured on the same lines."""

import collections
import json
import pathlib
from unittest import mock
import urllib.parse

from launch.benchmarks import grouping_measurement
from tests.datasets.grouping import web_pages

from absl.testing import absltest
import pytest


class GroupingMeasurementTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    folder = pathlib.Path(self.create_tempdir().full_path)
    lines = web_pages.good_lines(300)
    (folder / 'a.jsonl').write_bytes(b'\n'.join(lines[:100]))
    (folder / 'b.jsonl').write_bytes(b'\n'.join(lines[100:]))
    self._hosts = collections.Counter(
      urllib.parse.urlsplit(json.loads(line)['url']).hostname for line in lines
    )
    self._pattern = str(folder / '*.jsonl')

  def _request(self, **changes):
    fields = dict(pattern=self._pattern, plain=False, workers=1, num_shards=3)
    return grouping_measurement.Request(**{**fields, **changes})

  def test_both_find_the_same(self):
    for plain in (False, True):
      with mock.patch.object(
        grouping_measurement, 'time', autospec=True
      ) as time:
        time.perf_counter.side_effect = [10.0, 17.5]
        seconds, clients, examples = grouping_measurement.measure(
          self._request(plain=plain)
        )
      self.assertEqual(seconds, 7.5)
      self.assertLen(self._hosts, clients)
      self.assertEqual(self._hosts.total(), examples)

  @pytest.mark.thorough
  def test_in_a_child_with_workers(self):
    result = grouping_measurement.measure_in_child(
      self._request(plain=True, workers=2)
    )
    self.assertLen(self._hosts, result.clients)
    self.assertEqual(self._hosts.total(), result.examples)
    # Three processes have imported Beam.
    self.assertGreater(result.peak_bytes, 200e6)

  @pytest.mark.thorough
  def test_failure_of_the_process(self):
    with self.assertRaisesRegex(RuntimeError, 'no file .*/none.jsonl'):
      grouping_measurement.measure_in_child(
        self._request(pattern=self._pattern.replace('*', 'none'))
      )


if __name__ == '__main__':
  absltest.main()
