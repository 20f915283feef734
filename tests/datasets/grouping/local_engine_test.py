# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of grouping on one machine."""

import collections
import concurrent.futures
import os
import pathlib
import signal
import subprocess
import sys
import time
from unittest import mock

from fedfish_tff import errors
from fedfish_tff import new_files
from fedfish_tff.datasets import grouping
from fedfish_tff.datasets.grouping import client_splits
from fedfish_tff.datasets.grouping import input_files
from fedfish_tff.datasets.grouping import local_engine
from fedfish_tff.datasets.grouping import work as work_lib
from tests import processes
from tests.datasets.grouping import web_pages
from tests.launch import binary_runner

from absl.testing import absltest
from absl.testing import parameterized
import dataset_grouper
import numpy as np
import psutil
import pytest
import tensorflow as tf
import tensorflow_datasets as tfds

_ORPHANS = """
import os, sys, time
from fedfish_tff.datasets.grouping import local_engine
if __name__ == '__main__':
  with local_engine._processes(2) as run:
    for pid in run(os.getpgid, [0]):
      print('started', flush=True)
    list(run(time.sleep, [1000] * 2))
"""


class LocalEngineTest(web_pages.TestCase):
  def setUp(self):
    super().setUp()
    web_pages.write_files(self.pages)
    # Many parts, and each is kept by itself.
    self.enter_context(mock.patch.object(input_files, '_RANGE_BYTES', 3000))

  def _group(self, name, **options):
    folder = self.folder / name
    (folder / 'work').mkdir(parents=True, exist_ok=True)
    source = self.source()
    parts = source.parts()
    work = work_lib.Work(
      source=source,
      placement=client_splits.plan_placement(
        grouping.ClientSplits(held_out_fraction=0.3),
        num_shards=3,
        total_bytes=9,
        bucket_bytes=1,
      ),
      options=work_lib.GroupingOptions(**{'max_bad_fraction': 1.0, **options}),
      total_size=sum(part.size for part in parts),
      folder=str(folder),
    )
    counts, tables = local_engine.group(
      work, parts, folder=folder / 'work', num_processes=1
    )
    return counts, tables, web_pages.read_shards(folder)

  def test_what_was_done_is_not_done_again(self):
    whole = self._group('whole')
    read, parts = grouping.TextSource.read, collections.Counter()
    write_shard, shards = work_lib.Work.write_shard, []

    def read_some(source, part, progress):
      if len(parts) == 5:
        raise errors.InputError('Enough.')
      parts[part.number] += 1
      return read(source, part, progress)

    with mock.patch.object(grouping.TextSource, 'read', read_some):
      with self.assertRaisesRegex(errors.InputError, 'Enough'):
        self._group('some')
    # As a process that was killed leaves it.
    work = self.folder / 'some' / 'work'
    (work / 'read' / f'9.arrow.{"0" * 32}.partial').write_bytes(b'half')
    (work / 'read' / '000006.arrow').write_bytes(b'half')

    def write_some(work, shard, clients):
      shards.append(shard)
      if len(shards) == 2:
        raise errors.InputError('Enough.')
      return write_shard(work, shard, clients)

    with (
      mock.patch.object(
        grouping.TextSource, 'read', autospec=True, side_effect=read
      ) as reader,
      mock.patch.object(work_lib.Work, 'write_shard', write_some),
    ):
      with self.assertRaisesRegex(errors.InputError, 'Enough'):
        self._group('some')
      again = [call.args[1].number for call in reader.call_args_list]
      self.assertNoCommonElements(again, parts)
      self.assertEqual(self._group('some'), whole)
      self.assertLen(again, reader.call_count)
    # The one that failed, and the others.
    self.assertLen(shards, 1 + len(whole[1]))

  def test_other_limits_write_a_shard_again(self):
    whole = self._group('a')
    counts, _, others = self._group('a', min_examples=20)
    self.assertGreater(counts.small_clients, 0)
    self.assertNotEqual(others, whole[-1])
    # What fails leaves none that seems to be written like this.
    with mock.patch.object(
      new_files, 'new_file', autospec=True, side_effect=OSError('full')
    ):
      with self.assertRaisesRegex(OSError, 'full'):
        self._group('a')
    self.assertEqual(self._group('a'), whole)

  def test_too_many_bad_records_end_the_work_before_its_end(self):
    for path in self.pages.iterdir():
      path.unlink()
    good = web_pages.good_lines(3000)
    for i in range(10):
      lines = good[300 * i : 300 * (i + 1)]
      lines[100:112] = [b'{}'] * 12
      (self.pages / f'{i}.json').write_bytes(b'\n'.join(lines) + b'\n')
    # 31 of 3,000 are too many, of which each file has 12.
    with self.assertRaisesRegex(
      errors.InputError,
      r'^\d+ of (\d{3}|1,\d{3}) records read cannot be used: \d+ '
      r'missing_text \(such as .+, line \d+\); at most 1\.00%',
    ):
      self._group('a', max_bad_fraction=0.01)
    counts, *_ = self._group('a', max_bad_fraction=0.05)
    self.assertEqual(counts.skipped, {'missing_text': 120})
    self.assertEqual(counts.examples, 2880)

  def test_an_interruption_stays_one(self):
    with mock.patch.object(
      grouping.TextSource, 'read', autospec=True, side_effect=KeyboardInterrupt
    ):
      with self.assertRaisesRegex(KeyboardInterrupt, '^$'):
        self._group('a')


