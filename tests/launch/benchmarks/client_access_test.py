# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what the benchmark of clients measures."""

import pathlib
from unittest import mock

from fedfish_tff import datasets
from launch.benchmarks import client_access
from launch.benchmarks import generated_folder

from absl.testing import absltest


class ClientAccessTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self._folder = str(pathlib.Path(self.create_tempdir().full_path) / 'd')
    generated_folder.generate(self._folder, 50)

  def _request(self, **changes):
    return client_access.Request(
      **{'folder': self._folder, 'cohort_size': 7, 'cohorts': 9, **changes}
    )

  def test_by_id(self):
    with mock.patch.object(
      datasets.ClientIndex,
      'load_client',
      autospec=True,
      side_effect=datasets.ClientIndex.load_client,
    ) as load:
      result = client_access.measure(self._request())
    # Each cohort twice: from disk, and from memory.
    self.assertEqual(load.call_count, 7 * 9 * 2)
    for seconds in (
      result.open_seconds,
      result.draw_seconds,
      result.cold_seconds,
      result.warm_seconds,
    ):
      self.assertGreater(seconds, 0)
    self.assertGreater(result.index_bytes, 50 * 30)

  def test_stream_in_a_child(self):
    result = client_access.measure_in_child(self._request(window=20))
    self.assertIsNone(result.draw_seconds)
    self.assertIsNone(result.index_bytes)
    self.assertGreater(result.warm_seconds, 0)
    self.assertGreater(result.first_seconds, 0)
    self.assertGreater(result.resident_bytes, 0)

  def test_failure_of_the_process(self):
    with self.assertRaisesRegex(RuntimeError, 'cohort_size is 51'):
      client_access.measure_in_child(self._request(cohort_size=51))


if __name__ == '__main__':
  absltest.main()
