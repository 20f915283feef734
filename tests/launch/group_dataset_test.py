# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of launch.group_dataset."""

import importlib.util
import json
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
from unittest import mock

from fedfish_tff import errors
from fedfish_tff.datasets import grouping
from tests import processes
from tests.datasets.grouping import web_pages
from tests.launch import binary_runner
from tests.launch.data import tiny_tfds

from pyarrow import parquet
import pytest
import tensorflow as tf
import tensorflow_datasets as tfds

# Kills the process when it has written so many files to a folder of its work.
_KILLED = """
import contextlib, os, pathlib, signal, sys
from launch import cli, group_dataset
from fedfish_tff import new_files
from fedfish_tff.datasets.grouping import input_files, local_engine
name, left = sys.argv.pop(1).split(':')
new_file, left = new_files.new_file, [int(left)]
@contextlib.contextmanager
def new_some(path):
  left[0] -= pathlib.Path(path).parent.name == name
  with new_file(path) as file:
    yield file
    if left[0] < 0:
      os.kill(os.getpid(), signal.SIGKILL)
new_files.new_file = new_some
input_files._RANGE_BYTES = 4000
local_engine._HELD_BYTES = 3000
cli.run(group_dataset.main, flags_parser=group_dataset.parse_flags)
"""


def _run_python(*arguments: str) -> subprocess.CompletedProcess[str]:
  return subprocess.run(
    [sys.executable, *arguments],
    env=binary_runner.environment(),
    capture_output=True,
    text=True,
    check=False,
    timeout=processes.HANG_SECONDS,
  )


