# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the writer, against the stock reader of Dataset Grouper."""

import json
import os
import pathlib

from fedfish_tff import errors
from fedfish_tff.datasets import client_index
from fedfish_tff.datasets import grouped_client_data
from fedfish_tff.datasets import grouped_writer
from tests import grouped_clients

from absl.testing import parameterized
import dataset_grouper
import numpy as np
import pyarrow.parquet as pq
import tensorflow as tf
import tensorflow_datasets as tfds

_FEATURES = {
  'text': tf.TensorSpec([], tf.string),
  'when': tf.TensorSpec([], tf.int64),
  'place': tf.TensorSpec([2], tf.float32),
}


class GroupedWriterTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self._folder = pathlib.Path(self.create_tempdir().full_path) / 'd'

  def test_stock_reader_reads_every_example(self):
    clients = {
      f'c{i}': [
        {'text': f'{i} ü {j}', 'when': -i, 'place': [i, j / 2]}
        for j in range(i + 1)
      ]
      for i in range(7)
    }
    with grouped_writer.GroupedWriter(
      self._folder, features=_FEATURES, num_shards=2
    ) as writer:
      for client_id, examples in clients.items():
        writer.write('train', client_id, examples)
    stock = dataset_grouper.PartitionedDataset(
      str(self._folder / 'train-*.tfrecord'),
      tfds.features.FeaturesDict(
        {
          'text': tfds.features.Text(),
          'when': tfds.features.Scalar(np.int64),
          'place': tfds.features.Tensor(shape=[2], dtype=np.float32),
        }
      ),
    )
    found = [
      [
        {
          'text': example['text'].decode(),
          'when': int(example['when']),
          'place': example['place'].tolist(),
        }
        for example in group.as_numpy_iterator()
      ]
      for group in stock.build_group_stream()
    ]
    self.assertCountEqual(found, clients.values())

  def test_index_and_description(self):
    texts = {
      'train': {'b': ['one two', 'three'], 'a': ['x'], 'é': ['z z z']},
      'held_out': {'c': ['four  five\nsix']},
    }
    grouped_clients.write_folder(self._folder, texts, num_shards=2)
    self.assertCountEqual(
      os.listdir(self._folder),
      ['clients.parquet', 'dataset.json']
      + [
        f'{split}-{i:05}-of-00002.tfrecord' for split in texts for i in (0, 1)
      ],
    )
    description = json.loads((self._folder / 'dataset.json').read_text())
    self.assertEqual(
      description['splits'],
      {
        'train': {'shards': 2, 'clients': 3, 'examples': 4, 'words': 7},
        'held_out': {'shards': 2, 'clients': 1, 'examples': 1, 'words': 3},
      },
    )
    table = pq.read_table(self._folder / 'clients.parquet')
    self.assertTrue(table.schema.equals(client_index.INDEX_SCHEMA))
    self.assertEqual(
      json.loads(table.schema.metadata[b'fedfish_tff']), {'format_version': 1}
    )
    self.assertEqual(table['client_id'].to_pylist(), ['c', 'a', 'b', 'é'])
    self.assertEqual(table['words'].to_pylist(), [3, 1, 3, 3])
    self.assertEqual(table['examples'].to_pylist(), [1, 1, 2, 1])

  def test_interrupted_writing_leaves_nothing_that_looks_whole(self):
    with self.assertRaises(KeyboardInterrupt):
      with grouped_writer.GroupedWriter(
        self._folder, features=grouped_clients.TEXT
      ) as writer:
        writer.write('train', 'a', [{'text': 'x'}])
        raise KeyboardInterrupt
    with self.assertRaisesRegex(errors.InputError, 'no file .*dataset.json'):
      grouped_client_data.GroupedClientData(self._folder, 'train')

  @parameterized.parameters(
    ('train', 'a', 1, "'a' must be written to split 'train' once"),
    ('train', 'b', 0, "'b' must have at least one example, got none"),
    ('a/b', 'b', 1, "split must be a text .* got 'a/b'"),
    ('', 'b', 1, "split must be a text .* got ''"),
    (1, 'b', 1, 'split must be a text .* got 1'),
  )
  def test_clients_that_readers_would_refuse(self, split, client_id, n, regex):
    with grouped_writer.GroupedWriter(
      self._folder, features=grouped_clients.TEXT
    ) as writer:
      writer.write('train', 'a', [{'text': 'x'}])
      writer.write('held_out', 'a', [{'text': 'x'}])
      with self.assertRaisesRegex(errors.InputError, regex):
        writer.write(split, client_id, [{'text': 'x'}] * n)
    read = grouped_client_data.GroupedClientData(self._folder, 'train')
    self.assertEqual(list(read.client_ids), ['a'])

  def test_folder_that_is_not_empty(self):
    self._folder.mkdir()
    (self._folder / 'mine').touch()
    with self.assertRaisesRegex(errors.InputError, 'd must be a new or empty'):
      grouped_writer.GroupedWriter(self._folder, features=_FEATURES)

  @parameterized.parameters(
    ({'when': 1.5}, "'when' of client 'c' must be int64\\[\\], got 1.5"),
    ({'when': '5'}, "'when' .*int64"),
    ({'small': 300}, "'small' .*uint8"),
    ({'place': [[1.0], [2.0]]}, "'place' .*float32\\[2\\]"),
    ({'place': [1e300, 0]}, "'place' .*float32\\[2\\]"),
    ({'text': 5}, "'text' .*string"),
    ({'text': '\ud800'}, "'text' .*string"),
    ({'other': 1}, 'the features text, when, place, small, got .*other'),
  )
  def test_values_that_would_change(self, changed, message):
    features = {**_FEATURES, 'small': tf.TensorSpec([], tf.uint8)}
    example = {'text': 'x', 'when': 1, 'place': [1, 2], 'small': 255, **changed}
    with self.assertRaisesRegex(errors.InputError, message):
      with grouped_writer.GroupedWriter(
        self._folder, features=features
      ) as writer:
        writer.write('train', 'c', [example])

  @parameterized.parameters(
    (([], tf.float64),), (([], tf.uint64),), (([None], tf.int32),)
  )
  def test_features_that_files_do_not_hold(self, spec):
    with self.assertRaisesRegex(errors.InputError, "Feature 'x' .*floats of"):
      grouped_writer.GroupedWriter(
        self._folder, features={'x': tf.TensorSpec(*spec)}
      )
