# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the way from raw text to a folder of grouped clients."""

import contextlib
import importlib.util
import io
import json
import pathlib
import shutil
import threading
from unittest import mock

from fedfish_tff import errors
from fedfish_tff.datasets import grouping
from launch.data import group_run
from tests.datasets.grouping import web_pages
from tests.launch.data import tiny_tfds

from pyarrow import parquet
import tensorflow as tf
import tensorflow_datasets as tfds


class GroupRunTest(tiny_tfds.TestCase):
  def setUp(self):
    super().setUp()
    self.parent = pathlib.Path(self.create_tempdir().full_path)
    self.folder = self.parent / 'grouped'
    pages = self.parent / 'pages'
    pages.mkdir()
    self.kinds = web_pages.write_files(pages)
    self.pattern = f'{pages}/*'

  def _run(self, **options):
    grouped = {
      name: options.pop(name)
      for name in ('max_bad_fraction', 'min_examples', 'splits')
      if name in options
    }
    options = {
      'text_format': 'c4',
      'input_name': self.pattern,
      'key': 'host',
      **options,
    }
    options['key'] = grouping.ClientKey(name=options['key'])
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
      group_run.run(
        options.pop('output_dir', str(self.folder)),
        options=grouping.GroupingOptions(**grouped),
        **options,
      )
    return output.getvalue()

  def _left(self):
    return sorted(p.name for p in self.parent.iterdir() if p.name != 'pages')

  def test_clients_are_grouped_by_the_only_thread(self):
    # A thread that imported Matplotlib would change the working directory, in
    # which paths are looked up.
    threads = []

    def group(*unused_args, **unused_options):
      threads.extend(threading.enumerate())
      raise errors.InputError('enough')

    before = threading.enumerate()
    with (
      mock.patch.object(grouping, 'group', autospec=True, side_effect=group),
      self.assertRaisesRegex(errors.InputError, 'enough'),
    ):
      self._run()
    self.assertEqual(threads, before)

  def test_pages(self):
    output = self._run(
      max_bad_fraction=0.1,
      splits=grouping.ClientSplits(held_out_fraction=0.3),
      min_examples=5,
    )
    self.assertEqual(
      sorted(path.name for path in self.folder.iterdir()),
      [
        'clients.parquet',
        'dataset.json',
        'held_out-00000-of-00001.tfrecord',
        'statistics.json',
        'statistics.png',
        'train-00000-of-00001.tfrecord',
      ],
    )
    table = parquet.read_table(self.folder / 'clients.parquet')
    statistics = json.loads((self.folder / 'statistics.json').read_text())
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
    self.assertEndsWith(output, f'\n{self.folder}\n')
    self.assertEqual(self._left(), ['grouped'])

  def test_a_prepared_data_set(self):
    self._run(
      text_format='tfds',
      input_name='tiny_leaves',
      key='author',
      features=['height', 'author'],
      data_dir=str(self.data_dir),
    )
    described = json.loads((self.folder / 'dataset.json').read_text())
    self.assertEqual(described['splits']['train']['examples'], 240)
    self.assertEqual(described['splits']['train']['clients'], 7)
    self.assertEqual(described['key'], {'name': 'author', 'keep_www': False})
    self.assertNotIn(str(self.data_dir), json.dumps(described))

  def test_another_file_system(self):
    url = 'ram://group_run_test/grouped'
    options = {
      'output_dir': url,
      'beam_flags': ['--runner=DirectRunner'],
      'max_bad_fraction': 0.1,
    }
    output = self._run(**options)
    self.assertEndsWith(output, f'\n{url}\n')
    self._run(max_bad_fraction=0.1)
    names = [path.name for path in self.folder.iterdir()]
    self.assertCountEqual(tf.io.gfile.listdir(url), names)
    for name in names:
      with tf.io.gfile.GFile(f'{url}/{name}', 'rb') as file:
        self.assertEqual(file.read(), (self.folder / name).read_bytes(), name)
    with self.assertRaisesRegex(errors.InputError, 'must be a new folder'):
      self._run(**options)

  def test_hugging_face_without_its_package(self):
    if importlib.util.find_spec('datasets'):
      self.skipTest('the package datasets is installed')
    with self.assertRaisesRegex(
      errors.InputError,
      'huggingface:cc_news needs the package datasets.*give --input=cc_news',
    ):
      self._run(
        text_format='tfds', input_name='huggingface:cc_news', key='domain'
      )
    self.assertEmpty(self._left())

  def test_hugging_face_with_its_package(self):
    leaves = tfds.builder_from_directory(
      self.data_dir / 'tiny_leaves' / '1.0.0'
    )
    with (
      mock.patch.object(
        importlib.util, 'find_spec', autospec=True, return_value=object()
      ),
      mock.patch.object(
        tfds, 'builder', autospec=True, return_value=leaves
      ) as builder,
    ):
      self._run(
        text_format='tfds',
        input_name='huggingface:leaves',
        key='author',
        features=['height'],
      )
      builder.assert_called_once_with('huggingface:leaves', data_dir=None)
      builder.side_effect = FileNotFoundError('No such repository.\nMore.')
      shutil.rmtree(self.folder)
      with self.assertRaisesRegex(
        errors.InputError, "'huggingface:leaves' cannot be .*: No such repos"
      ):
        self._run(
          text_format='tfds', input_name='huggingface:leaves', key='author'
        )

  def test_what_fails_before_it_reads_leaves_nothing(self):
    for options, message in (
      ({'input_name': f'{self.parent}/none*'}, 'There is no file'),
      ({'beam_flags': ['--nothing=1']}, "has a flag '--nothing=1'"),
      ({'beam_flags': ['--streaming']}, 'which --runner must name'),
      ({'output_dir': 'gs://bucket/a'}, 'gs://bucket/a needs --runner'),
    ):
      with self.assertRaisesRegex(errors.InputError, message):
        self._run(**options)
      self.assertEmpty(self._left())

  def test_what_fails_later_goes_on(self):
    for options, message in (
      ({}, 'records read cannot be used'),
      ({'max_bad_fraction': 1.0, 'min_examples': 99}, 'None of 20 clients'),
    ):
      with self.assertRaisesRegex(errors.InputError, message):
        self._run(**options)
      (left,) = self._left()
      self.assertRegex(left, r'^grouped\.[0-9a-f]{32}\.partial$')
    with mock.patch.object(grouping.TextSource, 'read', autospec=True) as read:
      self._run(max_bad_fraction=1.0, min_examples=5)
    read.assert_not_called()
    self.assertEqual(self._left(), ['grouped'])
    self.assertNotIn('work', [path.name for path in self.folder.iterdir()])

  def test_a_folder_in_use_is_refused_first(self):
    self.folder.mkdir()
    (self.folder / 'mine').write_text('')
    with self.assertRaisesRegex(errors.InputError, 'not empty'):
      self._run(input_name='no such file')
