# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of launch.partition_dataset."""

import csv
import json
import os
import pathlib

from fedfish_tff import datasets
from tasks import registry
from tests.launch import binary_runner
from tests.launch.data import tiny_tfds

from absl.testing import parameterized
import numpy as np
from PIL import Image


class PartitionDatasetTest(tiny_tfds.TestCase):
  def setUp(self):
    super().setUp()
    self.parent = pathlib.Path(self.create_tempdir().full_path)
    self.folder = self.parent / 'clients'
    self.leaves = ('--dataset=tiny_leaves', f'--data_dir={self.data_dir}')

  def _run(self, *arguments):
    """Returns what is printed; later arguments replace earlier ones."""
    outcome = binary_runner.run_here(
      'launch.partition_dataset', f'--output_dir={self.folder}', *arguments
    )
    self.assertEqual((outcome.code, outcome.stderr), (0, ''))
    return outcome.stdout

  def _refused(self, message, *arguments):
    outcome = binary_runner.run_here(
      'launch.partition_dataset', f'--output_dir={self.folder}', *arguments
    )
    self.assertEqual(outcome.code, 2, outcome.stderr)
    self.assertLen(outcome.stderr.splitlines(), 1, outcome.stderr)
    self.assertRegex(outcome.stderr, message)

  def _write_table(self, content):
    """Returns the argument that names a new table."""
    table = pathlib.Path(self.create_tempdir().full_path) / 'table.csv'
    table.write_text(content)
    return f'--dataset={table}'

  def test_writes_clients_from_files_alone(self):
    # The binary does not import the code of the builder.
    printed = self._run(
      *self.leaves,
      '--partition=pachinko',
      '--coarse_label=kind',
      '--num_clients=6',
      '--examples_per_client=30',
      '--beta=2',
      '--noscale_images',
      '--format=pdf',
    )
    self.assertIn(
      'tiny_leaves/1.0.0, train: x is image, y is species; 180 examples among 6 '
      'clients of 30; 60 left over.',
      printed,
    )
    self.assertEqual(
      sorted(os.listdir(self.folder)),
      [
        *(f'client_{i}.npz' for i in range(6)),
        'clients.csv',
        'label_partition.pdf',
        'partition.json',
      ],
    )
    record = json.loads((self.folder / 'partition.json').read_text())
    self.assertEqual(
      record['arguments'],
      dict(num_clients=6, examples_per_client=30, alpha=0.1, beta=2.0, seed=0),
    )
    self.assertEqual(record['coarse_label'], 'kind')
    self.assertFalse(record['scale_images'])

  def test_bad_input_is_one_line(self):
    few = ('--num_clients=3', '--alpha=1')
    for arguments, message in (
      (('--dataset=tinny_leaves', *few), "no data set 'tinny_leaves'"),
      (('--dataset=mnist', *few), "'mnist' is not prepared in"),
      ((*few, '--label=tree'), "got 'tree'"),
      (('--num_clients=999', '--alpha=1'), '240 examples cannot give 999 cli'),
    ):
      self._refused(message, *self.leaves, *arguments)
      self.assertEmpty(list(self.parent.iterdir()))

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
    flags = {'partition': partition, **arguments, **options}
    self._run(*self.leaves, *(f'--{k}={v}' for k, v in flags.items()))
    expected = tiny_tfds.examples()
    by_pixels = {
      pixels.tobytes(): i for i, pixels in enumerate(expected['image'])
    }
    clients = datasets.NpzFolderClientData(self.folder)
    with open(self.folder / 'clients.csv', newline='') as file:
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
    record = json.loads((self.folder / 'partition.json').read_text())
    self.assertEqual(record['left_over'], left_over)
    self.assertEqual(record['dataset'], 'tiny_leaves/1.0.0')
    self.assertContainsSubset(arguments.items(), record['arguments'].items())
    self.assertNotIn(str(self.data_dir), json.dumps(record))
    self.assertTrue((self.folder / 'label_partition.png').exists())

  def test_the_task_arrays_reads_them(self):
    self._run(*self.leaves, '--num_clients=10', '--alpha=1')
    task = registry.create_task('arrays', seed=0, data_dir=str(self.folder))
    self.assertLen(
      task.train.client_ids + task.validation.client_ids + task.test.client_ids,
      10,
    )
    self.assertEqual(task.metric, 'accuracy')
    x, y = task.train.load_client(task.train.client_ids[0])
    self.assertEqual(x.shape, (len(y), 12))
    self.assertLessEqual(x.max(), 1)

  def test_a_client_per_class_of_a_table(self):
    table = self._write_table('x,kind\n0,b\n1,a\n2,b\n')
    self._run(table, '--label=kind', '--partition=key', '--key=kind')
    clients = datasets.NpzFolderClientData(self.folder)
    for name, x, y in (('a', [1], [0]), ('b', [0, 2], [1, 1])):
      found = clients.load_client(name)
      np.testing.assert_array_equal(found[0], x)
      np.testing.assert_array_equal(found[1], y)

  def test_a_table_of_targets(self):
    rows = [f'{i},{i / 7},{"ab"[i % 3 == 0]},n{i}' for i in range(30)]
    table = self._write_table('\n'.join(['x,cost,key,note', *rows]))
    by_key = (table, '--label=cost', '--partition=key', '--key=key')
    self.assertIn("y is cost, and not used are 'note';", self._run(*by_key))
    x, y = datasets.NpzFolderClientData(self.folder).load_client('b')
    np.testing.assert_array_equal(x, np.arange(0, 30, 3))
    np.testing.assert_allclose(y, x / 7)
    counts = list(csv.reader((self.folder / 'clients.csv').open()))
    self.assertEqual(
      [row[:2] for row in counts[1:]], [['a', '20'], ['b', '10']]
    )
    self.assertEqual(counts[2][2:], ['1'] * 10)
    self.assertEqual(counts[0][2:4], ['[0, 0.4143]', '(0.4143, 0.8286]'])
    self.folder = self.parent / 'small'
    table = self._write_table('x,cost,key\n1,1e-320,a\n2,2e-320,a\n3,0.0,b\n')
    self._run(table, *by_key[1:])
    counts = list(csv.reader((self.folder / 'clients.csv').open()))
    self.assertLen(set(counts[0]), len(counts[0]))
    self.assertEqual(sum(map(int, counts[1][2:])), 2)
    self.folder = self.parent / 'others'
    self._refused(
      "needs classes.*'cost'",
      *(table, '--label=cost', '--partition=shards', '--num_clients=2'),
      '--classes_per_client=1',
    )
    for name, argument in (
      ('data_dir', '--data_dir=/x'),
      ('download', '--download'),
    ):
      self._refused(f'--{name} must be left out for a table', *by_key, argument)

  @parameterized.parameters(
    ('label', 'label,x\nyes,1\nno,2\nyes,3\n', {'yes': [1, 1], 'no': [0]}),
    ('key', 'label,x,key\n2.5,1,a\n2.5,2,b\n', {'a': [2.5], 'b': [2.5]}),
  )
  def test_tables_with_one_value_per_client(self, key, content, expected):
    self._run(self._write_table(content), '--partition=key', f'--key={key}')
    clients = datasets.NpzFolderClientData(self.folder)
    found = {i: clients.load_client(i)[1].tolist() for i in clients.client_ids}
    self.assertEqual(found, expected)

  def test_a_table_of_one_class(self):
    self._refused(
      "labels 'kind' of table.csv must have two classes or more, got 'b' alone "
      'in 3 examples',
      self._write_table('x,kind,key\n0,b,u\n1,b,v\n2,b,u\n'),
      *('--label=kind', '--partition=key', '--key=key'),
    )

  def test_the_same_request_writes_the_same_bytes(self):
    folders = [self.parent / name for name in ('a', 'b')]
    for self.folder in folders:
      self._run(
        *self.leaves,
        '--partition=shards',
        '--num_clients=4',
        '--shards_per_client=2',
        '--seed=3',
        '--noscale_images',
        '--format=svg',
      )
    names = sorted(path.name for path in folders[0].iterdir())
    self.assertIn('label_partition.svg', names)
    for name in names:
      one, other = ((folder / name).read_bytes() for folder in folders)
      self.assertEqual(one, other, name)
    x, _ = datasets.NpzFolderClientData(folders[0]).load_client('client_0')
    self.assertEqual(x.dtype, np.uint8)

  def _read_own_test(self):
    """Returns (x, y, x_test, y_test) by client; None without test data."""
    data = datasets.NpzFolderClientData(self.folder)
    own = data.own_test
    return {
      c: (
        *data.load_client(c),
        *(own.load_client(c) if c in own.client_ids else (None, None)),
      )
      for c in data.client_ids
    }

  def test_own_test_data_of_each_client(self):
    rows = [f'{i},{i % 2},{"abc"[min(i // 10, 2)]}' for i in range(21)]
    table = self._write_table('\n'.join(['x,label,key', *rows]))
    by_key = (table, '--partition=key', '--key=key')
    fraction = '--test_fraction_per_client=0.3'
    self.assertIn(
      '21 examples among 3 clients of 1 to 10; 6 of them for testing at 2 '
      'clients; 0 left over.',
      self._run(*by_key, fraction),
    )
    expected = {'a': range(0, 10), 'b': range(10, 20), 'c': [20]}
    first = self._read_own_test()
    for client_id, (x, y, x_test, y_test) in first.items():
      if client_id == 'c':
        self.assertIsNone(x_test)
        continue
      self.assertLen(x_test, 3)
      self.assertCountEqual([*x, *x_test], expected[client_id])
      np.testing.assert_array_equal([*y, *y_test], np.r_[x, x_test] % 2)
    with open(self.folder / 'clients.csv', newline='') as file:
      self.assertEqual(
        [row[:3] for row in csv.reader(file)][1:],
        [['a', '10', '3'], ['b', '10', '3'], ['c', '1', '0']],
      )
    self.folder = self.parent / 'others'
    self._run(*by_key, fraction, '--seed=1')
    self.assertFalse(
      np.array_equal(self._read_own_test()['a'][2], first['a'][2])
    )
    self.folder = self.parent / 'refused'
    self._refused('--seed does not belong', *by_key, '--seed=1')
    self._refused('above 0 and below 1', *by_key, f'{fraction}e1')

  def test_pictures_of_clients(self):
    pixels = np.random.default_rng(0).integers(0, 256, [6, 4, 4], np.uint8)
    pictures = self.parent / 'photos'
    for number, image in enumerate(pixels):
      place = pictures / f'phone {number // 3}' / ('cat', 'dog')[number % 2]
      place.mkdir(parents=True, exist_ok=True)
      Image.fromarray(image).save(place / f'{number}.png')
    printed = self._run(f'--dataset={pictures}')
    self.assertIn('photos, train: x is picture, y is class; 6 exa', printed)
    clients = datasets.NpzFolderClientData(self.folder)
    self.assertEqual(clients.client_ids, ('phone 0', 'phone 1'))
    x, y = clients.load_client('phone 0')
    np.testing.assert_allclose(x, pixels[[0, 2, 1], ..., None] / 255, rtol=1e-6)
    np.testing.assert_array_equal(y, [0, 0, 1])
    self.folder = self.parent / 'small'
    dirichlet = ('--partition=dirichlet', '--num_clients=2', '--alpha=1')
    self._run(f'--dataset={pictures}', '--image_size=2,3', *dirichlet)
    clients = datasets.NpzFolderClientData(self.folder)
    self.assertEqual(clients.load_client('client_0')[0].shape[1:], (2, 3, 1))
    self.folder = self.parent / 'refused'
    for argument, message in (
      ('--key=phone', "--key .* must be client, got 'phone'"),
      ('--label=class', '--label must be left out for pictures'),
      ('--image_size=0', 'positive integers, .* got 0'),
      ('--image_size=1,2,3', 'positive integers, .* got 1,2,3'),
      ('--num_clients=2', '--num_clients does not belong to --partition=key'),
      ('--split=test', "--split must name a folder .* got 'test'"),
    ):
      self._refused(message, f'--dataset={pictures}', argument)
    self._refused(
      '--image_size must be left', *self.leaves, '--image_size=4', *dirichlet
    )
    classes = f'--dataset={pictures / "phone 0"}'
    self._refused('dirichlet needs --num_clients', classes)
    self._refused(
      "since no folder names a client, got 'client'",
      *(classes, '--partition=key', '--key=client'),
    )
    (pictures / 'phone 0/cat/0.png').write_bytes(b'\x89PNG')
    self._refused(
      'phone 0/cat/0.png must be a picture', f'--dataset={pictures}'
    )

  def test_files_of_leaf(self):
    leaf = self.parent / 'leaf'
    for part, size in (('train', 5), ('test', 2)):
      (leaf / part).mkdir(parents=True)
      users = {
        u: {'x': [[u + i / 8, 1] for i in range(size)], 'y': [u % 2] * size}
        for u in range(10)
      }
      content = {
        'users': [f'u{u}' for u in users],
        'num_samples': [size] * len(users),
        'user_data': {f'u{u}': found for u, found in users.items()},
      }
      (leaf / part / 'all_data_0.json').write_text(json.dumps(content))
    printed = self._run(f'--dataset={leaf}')
    self.assertIn('of 7; 20 of them for testing at 10 clients;', printed)
    x, y, x_test, y_test = self._read_own_test()['u3']
    np.testing.assert_array_equal(x, [[3 + i / 8, 1] for i in range(5)])
    np.testing.assert_array_equal(x_test, [[3, 1], [3.125, 1]])
    np.testing.assert_array_equal([*y, *y_test], [1] * 7)
    task = registry.create_task('arrays', seed=0, data_dir=str(self.folder))
    np.testing.assert_array_equal(task.own_test.load_client('u3')[0], x_test)
    self.folder = self.parent / 'refused'
    for argument, message in (
      ('--image_size=2', "--image_size must be left out for LEAF's"),
      ('--split=test', "--split must be left out for LEAF's .* got 'test'"),
      (
        '--test_fraction_per_client=0.5',
        'left out, since .*leaf has test data',
      ),
    ):
      self._refused(message, f'--dataset={leaf}', argument)

  def test_a_folder_in_use_is_refused_first(self):
    self.folder.mkdir()
    (self.folder / 'mine').write_text('')
    self._refused(
      'not empty', *self.leaves, '--partition=key', '--key=no such feature'
    )
