# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the clients of TFF's own data sets."""

import gc
import os
import pathlib
import sqlite3
from unittest import mock

from fedfish_tff import errors
from fedfish_tff.datasets import tff_client_data
from tests import temporary_folders
from tests import tff_database

from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff


class TffClientDataTest(temporary_folders.TestCase):
  def _load(self):
    return tff.simulation.datasets.emnist.load_data(
      only_digits=False, cache_dir=str(self.folder)
    )

  def test_reads_what_the_loader_reads(self):
    arrays = tff_database.write_emnist(self.folder)
    for split, source in zip(('all_train', 'all_test'), self._load()):
      clients = tff_client_data.TffClientData(source)
      self.assertEqual(clients.client_ids, tuple(sorted(arrays[split])))
      for writer, (pixels, labels) in arrays[split].items():
        examples = clients.load_client(writer)
        np.testing.assert_array_equal(examples['pixels'], pixels)
        np.testing.assert_array_equal(examples['label'], labels)
        self.assertFalse(examples['pixels'].flags.writeable)
        element = next(iter(source.create_tf_dataset_for_client(writer)))
        self.assertEqual(
          tf.nest.map_structure(lambda t: (t.dtype, t.shape), element),
          tf.nest.map_structure(
            lambda s: (s.dtype, s.shape), clients.element_spec
          ),
        )

  def test_prefix(self):
    arrays = tff_database.write_emnist(self.folder, num_writers=2)
    clients = tff_client_data.TffClientData(self._load()[1], prefix='test_')
    self.assertEqual(clients.client_ids, ('test_w0', 'test_w1'))
    np.testing.assert_array_equal(
      clients.load_client('test_w1')['label'], arrays['all_test']['w1'][1]
    )
    with self.assertRaisesRegex(errors.InputError, "client .*'w1'"):
      clients.load_client('w1')

  def test_takes_other_client_data_of_tff(self):
    source = tff.simulation.datasets.TestClientData(
      {'b': {'x': [[1.0, 2.0]]}, 'a': {'x': [[3.0, 4.0], [5.0, 6.0]]}}
    )
    clients = tff_client_data.TffClientData(source)
    self.assertEqual(clients.client_ids, ('a', 'b'))
    np.testing.assert_array_equal(
      clients.load_client('a')['x'], [[3, 4], [5, 6]]
    )

  def test_keeps_what_it_reads_from(self):
    clients = tff_client_data.TffClientData(
      tff.simulation.datasets.TestClientData({'a': {'x': [1.0, 2.0]}})
    )
    gc.collect()
    np.testing.assert_array_equal(clients.load_client('a')['x'], [1, 2])

  def test_no_clients(self):
    source = tff.simulation.datasets.TestClientData({'a': {'x': [1.0]}})
    with mock.patch.object(type(source), 'client_ids', []):
      with self.assertRaisesRegex(errors.InputError, 'at least one client'):
        tff_client_data.TffClientData(source)

  @parameterized.named_parameters(
    ('without_label', [{'pixels': np.zeros(784)}], 'label.* is required'),
    (
      'of_another_size',
      [{'pixels': np.zeros(9), 'label': [1]}],
      "read .*pixels. Can't parse serialized",
    ),
    (
      'not_a_number',
      [{'pixels': np.full(784, np.nan), 'label': [1]}],
      "'pixels' of client 'w' .*784 NaN",
    ),
  )
  def test_bad_examples(self, examples, regex):
    path = self.folder / 'emnist_all.sqlite'
    tff_database.write_tff_database(
      path, {'all_train': {'w': examples}, 'all_test': {'w': examples}}
    )
    clients = tff_client_data.TffClientData(self._load()[0])
    with self.assertRaisesRegex(errors.InputError, regex) as caught:
      clients.load_client('w')
    self.assertIn("client 'w'", str(caught.exception))
    self.assertNotIn('\n', str(caught.exception))

  def test_reason_is_told_without_where_it_happened(self):
    error = tf.errors.InvalidArgumentError(
      None,
      None,
      'Graph execution error:\n\nDetected at node Read defined at (most '
      'recent call last):\n<stack traces unavailable>\n  File "/a b/c.py", '
      'line 11, in load_client\n\nIt is  damaged.\n\t [[{{node Read}}]]',
    )
    self.assertEqual(tff_client_data._reason(error), 'It is damaged.')

  def test_client_without_examples(self):
    path = self.folder / 'emnist_all.sqlite'
    tff_database.write_tff_database(
      path,
      {
        'all_train': {'v': [{'pixels': np.zeros(784), 'label': [1]}], 'w': []},
        'all_test': {'v': [{'pixels': np.zeros(784), 'label': [1]}]},
      },
    )
    clients = tff_client_data.TffClientData(self._load()[0])
    clients.load_client('v')
    with self.assertRaisesRegex(
      errors.InputError, "^Client 'w' .*at least one example"
    ):
      clients.load_client('w')


class CheckTffDatabaseTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self._path = pathlib.Path(self.create_tempdir().full_path) / 'a?b #1.sqlite'

  def _check(self, splits=('train',)):
    tff_client_data.check_tff_database(self._path, splits)

  def _assert_refused(self, message, splits=('train',)):
    with self.assertRaisesRegex(errors.InputError, message):
      self._check(splits)

  def _write(self, clients):
    tff_database.write_tff_database(self._path, clients)

  def test_data_base(self):
    self._write({'train': {'a': [{'x': [1]}]}, 'test': {'b': [{'x': [1]}]}})
    before = self._path.read_bytes()
    self._check(('train', 'test'))
    self.assertEqual(self._path.read_bytes(), before)
    self.assertEqual(os.listdir(self._path.parent), [self._path.name])

  @parameterized.parameters('-journal', '-wal')
  def test_an_unfinished_change(self, suffix):
    self._write({'train': {'a': [{'x': [1]}]}})
    pathlib.Path(f'{self._path}{suffix}').touch()
    self._assert_refused(f'{suffix} beside it tells')

  def test_missing(self):
    self._assert_refused('no file .*#1.sqlite')
    self.assertFalse(self._path.exists())

  def test_missing_split(self):
    self._write({'train': {'a': [{'x': [1]}]}})
    self._assert_refused(
      "no clients in split 'test'; found train", ('train', 'test')
    )

  @parameterized.named_parameters(
    ('text', b'no data base'), ('image', b'\x89PNG' * 1000), ('empty', b'')
  )
  def test_not_sqlite(self, content):
    self._path.write_bytes(content)
    self._assert_refused('TFF data base.*tables examples')

  def test_other_tables(self):
    with sqlite3.connect(self._path) as connection:
      connection.execute('CREATE TABLE examples (split_name TEXT)')
    self._assert_refused('no such column: client_id')

  def test_cut_short(self):
    """As a download is that ended early."""
    self._write({'train': {'a': [{'x': np.arange(1000)} for _ in range(100)]}})
    whole = self._path.read_bytes()
    for size in (len(whole) // 2, len(whole) - 1, 5000):
      self._path.write_bytes(whole[:size])
      self._assert_refused('TFF data base')
