# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Writes clients that are in this process as a folder of grouped clients."""

import array
from collections.abc import Iterable
from collections.abc import Mapping
import json
import os
import pathlib
import types
from typing import Any

from fedfish_tff import errors
from fedfish_tff import new_files
from fedfish_tff.datasets import client_index
from fedfish_tff.datasets import grouped_examples
from fedfish_tff.datasets import grouped_folder
from fedfish_tff.datasets import record_files

import numpy as np
import pyarrow as pa
import tensorflow as tf

_NUMBERS = ('shard', 'offset', 'record_bytes', 'examples', 'words')


class GroupedWriter:
  """Writes clients one by one, in any order; only their index is in memory.

  A context manager. The index and dataset.json are written when it exits
  without an error; until then the folder is refused by all that read it.
  """

  def __init__(
    self,
    folder: str | os.PathLike[str],
    *,
    features: Mapping[str, tf.TensorSpec],
    num_shards: int = 1,
    source: Mapping[str, Any] | None = None,
  ) -> None:
    """Makes the folder.

    Args:
      folder: A new or empty folder.
      features: The features of an example, each a scalar or of a fixed shape.
      num_shards: The files of each split.
      source: Where the clients come from, for the reader of dataset.json.

    Raises:
      errors.InputError: If the folder is not empty.
    """
    self._folder = pathlib.Path(folder)
    self._folder.mkdir(parents=True, exist_ok=True)
    if any(self._folder.iterdir()):
      raise errors.InputError(
        f'{self._folder} is not empty; a new folder was expected, since '
        'nothing is overwritten.'
      )
    self._features = dict(features)
    self._num_shards = num_shards
    self._source = dict(source or {})
    self._writers: dict[str, list[record_files.RecordWriter]] = {}
    self._ids: dict[str, list[str]] = {}
    self._numbers: dict[str, array.array] = {}

  def __enter__(self) -> 'GroupedWriter':
    return self

  def __exit__(
    self,
    error_type: type[BaseException] | None,
    error: BaseException | None,
    traceback: types.TracebackType | None,
  ) -> None:
    for writers in self._writers.values():
      for writer in writers:
        writer.close()
    if error_type is None:
      self._write_index()
      self._write_description()

  def write(
    self, split: str, client_id: str, examples: Iterable[Mapping[str, Any]]
  ) -> None:
    """Writes a client.

    Args:
      split: Its split.
      client_id: Its id, which no other client has.
      examples: Its examples; values by feature, text as `str` or `bytes`.
    """
    if split not in self._writers:
      self._writers[split] = [
        record_files.RecordWriter(
          self._folder
          / grouped_folder.shard_name(split, shard, self._num_shards)
        )
        for shard in range(self._num_shards)
      ]
      self._ids[split] = []
      self._numbers[split] = array.array('q')
    examples = list(examples)
    record = grouped_examples.encode_examples(examples)
    shard = len(self._ids[split]) % self._num_shards
    offset = self._writers[split][shard].write(record)
    words = sum(self._count_words(example) for example in examples)
    self._ids[split].append(client_id)
    self._numbers[split].extend(
      (shard, offset, len(record), len(examples), words)
    )

  def _count_words(self, example: Mapping[str, Any]) -> int:
    names = ['text'] if 'text' in self._features else sorted(example)
    texts = (example[name] for name in names)
    return sum(
      len(
        (
          text.decode(errors='replace') if isinstance(text, bytes) else text
        ).split()
      )
      for text in texts
      if isinstance(text, (str, bytes))
    )

  def _write_index(self) -> None:
    path = self._folder / grouped_folder.INDEX_FILE
    with client_index.create_index_writer(path) as writer:
      for split in sorted(self._ids):
        ids = self._ids[split]
        order = sorted(range(len(ids)), key=ids.__getitem__)
        numbers = self._split_numbers(split)[order]
        columns = {
          'client_id': [ids[place] for place in order],
          'split': pa.DictionaryArray.from_arrays(
            np.zeros(len(ids), np.int32), [split]
          ),
        } | {name: numbers[:, i] for i, name in enumerate(_NUMBERS)}
        writer.write_table(
          pa.table(columns, schema=client_index.INDEX_SCHEMA),
          row_group_size=client_index.ROW_GROUP_CLIENTS,
        )

  def _write_description(self) -> None:
    splits = {}
    for split in self._ids:
      _, _, _, examples, words = self._split_numbers(split).sum(axis=0)
      splits[split] = {
        'shards': self._num_shards,
        'clients': len(self._ids[split]),
        'examples': int(examples),
        'words': int(words),
      }
    description = {
      'format_version': grouped_folder.FORMAT_VERSION,
      'features': grouped_folder.features_to_json(self._features),
      'key': None,
      'splits': splits,
      'skipped': {},
      'source': self._source,
    }
    path = self._folder / grouped_folder.DESCRIPTION_FILE
    with new_files.new_file(path) as file:
      file.write(f'{json.dumps(description, indent=2)}\n'.encode())

  def _split_numbers(self, split: str) -> np.ndarray:
    """Returns int64 [clients, 5], in the order of writing."""
    return np.array(self._numbers[split], np.int64).reshape(-1, len(_NUMBERS))
