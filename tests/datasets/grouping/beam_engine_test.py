# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of grouping on a runner of Beam; engines are compared elsewhere."""

from unittest import mock

from fedfish_tff import errors
from fedfish_tff.datasets import grouping
from tests.datasets.grouping import web_pages

import psutil


class BeamEngineTest(web_pages.TestCase):
  def setUp(self):
    super().setUp()
    self.kinds = web_pages.write_files(self.pages)

  def _group(self, *beam_flags, **options):
    beam_flags = beam_flags or ['--runner=DirectRunner']
    return self.group(engine={'beam_flags': beam_flags}, **options)[1]

  def test_failures_are_one_sentence(self):
    with self.assertRaisesRegex(
      errors.InputError,
      r'^\d+ of \d+ records read cannot be used: .* \(such as',
    ):
      self._group(max_bad_fraction=0.001)
    read = grouping.TextSource.read

    def fail(source, part, progress):
      (self.pages / 'b.json.gz').unlink(missing_ok=True)
      return read(source, part, progress)

    with mock.patch.object(grouping.TextSource, 'read', fail):
      with self.assertRaisesRegex(
        errors.InputError, r'^\S*b\.json\.gz cannot be read: No such file'
      ):
        self._group()
    self.assertFalse((self.folder / 'out' / 'dataset.json').exists())

  def test_reports_of_an_earlier_call_do_not_count(self):
    reports = self.folder / 'out' / 'reports'
    reports.mkdir(parents=True)
    (reports / 'train-00000-of-00001.tfrecord.json').write_text('{"no": 1}')
    # As a worker that was killed leaves it.
    half = reports.parent / f'train-00000-of-00001.tfrecord.{"0" * 32}.partial'
    half.write_bytes(b'half')
    grouped = self._group()
    self.assertEqual(grouped.skipped, self.kinds)
    self.assertFalse(reports.exists())
    self.assertFalse(half.exists())

  def test_what_memory_does_not_hold(self):
    memory = mock.Mock(available=1000)
    with mock.patch.object(
      psutil, 'virtual_memory', autospec=True, return_value=memory
    ):
      with self.assertRaisesRegex(
        errors.InputError, 'DirectRunner holds all in memory.* without --runner'
      ):
        self._group()

  def test_what_a_cluster_lacks_is_said_in_one_sentence(self):
    with self.assertRaisesRegex(
      errors.InputError,
      '^The runner FlinkRunner of Beam has failed: .*none.jar',
    ):
      self._group(
        '--runner=FlinkRunner',
        '--flink_master=localhost:1',
        '--flink_job_server_jar=none.jar',
      )

  def test_an_interruption_stays_one(self):
    with mock.patch.object(
      grouping.TextSource, 'read', autospec=True, side_effect=KeyboardInterrupt
    ):
      with self.assertRaisesRegex(KeyboardInterrupt, '^$'):
        self._group()
