# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the flags of Beam."""

import sys
from unittest import mock

from fedfish_tff import errors
from fedfish_tff.datasets.grouping import beam_options

from absl.testing import parameterized


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
