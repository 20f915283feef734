# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Small files of the kind that TFF's loaders read, for tests."""

from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import os
import pathlib
import sqlite3
from typing import Any

import numpy as np
import tensorflow as tf

# Examples by split and client; an example is a mapping of features to values.
Clients = Mapping[str, Mapping[str, Sequence[Mapping[str, Any]]]]


def write_tff_database(path: str | os.PathLike[str], clients: Clients) -> None:
  """Writes examples as an SQLite file of TFF's schema.

  Args:
    path: The file.
    clients: Maps a split's name to its clients, a client's id to its examples.
      Floats become float features, integers int64 features, bytes byte
      features.
  """
  with contextlib.closing(sqlite3.connect(path)) as connection, connection:
    connection.execute(
      'CREATE TABLE examples (split_name TEXT NOT NULL, '
      'client_id TEXT NOT NULL, serialized_example_proto BLOB NOT NULL)'
    )
    connection.execute(
      'CREATE TABLE client_metadata (client_id TEXT NOT NULL, '
      'split_name TEXT NOT NULL, num_examples INTEGER NOT NULL)'
    )
    for split, by_client in clients.items():
      for client_id, examples in by_client.items():
        connection.execute(
          'INSERT INTO client_metadata VALUES (?, ?, ?)',
          (client_id, split, len(examples)),
        )
        connection.executemany(
          'INSERT INTO examples VALUES (?, ?, ?)',
          [(split, client_id, _serialize(example)) for example in examples],
        )


def write_emnist(
  folder: str | os.PathLike[str], *, num_writers: int = 10, seed: int = 0
) -> dict[str, dict[str, tuple[np.ndarray, np.ndarray]]]:
  """Writes a folder's emnist_all.sqlite with random images.

  Args:
    folder: Where to write.
    num_writers: Writers w0, w1, ...; the last has no digits.
    seed: Of the images.

  Returns:
    (pixels float32 [n, 28, 28], labels) by split (all_train, all_test) and
    writer; n is 5 plus the writer's number in all_train, 2 in all_test.
  """
  rng = np.random.default_rng(seed)
  arrays: dict[str, dict[str, Any]] = {'all_train': {}, 'all_test': {}}
  for number in range(num_writers):
    for split, n in (('all_train', 5 + number), ('all_test', 2)):
      pixels = rng.random([n, 28, 28], np.float32)
      labels = rng.integers(10, 62, n)
      if number < num_writers - 1:
        labels[: n // 2] %= 10
      arrays[split][f'w{number}'] = (pixels, labels)
  clients = {}
  for split, by_writer in arrays.items():
    clients[split] = {
      writer: [
        {'pixels': image.ravel(), 'label': [label]}
        for image, label in zip(*writers_arrays)
      ]
      for writer, writers_arrays in by_writer.items()
    }
    digits = {
      writer: [example for example in examples if example['label'][0] < 10]
      for writer, examples in clients[split].items()
    }
    clients[split.replace('all', 'digits_only')] = {
      writer: examples for writer, examples in digits.items() if examples
    }
  write_tff_database(pathlib.Path(folder) / 'emnist_all.sqlite', clients)
  return arrays


def write_cifar100(
  folder: str | os.PathLike[str],
  *,
  num_train: int = 4,
  num_test: int = 4,
  num_examples: int = 8,
  seed: int = 0,
) -> dict[str, dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]]:
  """Writes a folder's cifar100.sqlite with random images.

  Args:
    folder: Where to write.
    num_train: Training clients 0, 1, ...
    num_test: Test clients 0, 1, ...
    num_examples: Images a client.
    seed: Of the images.

  Returns:
    (images uint8 [n, 32, 32, 3], labels, coarse labels) by split (train, test)
    and client.
  """
  rng = np.random.default_rng(seed)
  arrays: dict[str, dict[str, Any]] = {}
  clients = {}
  for split, count in (('train', num_train), ('test', num_test)):
    arrays[split] = {
      str(number): (
        rng.integers(0, 256, [num_examples, 32, 32, 3], np.uint8),
        rng.integers(0, 100, num_examples),
        rng.integers(0, 20, num_examples),
      )
      for number in range(count)
    }
    clients[split] = {
      client_id: [
        {'image': image.ravel(), 'label': [fine], 'coarse_label': [coarse]}
        for image, fine, coarse in zip(*client)
      ]
      for client_id, client in arrays[split].items()
    }
  write_tff_database(pathlib.Path(folder) / 'cifar100.sqlite', clients)
  return arrays


def _serialize(example: Mapping[str, Any]) -> bytes:
  features = {}
  for name, values in example.items():
    values = np.asarray(values)
    if np.issubdtype(values.dtype, np.floating):
      feature = tf.train.Feature(float_list=tf.train.FloatList(value=values))
    elif values.dtype.kind == 'S':
      feature = tf.train.Feature(bytes_list=tf.train.BytesList(value=values))
    else:
      feature = tf.train.Feature(int64_list=tf.train.Int64List(value=values))
    features[name] = feature
  return tf.train.Example(
    features=tf.train.Features(feature=features)
  ).SerializeToString()
