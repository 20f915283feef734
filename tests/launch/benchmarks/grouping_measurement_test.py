# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Both ways of grouping are measured on the same lines."""

import collections
import json
import os
import pathlib
import subprocess
import sys
from unittest import mock
import urllib.parse

from launch.benchmarks import grouping_measurement
from tests import processes
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

  def test_both_find_the_same(self):
    for plain in (False, True):
      with mock.patch.object(
        grouping_measurement, 'time', autospec=True
      ) as time:
        time.perf_counter.side_effect = [10.0, 17.5]
        result = grouping_measurement.measure(
          self._pattern, plain=plain, num_shards=3
        )
      self.assertEqual(result, (7.5, len(self._hosts), self._hosts.total(), 0))

  @pytest.mark.thorough
  def test_in_a_child(self):
    result = grouping_measurement.measure_in_child(
      self._pattern, plain=True, num_shards=3
    )
    self.assertLen(self._hosts, result.clients)
    self.assertEqual(self._hosts.total(), result.examples)
    # It has imported Beam.
    self.assertGreater(result.peak_bytes, 50e6)


class TreeResidentBytesTest(absltest.TestCase):
  def test_processes_that_were_started_count(self):
    size = 200 * 2**20
    code = f'a = b"1" * {size}; print(flush=True); input()'
    with subprocess.Popen(
      [sys.executable, '-c', code],
      stdin=subprocess.PIPE,
      stdout=subprocess.PIPE,
    ) as child:
      with processes.killed_if_hanging(child):
        child.stdout.readline()
      both = grouping_measurement.tree_resident_bytes(os.getpid())
      one = grouping_measurement.tree_resident_bytes(child.pid)
      child.communicate(b'', timeout=processes.HANG_SECONDS)
    self.assertGreater(one, size)
    self.assertGreater(both, one + 20 * 2**20)
    self.assertEqual(grouping_measurement.tree_resident_bytes(child.pid), 0)