@pytest.mark.thorough
class ProcessesTest(absltest.TestCase):
  def test_a_process_that_is_killed(self):
    with self.assertRaisesRegex(errors.InputError, 'process .* was killed'):
      with local_engine._processes(2) as run:
        list(run(_kill, [0]))

  def test_a_fork_server_that_is_killed(self):
    with self.assertRaisesRegex(errors.InputError, 'process .* was killed'):
      with local_engine._processes(2) as run:
        results = run(_return_soon, range(1000))
        next(results)
        (server,) = [
          child
          for child in psutil.Process().children()
          if 'forkserver' in ' '.join(child.cmdline())
        ]
        server.kill()
        list(results)

  def test_an_error_of_a_pipe_in_a_function_is_its_own(self):
    with self.assertRaisesRegex(EOFError, '^of the function$'):
      with local_engine._processes(2) as run:
        list(run(_end_of_file, [0]))

  def test_an_error_ends_the_others(self):
    with self.assertRaises(ZeroDivisionError):
      with local_engine._processes(2) as run:
        list(run(_wait_or_fail, [0, 1]))

  def test_they_end_with_the_process_that_started_them(self):
    script = self.create_tempfile('orphans.py', _ORPHANS).full_path
    with subprocess.Popen(
      [sys.executable, script],
      env=binary_runner.environment(),
      stdout=subprocess.PIPE,
      text=True,
    ) as process:
      self.assertEqual(process.stdout.readline(), 'started\n')
      family = psutil.Process(process.pid).children(recursive=True)
      self.assertNotEmpty(family)
      process.kill()
    _, alive = psutil.wait_procs(family, processes.HANG_SECONDS)
    self.assertEmpty(alive)


def _return_soon(number):
  time.sleep(0.02)
  return number


def _end_of_file(_):
  raise EOFError('of the function')


def _kill(_):
  os.kill(os.getpid(), signal.SIGKILL)


def _wait_or_fail(number):
  if number == 0:
    return 1 // 0
  concurrent.futures.Future().result(processes.HANG_SECONDS)


def _client(client_id, examples):
  return work_lib.Client(
    client_id=client_id,
    sizes=np.array([len(example) for example in examples], np.int64),
    words=np.arange(len(examples)),
    examples=examples,
  )


class WriteShardTest(parameterized.TestCase):
  def _write(self, clients, **options):
    folder = pathlib.Path(self.create_tempdir().full_path)
    placement = client_splits.plan_placement(
      client_splits.ClientSplits(), num_shards=1, total_bytes=1, bucket_bytes=1
    )
    work = work_lib.Work(
      source=None,
      placement=placement,
      options=work_lib.GroupingOptions(**options),
      total_size=1,
      folder=str(folder),
    )
    (shard,) = placement.shards()
    counts = work.write_shard(
      shard, [_client(name, examples) for name, examples in clients.items()]
    )
    stock = dataset_grouper.PartitionedDataset(
      f'{folder}/train-*.tfrecord', tfds.features.FeaturesDict({})
    )
    records = tf.data.TFRecordDataset(work.shard_path(shard))
    return counts, [
      stock.decode_bytes(record).numpy().tolist() for record in records
    ]

  def test_small_clients(self):
    counts, found = self._write(
      {'a': [b'1'], 'b': [b'2', b'3'], 'c': [b'4']}, min_examples=2
    )
    self.assertEqual(found, [[b'2', b'3']])
    self.assertEqual(counts.small_clients, 2)
    self.assertEqual(counts.skipped, {'too_few_examples': 2})

  @parameterized.parameters(1, 34, 60, 98, 122, 151, 177, 178, 10**6)
  def test_the_limit_is_that_of_dataset_grouper(self, limit):
    examples = [b'a' * size for size in (10, 40, 0, 5, 2)]
    # Each needs 24 bytes besides.
    merge = dataset_grouper.beam.MergeWithLimitFn(limit)
    expected = [
      example[24:] for example in merge.apply([b'-' * 24 + e for e in examples])
    ]
    with mock.patch.object(work_lib, '_MAX_CLIENT_BYTES', limit):
      counts, found = self._write({'a': examples})
    self.assertEqual(found, [expected] if expected else [])
    excess = len(examples) - len(expected)
    self.assertEqual(counts.skipped.get('beyond_client_limit', 0), excess)
    self.assertEqual(
      counts.names(), {'beyond_client_limit': ['a']} if excess else {}
    )
