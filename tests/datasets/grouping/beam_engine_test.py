# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of Beam's runners and flags; engines are compared elsewhere."""

import sys
from unittest import mock

from fedfish_tff import errors
from fedfish_tff.datasets import grouping
from fedfish_tff.datasets.grouping import beam_options
from tests.datasets.grouping import web_pages

from absl.testing import parameterized
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


class BeamOptionsTest(parameterized.TestCase):
  @parameterized.parameters(
    '--runner=DirectRunner',
    '--runner DirectRunner',
    '--runner=direct --direct_num_workers=1',
    '--runner=direct --direct_running_mode=in_memory --streaming',
    '--runner=FlinkRunner --flink_master=host:8081',
    '--runner=SparkRunner --spark_master_url spark://host:7077',
    '--runner=PortableRunner --job_endpoint=host:1 --environment_type=EXTERNAL',
    '--runner=direct --experiments=a --experiments=b --temp_location=gs://a/b',
  )
  def test_known_flags(self, text):
    flags = text.split()
    self.assertEqual(beam_options.create_beam_runner(flags)[1], flags)

  @parameterized.parameters(
    (
      '--runner=direct --direct_num_workers=2',
      '--direct_num_workers must be 1, got 2',
    ),
    (
      '--runner=direct --direct_num_workers 0',
      '--direct_num_workers must be 1, got 0',
    ),
    (
      '--runner=direct --direct_running_mode=multi_threading',
      '--direct_running_mode must be in_memory, got multi_threading',
    ),
    (
      '--runner=direct --direct_running_mode=multi_processing',
      'got multi_processing',
    ),
    ('--runner=PrismRunner', '--runner=PrismRunner must have the address'),
    ('--runner=FlinkRunner', 'FlinkRunner must have the address'),
    ('--runner=flink --flink_master=[local]', 'FlinkRunner must'),
    ('--runner=SparkRunner', 'SparkRunner must have the address'),
    ('--runner=spark --spark_master_url=local[2]', 'SparkRunner must'),
    ('--runner=PortableRunner', 'PortableRunner must have the address'),
    ('--runner=PortableRunner --job_endpoint=embed', 'PortableRunner must'),
    (
      '--runner=FlinkRunner --flink_master=a:1 --environment_type=LOOPBACK',
      'FlinkRunner must have the address of a cluster with workers of its own',
    ),
  )
  def test_what_would_listen_on_this_machine(self, text, message):
    with self.assertRaises(errors.InputError) as caught:
      beam_options.create_beam_runner(text.split())
    self.assertIn(message, str(caught.exception))
    self.assertIn('Beam would open ports', str(caught.exception))

  @parameterized.parameters(
    ('--min_example=3', "has a flag '--min_example=3'"),
    ('--direct_num_worker=2', "has a flag '--direct_num_worker=2'"),
    ('--runner=DirectRunner stray', "has a flag 'stray'"),
    ('--direct_num_workers=two', 'A flag of Beam is wrong'),
    ('--direct_running_mode=remote', 'A flag of Beam is wrong'),
    ('--streaming', '--streaming belongs to a runner of Apache Beam, which'),
    ('--runner=NoRunner', '--runner=NoRunner cannot be used'),
    ('--runner=no.module.NoRunner', 'cannot be used'),
  )
  def test_wrong_flags(self, text, message):
    with self.assertRaisesRegex(errors.InputError, message):
      beam_options.create_beam_runner(text.split())

  def test_a_runner_without_its_package(self):
    with mock.patch.dict(sys.modules, {'dask': None}):
      with self.assertRaisesRegex(
        errors.InputError, '^--runner=DaskRunner cannot be used: .*dask'
      ):
        beam_options.create_beam_runner(['--runner=DaskRunner'])
