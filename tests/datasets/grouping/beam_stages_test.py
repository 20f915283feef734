# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the stages of grouping."""

import pathlib
from unittest import mock

from fedfish_tff import errors
from fedfish_tff.datasets import grouping
from fedfish_tff.datasets.grouping import beam_stages
from fedfish_tff.datasets.grouping import client_splits
from fedfish_tff.datasets.grouping import shard_writer
from tests.datasets.grouping import web_pages

from absl.testing import absltest


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
      **options,
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


if __name__ == '__main__':
  absltest.main()
