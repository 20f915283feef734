# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Writing of in-memory clients as a folder of grouped clients."""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import itertools
import os
import pathlib
import types
from typing import Any

from fedfish_tff import errors
from fedfish_tff.datasets import client_files
from fedfish_tff.datasets import folder_writer
from fedfish_tff.datasets import grouped_examples
from fedfish_tff.datasets import grouped_folder

import numpy as np
import tensorflow as tf


class GroupedWriter:
  """Writes clients one by one, in any order.

  It is a context manager and needs the package's extra `grouping`. The index
  and dataset.json are written at an exit without an error. Until then all
  readers refuse the folder.
  """

  def __init__(
    self,
    folder: str | os.PathLike[str],
    *,
    features: Mapping[str, tf.TensorSpec],
    num_shards: int = 1,
  ) -> None:
    """Creates the folder.

    Args:
      folder: A new or empty folder.
      features: The features of an example, each a scalar or of a fixed shape.
      num_shards: The number of files of each split.

    Raises:
      errors.InputError: If the folder is not empty.
    """
    self._folder = pathlib.Path(folder)
    self._folder.mkdir(parents=True, exist_ok=True)
    if any(self._folder.iterdir()):
      raise errors.InputError(
        f'{self._folder} must be a new or empty folder: nothing is overwritten.'
      )
    self._features = grouped_folder.features_to_json(features)
    self._num_shards = num_shards
    self._open_files = contextlib.ExitStack()
    # Without end: the file of the next client of each split.
    self._files: dict[str, Iterator[client_files.ClientFile]] = {}

  def __enter__(self) -> 'GroupedWriter':
    return self

  def __exit__(
    self,
    error_type: type[BaseException] | None,
    error: BaseException | None,
    traceback: types.TracebackType | None,
  ) -> None:
    self._open_files.__exit__(error_type, error, traceback)
    if error_type is not None:
      return
    sizes = folder_writer.write_index(
      self._folder / grouped_folder.INDEX_FILE,
      {
        split: [
          client_files.read_index(self._shard_path(split, shard), split, shard)
          for shard in range(self._num_shards)
        ]
        for split in self._files
      },
    )
    folder_writer.write_description(
      self._folder,
      features=self._features,
      shards=dict.fromkeys(self._files, self._num_shards),
      sizes=sizes,
      source={},
    )

  def write(
    self, split: str, client_id: str, examples: Iterable[Mapping[str, Any]]
  ) -> None:
    """Writes a client.

    Args:
      split: Its split.
      client_id: Its id, which must be unique.
      examples: Its examples; values by feature, text as `str` or `bytes`.
    """
    if split not in self._files:
      self._files[split] = itertools.cycle(
        [
          self._open_files.enter_context(
            client_files.ClientFile(self._shard_path(split, shard))
          )
          for shard in range(self._num_shards)
        ]
      )
    flat = [
      {
        name: value.encode() if isinstance(value, str) else value
        for name, value in example.items()
      }
      for example in examples
    ]
    serialized = [
      grouped_examples.encode_example(example, self._features)
      for example in flat
    ]
    next(self._files[split]).write(
      client_id,
      serialized,
      sizes=np.array([len(example) for example in serialized], np.int64),
      words=sum(
        grouped_examples.count_words(example, self._features)
        for example in flat
      ),
    )

  def _shard_path(self, split: str, shard: int) -> str:
    name = grouped_folder.shard_name(split, shard, self._num_shards)
    return os.fspath(self._folder / name)
