# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the stages of grouping."""

import collections
import dataclasses
import errno
import pathlib
import shutil
from unittest import mock

from fedfish_tff import errors
from fedfish_tff.datasets import grouping
from fedfish_tff.datasets.grouping import beam_stages
from fedfish_tff.datasets.grouping import client_splits
from fedfish_tff.datasets.grouping import shard_writer
from tests.datasets.grouping import web_pages

from absl.testing import absltest
from pyarrow import parquet


class BeamStagesTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)
    self.pages = self.folder / 'pages'
    self.pages.mkdir()
    self.kinds = web_pages.write_files(self.pages)

  def _work(self, name, **options):
    folder = self.folder / name
    (folder / 'work').mkdir(parents=True)
    return beam_stages.Work(
      source=grouping.TextSource(
        format='c4',
        pattern=f'{self.pages}/*',
        key=grouping.ClientKey(name='host'),
      ),
      placement=client_splits.plan_placement(
        grouping.ClientSplits(held_out_fraction=0.3),
        num_shards=3,
        total_bytes=9,
        bucket_bytes=1,
      ),
      limits=shard_writer.ShardLimits(),
      folder=str(folder),
      work_folder=str(folder / 'work'),
      **{'max_bad_fraction': 1.0, **options},
    )

  def test_reads_and_writes_whatever_the_memory(self):
    contents = []
    for run_bytes in (2**27, 2000):
      work = self._work(str(run_bytes), run_bytes=run_bytes)
      found = beam_stages.read(work, work.source.parts(), beam_flags=())
      self.assertEqual(found['skipped'], self.kinds)
      self.assertEqual(found['examples'], 400)
      (cut,) = found['named']['truncated_gzip']
      self.assertRegex(cut, r'c\.json\.gz, read up to line \d+$')
      self.assertLen(found['runs'], len(list(work.path('runs').iterdir())))
      reports = beam_stages.write(work, found['runs'], beam_flags=())
      names = [shard.file_name for shard in work.placement.shards()]
      self.assertCountEqual(reports, names)
      contents.append(
        [pathlib.Path(work.folder, name).read_bytes() for name in names]
      )
    self.assertGreater(len(found['runs']), 10)
    self.assertEqual(*contents)

  def test_what_cannot_be_read_or_written_is_said_in_one_sentence(self):
    work = self._work('a')
    parts = work.source.parts()
    work.path('runs').write_text('a file where a folder belongs')
    with self.assertRaises(OSError):
      beam_stages.read(work, parts, beam_flags=())

    work = self._work('b')
    (self.pages / 'b.json.gz').unlink()
    with self.assertRaisesRegex(
      errors.InputError, r'^\S*b\.json\.gz cannot be read: No such file'
    ):
      beam_stages.read(work, parts, beam_flags=())

    work = self._work('c')
    with self.assertRaisesRegex(
      errors.InputError, r'^Cannot read or write \S*none\.run: No such file'
    ):
      beam_stages.write(work, ['none.run'], beam_flags=())

  def test_what_was_done_is_not_done_again(self):
    work = self._work('whole')
    found = beam_stages.read(work, work.source.parts(), beam_flags=())
    left_out = beam_stages.write(work, found['runs'], beam_flags=())

    # 'c', which is truncated, is left; and 'b' from within on.
    other = self._work('interrupted', run_bytes=3000)
    parts = other.source.parts()
    read, seen = grouping.TextSource.read, collections.Counter()

    def break_off(source, part, progress):
      for item in read(source, part, progress):
        seen[part.number] += 1
        if seen == {0: seen[0], 1: 50}:
          raise errors.InputError('Enough.')
        yield item

    with mock.patch.object(grouping.TextSource, 'read', break_off):
      with self.assertRaisesRegex(errors.InputError, 'Enough'):
        beam_stages.read(other, parts, beam_flags=())
    # As a process that was killed leaves it.
    (other.path('runs') / 'half.run').write_bytes(b'half')
    (other.path('read') / f'half.json.{"0" * 32}.partial').write_bytes(b'{"ha')
    name = f'half.tfrecord.{"0" * 32}.partial'
    (pathlib.Path(other.folder) / name).write_bytes(b'')
    with mock.patch.object(
      grouping.TextSource, 'read', autospec=True, side_effect=read
    ) as reader:
      again = beam_stages.read(other, parts, beam_flags=())
      self.assertCountEqual(
        [call.args[1].number for call in reader.call_args_list], [1, 2]
      )
    for name in ('examples', 'skipped'):
      self.assertEqual(again[name], found[name])
    self.assertEqual(
      {k: [n.partition(',')[2] for n in v] for k, v in again['named'].items()},
      {k: [n.partition(',')[2] for n in v] for k, v in found['named'].items()},
    )

    shards = other.placement.shards()
    write_shard, calls = shard_writer.write_shard, []

    def write_once(*args, **kwargs):
      calls.append(args)
      if len(calls) == 2:
        raise errors.InputError('Enough.')
      return write_shard(*args, **kwargs)

    with mock.patch.object(shard_writer, 'write_shard', write_once):
      with self.assertRaisesRegex(errors.InputError, 'Enough'):
        beam_stages.write(other, again['runs'], beam_flags=())
      written = len(calls)
      self.assertEqual(
        beam_stages.write(other, again['runs'], beam_flags=()), left_out
      )
    self.assertBetween(len(calls), written + 1, written + len(shards) - 1)
    for shard in shards:
      one, two = (
        pathlib.Path(w.folder, shard.file_name) for w in (work, other)
      )
      self.assertEqual(one.read_bytes(), two.read_bytes())

  def test_too_many_bad_records_end_the_work_before_its_end(self):
    for path in self.pages.iterdir():
      path.unlink()
    good = web_pages.good_lines(3000)
    for i in range(10):
      lines = good[300 * i : 300 * (i + 1)]
      lines[100:112] = [b'{}'] * 12
      (self.pages / f'{i}.json').write_bytes(b'\n'.join(lines) + b'\n')
    work = self._work('a', max_bad_fraction=0.01)
    parts = work.source.parts()
    # 31 of 3,000 are too many, of which each file has 12.
    with self.assertRaisesRegex(
      errors.InputError,
      r'^\d+ of (\d{3}|1,\d{3}) records read cannot be used: \d+ '
      r'missing_text \(such as \S+\.json, line 101\); at most 1\.00%',
    ):
      beam_stages.read(work, parts, beam_flags=())
    with mock.patch.object(
      grouping.TextSource,
      'read',
      autospec=True,
      side_effect=grouping.TextSource.read,
    ) as reader:
      found = beam_stages.read(
        dataclasses.replace(work, max_bad_fraction=0.05), parts, beam_flags=()
      )
    self.assertBetween(reader.call_count, 1, 9)
    self.assertEqual(found['skipped'], {'missing_text': 120})
    self.assertEqual(found['examples'], 2880)

  def test_a_limit_that_is_kept_is_kept_after_an_interruption(self):
    """Where records of files differ in size."""
    for path in self.pages.iterdir():
      path.unlink()
    short, long = web_pages.good_lines(2000), web_pages.good_lines(300)
    long = [line + b' ' * 5000 for line in long]
    short[500:510] = [b'{}'] * 10
    long[120], long[250] = b'{}', b'{}'
    for name, lines in (('a', short), ('b', long)):
      (self.pages / f'{name}.json').write_bytes(b'\n'.join(lines) + b'\n')
    work = self._work('a', max_bad_fraction=0.01)
    read = grouping.TextSource.read

    def break_off(source, part, progress):
      for number, item in enumerate(read(source, part, progress)):
        if (part.number, number) == (1, 110):
          raise errors.InputError('Enough.')
        yield item

    with mock.patch.object(grouping.TextSource, 'read', break_off):
      with self.assertRaisesRegex(errors.InputError, 'Enough'):
        beam_stages.read(work, work.source.parts(), beam_flags=())
    found = beam_stages.read(work, work.source.parts(), beam_flags=())
    self.assertEqual(
      (found['examples'], found['skipped']), (2288, {'missing_text': 12})
    )

  def test_a_report_that_cannot_be_written_loses_no_example(self):
    work = self._work('a', run_bytes=3000)
    write_json, failed = beam_stages._write_json, []

    def fail_once(path, content):
      if path.parent.name == 'read' and content['examples'] and not failed:
        failed.append(path)
        raise OSError(errno.ENOSPC, 'No space left on device', str(path))
      write_json(path, content)

    with mock.patch.object(beam_stages, '_write_json', fail_once):
      with self.assertRaisesRegex(errors.InputError, 'No space left'):
        beam_stages.read(work, work.source.parts(), beam_flags=())
    found = beam_stages.read(work, work.source.parts(), beam_flags=())
    beam_stages.write(work, found['runs'], beam_flags=())
    rows = [
      row
      for path in work.path('index').glob('*.parquet')
      for row in parquet.read_table(path)['examples'].to_pylist()
    ]
    self.assertEqual(sum(rows), 400)

  def test_a_shard_that_is_being_rewritten_is_not_there(self):
    work = self._work('a')
    found = beam_stages.read(work, work.source.parts(), beam_flags=())
    beam_stages.write(work, found['runs'], beam_flags=())
    shards = [
      pathlib.Path(work.folder, shard.file_name)
      for shard in work.placement.shards()
    ]
    expected = [path.read_bytes() for path in shards]
    others = dataclasses.replace(
      work, limits=shard_writer.ShardLimits(min_examples=20)
    )
    write_json = beam_stages._write_json

    def fail(path, content):
      if path.parent.name == 'index':
        raise OSError(errno.EIO, 'Input/output error', str(path))
      write_json(path, content)

    with mock.patch.object(beam_stages, '_write_json', fail):
      with self.assertRaisesRegex(errors.InputError, 'Input/output error'):
        beam_stages.write(others, found['runs'], beam_flags=())
    self.assertNotEqual([path.read_bytes() for path in shards], expected)
    beam_stages.write(work, found['runs'], beam_flags=())
    self.assertEqual([path.read_bytes() for path in shards], expected)

  def test_work_that_was_done_twice_counts_once(self):
    work = self._work('a')
    parts = work.source.parts()
    found = beam_stages.read(work, parts, beam_flags=())
    reports = sorted(work.path('read').iterdir())
    shutil.copy(reports[0], work.path('read', 'zzz.json'))
    again = beam_stages.read(work, parts, beam_flags=())
    self.assertEqual(again, found)

  def test_what_a_cluster_lacks_is_said_in_one_sentence(self):
    work = self._work('a')
    flags = (
      '--runner=FlinkRunner',
      '--flink_master=localhost:1',
      '--flink_job_server_jar=none.jar',
    )
    with self.assertRaisesRegex(
      errors.InputError,
      '^The runner FlinkRunner of Beam has failed: .*none.jar',
    ):
      beam_stages.read(work, work.source.parts(), beam_flags=flags)

  def test_an_interruption_stays_one(self):
    work = self._work('a')
    with mock.patch.object(
      grouping.TextSource, 'read', autospec=True, side_effect=KeyboardInterrupt
    ):
      with self.assertRaisesRegex(KeyboardInterrupt, '^$'):
        beam_stages.read(work, work.source.parts(), beam_flags=())

  def test_the_first_bad_records_are_named_in_order(self):
    for path in self.pages.iterdir():
      path.unlink()
    for name in 'ba':
      (self.pages / f'{name}.json').write_bytes(b'bad\n' * 30)
    work = self._work('a')
    found = beam_stages.read(work, work.source.parts(), beam_flags=())
    self.assertEqual(found['skipped'], {'malformed_json': 60})
    self.assertEqual(
      found['named']['malformed_json'],
      [f'{self.pages}/a.json, line {i}' for i in range(1, 21)],
    )
