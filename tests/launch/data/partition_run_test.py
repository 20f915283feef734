# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the way from a data set to a folder of clients."""

import contextlib
import csv
import io
import json
import pathlib

from fedfish_tff import datasets
from fedfish_tff import errors
from launch.data import partition_run
from tasks import registry
from tests.launch.data import tiny_tfds

from absl.testing import parameterized
import numpy as np


class PartitionRunTest(tiny_tfds.TestCase):
  def _run(self, folder, partition, arguments, **options):
    options = {
      'dataset': 'tiny_leaves',
      'data_dir': str(self.data_dir),
    } | options
    partition_run.run(
      str(folder),
      split='train',
      partition=partition,
      arguments=arguments,
      **options,
    )

  def _new_path(self):
    return pathlib.Path(self.create_tempdir().full_path) / 'clients'

  @parameterized.parameters(
    ('dirichlet', dict(num_clients=5, alpha=0.3, seed=1), {}, 0),
    (
      'pachinko',
      dict(num_clients=11, examples_per_client=20, seed=1),
      dict(coarse_label='kind'),
      20,
    ),
    ('shards', dict(num_clients=10, classes_per_client=2, seed=1), {}, 0),
    ('key', {}, dict(key='author'), 0),
    ('key', {}, dict(key='kind'), 0),
  )
  def test_clients_hold_each_example_once(
    self, partition, arguments, options, left_over
  ):
    folder = self._new_path()
    self._run(folder, partition, arguments, **options)
    expected = tiny_tfds.examples()
    by_pixels = {
      pixels.tobytes(): i for i, pixels in enumerate(expected['image'])
    }
    clients = datasets.NpzFolderClientData(folder)
    with open(folder / 'clients.csv', newline='') as file:
      header, *rows = csv.reader(file)
    self.assertEqual(header, ['client_id', 'examples', *tiny_tfds.SPECIES])
    self.assertEqual(sorted(row[0] for row in rows), list(clients.client_ids))
    found = []
    for client_id, size, *counts in rows:
      x, y = clients.load_client(client_id)
      self.assertEqual(x.dtype, np.float32)
      indices = [
        by_pixels[pixels.tobytes()]
        for pixels in np.round(x * 255).astype(np.uint8)
      ]
      np.testing.assert_array_equal(y, expected['species'][indices])
      self.assertEqual(
        list(map(int, counts)), list(np.bincount(y, minlength=5))
      )
      self.assertLen(indices, int(size))
      if partition == 'key':
        kinds = dict(zip(tiny_tfds.KINDS, (0, 1)))
        name = client_id.replace('%2F', '/')
        self.assertEqual(
          set(expected[options['key']][indices]), {kinds.get(name, name)}
        )
      found += indices
    self.assertLen(set(found), len(found))
    self.assertLen(found, tiny_tfds.NUM_EXAMPLES - left_over)
    record = json.loads((folder / 'partition.json').read_text())
    self.assertEqual(record['left_over'], left_over)
    self.assertEqual(record['dataset'], 'tiny_leaves/1.0.0')
    self.assertEqual(record['arguments'], arguments)
    self.assertNotIn(str(self.data_dir), json.dumps(record))
    self.assertTrue((folder / 'label_partition.png').exists())

  def test_the_task_arrays_reads_them(self):
    folder = self._new_path()
    self._run(folder, 'dirichlet', dict(num_clients=10, alpha=1.0, seed=0))
    task = registry.create_task('arrays', seed=0, data_dir=str(folder))
    self.assertLen(
      task.train.client_ids + task.validation.client_ids + task.test.client_ids,
      10,
    )
    self.assertEqual(task.metric, 'accuracy')
    x, y = task.train.load_client(task.train.client_ids[0])
    self.assertEqual(x.shape, (len(y), 12))
    self.assertLessEqual(x.max(), 1)

  def test_a_client_per_class_of_a_table(self):
    table = pathlib.Path(self.create_tempdir().full_path) / 'table.csv'
    table.write_text('x,kind\n0,b\n1,a\n2,b\n')
    folder = self._new_path()
    options = dict(dataset=str(table), label='kind', data_dir=None)
    self._run(folder, 'key', {}, key='kind', **options)
    clients = datasets.NpzFolderClientData(folder)
    for name, x, y in (('a', [1], [0]), ('b', [0, 2], [1, 1])):
      found = clients.load_client(name)
      np.testing.assert_array_equal(found[0], x)
      np.testing.assert_array_equal(found[1], y)

  def test_a_table_of_targets(self):
    table = pathlib.Path(self.create_tempdir().full_path) / 'table.csv'
    rows = [f'{i},{i / 7},{"ab"[i % 3 == 0]},n{i}' for i in range(30)]
    table.write_text('\n'.join(['x,cost,key,note', *rows]))
    options = dict(dataset=str(table), label='cost', data_dir=None)
    folder = self._new_path()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
      self._run(folder, 'key', {}, key='key', **options)
    self.assertIn("y is cost, and not used are 'note';", printed.getvalue())
    x, y = datasets.NpzFolderClientData(folder).load_client('b')
    np.testing.assert_array_equal(x, np.arange(0, 30, 3))
    np.testing.assert_allclose(y, x / 7)
    counts = list(csv.reader((folder / 'clients.csv').open()))
    self.assertEqual(
      [row[:2] for row in counts[1:]], [['a', '20'], ['b', '10']]
    )
    self.assertEqual(counts[2][2:], ['1'] * 10)
    with self.assertRaisesRegex(errors.InputError, "needs classes.*'cost'"):
      self._run(self._new_path(), 'shards', dict(num_clients=2), **options)
    for name in ('data_dir', 'download'):
      with self.assertRaisesRegex(errors.InputError, f'--{name} is for'):
        self._run(
          self._new_path(), 'key', {}, key='key', **options | {name: '/x'}
        )

  @parameterized.parameters(
    ('label', 'label,x\nyes,1\nno,2\nyes,3\n', {'yes': [1, 1], 'no': [0]}),
    ('key', 'label,x,key\n2.5,1,a\n2.5,2,b\n', {'a': [2.5], 'b': [2.5]}),
  )
  def test_tables_with_one_value_per_client(self, key, content, expected):
    table = pathlib.Path(self.create_tempdir().full_path) / 'table.csv'
    table.write_text(content)
    folder = self._new_path()
    self._run(folder, 'key', {}, key=key, dataset=str(table), data_dir=None)
    clients = datasets.NpzFolderClientData(folder)
    found = {i: clients.load_client(i)[1].tolist() for i in clients.client_ids}
    self.assertEqual(found, expected)

  def test_the_same_request_writes_the_same_bytes(self):
    folders = [self._new_path() for _ in range(2)]
    for folder in folders:
      self._run(
        folder,
        'shards',
        dict(num_clients=4, shards_per_client=2, seed=3),
        scale_images=False,
        file_format='svg',
      )
    names = sorted(path.name for path in folders[0].iterdir())
    self.assertIn('label_partition.svg', names)
    for name in names:
      one, other = ((folder / name).read_bytes() for folder in folders)
      self.assertEqual(one, other, name)
    x, _ = datasets.NpzFolderClientData(folders[0]).load_client('client_0')
    self.assertEqual(x.dtype, np.uint8)

  def test_a_folder_in_use_is_refused_first(self):
    folder = self._new_path()
    folder.mkdir()
    (folder / 'mine').write_text('')
    with self.assertRaisesRegex(errors.InputError, 'not empty'):
      self._run(folder, 'key', {}, key='no such feature')