class GroupDatasetTest(tiny_tfds.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)
    self.grouped = self.folder / 'grouped'
    pages = self.folder / 'pages'
    pages.mkdir()
    self.kinds = web_pages.write_files(pages)
    self.flags = (
      '--format=c4',
      f'--input={pages}/*',
      '--num_processes=1',
    )

  def _run(self, *arguments):
    """Returns what is printed; later arguments replace earlier ones."""
    outcome = binary_runner.run_here(
      'launch.group_dataset',
      *self.flags,
      f'--output_dir={self.grouped}',
      *arguments,
    )
    self.assertEqual(outcome.code, 0, outcome.stderr)
    return outcome.stdout

  def _refused(self, message, *arguments):
    outcome = binary_runner.run_here(
      'launch.group_dataset',
      *self.flags,
      f'--output_dir={self.grouped}',
      *arguments,
    )
    self.assertEqual((outcome.code, outcome.stdout), (2, ''))
    self.assertRegex(outcome.stderr, message)

  def _left(self):
    return sorted(p.name for p in self.folder.iterdir() if p.name != 'pages')

  def _check(self, folder):
    self.assertEqual(
      web_pages.read_stock(folder),
      web_pages.count_items(
        web_pages.good_lines(400), ('url', 'text', 'timestamp')
      ),
    )

  def _check_same(self, one, two):
    names = sorted(path.name for path in one.iterdir())
    self.assertEqual(sorted(path.name for path in two.iterdir()), names)
    for name in names:
      self.assertEqual(
        (one / name).read_bytes(), (two / name).read_bytes(), name
      )

  def test_beam_groups_and_says_so(self):
    flag_file = self.create_tempfile('flags', '--max_bad_fraction=0.1')
    output = self._run(
      f'--flagfile={flag_file.full_path}',
      '--runner=DirectRunner',
      '--key=registered_domain',
    )
    self.assertIn('train ', output)
    self.assertEndsWith(output, f'{self.grouped}\n')
    self._check(self.grouped)

  def test_clients_are_grouped_by_the_only_thread(self):
    # A thread that imported Matplotlib would change the working directory, in
    # which paths are looked up.
    threads = []

    def group(*unused_args, **unused_options):
      threads.extend(threading.enumerate())
      raise errors.InputError('enough')

    before = threading.enumerate()
    with mock.patch.object(grouping, 'group', autospec=True, side_effect=group):
      self._refused('enough')
    self.assertEqual(threads, before)

  def test_pages(self):
    output = self._run(
      '--max_bad_fraction=0.1', '--held_out_fraction=0.3', '--min_examples=5'
    )
    self.assertEqual(
      sorted(path.name for path in self.grouped.iterdir()),
      [
        'clients.parquet',
        'dataset.json',
        'held_out-00000-of-00001.tfrecord',
        'statistics.json',
        'statistics.png',
        'train-00000-of-00001.tfrecord',
      ],
    )
    table = parquet.read_table(self.grouped / 'clients.parquet')
    statistics = json.loads((self.grouped / 'statistics.json').read_text())
    total = statistics['total']
    self.assertEqual(total['clients'], table.num_rows)
    self.assertEqual(total['examples'], sum(table['examples'].to_pylist()))
    # Host n has 2n + 1 pages.
    self.assertEqual(total['examples'], 400 - 1 - 3)
    self.assertEqual(statistics['clients_with_too_few_examples'], 2)
    self.assertEqual(
      statistics['skipped'], self.kinds | {'too_few_examples': 4}
    )
    self.assertEqual(statistics['splits'].keys(), {'train', 'held_out'})
    self.assertEqual(total['examples_per_client']['max'], 39)
    self.assertRegex(output, r'\ntotal +18 +396 +[\d,]+\n')
    self.assertIn('examples of a client: min 5, ', output)
    self.assertIn('left out: 2 clients with too few examples', output)
    self.assertRegex(
      output, r'left out: 1 truncated_gzip \(\S+c\.json\.gz, read up to line'
    )
    self.assertEndsWith(output, f'\n{self.grouped}\n')
    self.assertEqual(self._left(), ['grouped'])

  def test_a_prepared_data_set(self):
    self._run(
      '--format=tfds',
      '--input=tiny_leaves',
      '--key=author',
      '--features=height,author',
      f'--data_dir={self.data_dir}',
    )
    described = json.loads((self.grouped / 'dataset.json').read_text())
    self.assertEqual(described['splits']['train']['examples'], 240)
    self.assertEqual(described['splits']['train']['clients'], 7)
    self.assertEqual(described['key'], {'name': 'author', 'keep_www': False})
    self.assertNotIn(str(self.data_dir), json.dumps(described))

  def test_another_file_system(self):
    url = 'ram://group_dataset_test/grouped'
    arguments = (
      f'--output_dir={url}',
      '--runner=DirectRunner',
      '--max_bad_fraction=0.1',
    )
    self.assertEndsWith(self._run(*arguments), f'\n{url}\n')
    self._run('--max_bad_fraction=0.1')
    names = [path.name for path in self.grouped.iterdir()]
    self.assertCountEqual(tf.io.gfile.listdir(url), names)
    for name in names:
      with tf.io.gfile.GFile(f'{url}/{name}', 'rb') as file:
        self.assertEqual(file.read(), (self.grouped / name).read_bytes(), name)
    self._refused('must be a new folder', *arguments)

  def test_hugging_face_without_its_package(self):
    if importlib.util.find_spec('datasets'):
      self.skipTest('the package datasets is installed')
    self._refused(
      'huggingface:cc_news needs the package datasets.*give --input=cc_news',
      '--format=tfds',
      '--input=huggingface:cc_news',
      '--key=domain',
    )
    self.assertEmpty(self._left())

  def test_hugging_face_with_its_package(self):
    leaves = tfds.builder_from_directory(
      self.data_dir / 'tiny_leaves' / '1.0.0'
    )
    arguments = (
      '--format=tfds',
      '--input=huggingface:leaves',
      '--key=author',
      '--features=height',
    )
    find_spec = importlib.util.find_spec
    with (
      mock.patch.object(
        importlib.util,
        'find_spec',
        autospec=True,
        side_effect=lambda name: find_spec(
          'json' if name == 'datasets' else name
        ),
      ),
      mock.patch.object(
        tfds, 'builder', autospec=True, return_value=leaves
      ) as builder,
    ):
      self._run(*arguments)
      builder.assert_called_once_with('huggingface:leaves', data_dir=None)
      builder.side_effect = FileNotFoundError('No such repository.\nMore.')
      shutil.rmtree(self.grouped)
      self._refused(
        "'huggingface:leaves' cannot be .*: No such repos", *arguments
      )

  def test_what_fails_before_it_reads_leaves_nothing(self):
    for argument, message in (
      (f'--input={self.folder}/none*', 'There is no file'),
      ('--nothing=1', "has a flag '--nothing=1'"),
      ('--streaming', 'which --runner must name'),
      ('--output_dir=gs://bucket/a', 'gs://bucket/a needs --runner'),
    ):
      self._refused(message, argument)
      self.assertEmpty(self._left())

  def test_what_fails_later_goes_on(self):
    for arguments, message in (
      ((), 'records read cannot be used'),
      (('--max_bad_fraction=1', '--min_examples=99'), 'None of 20 clients'),
    ):
      self._refused(message, *arguments)
      (left,) = self._left()
      self.assertRegex(left, r'^grouped\.[0-9a-f]{32}\.partial$')
    with mock.patch.object(grouping.TextSource, 'read', autospec=True) as read:
      self._run('--max_bad_fraction=1', '--min_examples=5')
    read.assert_not_called()
    self.assertEqual(self._left(), ['grouped'])
    self.assertNotIn('work', [path.name for path in self.grouped.iterdir()])

  def test_a_folder_in_use_is_refused_first(self):
    self.grouped.mkdir()
    (self.grouped / 'mine').write_text('')
    self._refused('not empty', '--input=no such file')

  @pytest.mark.thorough
  def test_a_killed_job_goes_on_by_the_same_command(self):
    whole, folder = self.folder / 'whole', self.grouped
    flags = (
      *self.flags,
      '--max_bad_fraction=0.1',
      '--num_shards=3',
      '--validation_fraction=0.2',
    )
    outcome = _run_python('-c', _KILLED, ':0', *flags, f'--output_dir={whole}')
    self.assertEqual(outcome.returncode, 0, outcome.stderr)
    flags = (*flags, f'--output_dir={folder}')
    done = []
    # Within the first part, a part later, and when one shard is written.
    for killed in ('read:0', 'read:3', 'shards:1'):
      outcome = _run_python('-c', _KILLED, killed, *flags)
      self.assertEqual(outcome.returncode, -signal.SIGKILL, outcome.stderr)
      self.assertFalse(folder.exists())
      (partial,) = self.folder.glob('grouped.*.partial')
      self.assertFalse((partial / 'dataset.json').exists())
      done.append(
        tuple(
          len(list((partial / 'work' / name).glob('*.json')))
          for name in ('read', 'shards')
        )
      )
    self.assertEqual(done[:2], [(0, 0), (1, 0)])
    self.assertEqual(done[2][1], 1)
    outcome = _run_python('-c', _KILLED, ':0', *flags)
    self.assertEqual(outcome.returncode, 0, outcome.stderr)
    self._check(folder)
    self.assertEqual(self._left(), ['grouped', 'whole'])
    self._check_same(whole, folder)
