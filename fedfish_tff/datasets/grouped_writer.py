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
import re
import types
from typing import Any

from fedfish_tff import errors
from fedfish_tff.datasets import client_files
from fedfish_tff.datasets import folder_writer
from fedfish_tff.datasets import grouped_examples
from fedfish_tff.datasets import grouped_folder

import numpy as np
import tensorflow as tf

_SPLIT = re.compile(r'[^/\0]+')


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
      features: The features of an example, each a text or numbers of a fixed
        shape: booleans, integers below 2**63, or floats of at most 32 bits,
        since files hold no others.
      num_shards: The number of files of each split.
    """
    errors.check_positive_integer('num_shards', num_shards)
    for name, spec in features.items():
      if not _is_writable(spec):
        raise errors.InputError(
          f'Feature {name!r} must be a text or numbers of a fixed shape, floats '
          f'of at most 32 bits, and not uint64, got {spec}.'
        )
    self._folder = pathlib.Path(folder)
    self._folder.mkdir(parents=True, exist_ok=True)
    if any(self._folder.iterdir()):
      raise errors.InputError(
        f'{self._folder} must be a new or empty folder: nothing is overwritten.'
      )
    self._specs = dict(features)
    self._features = grouped_folder.features_to_json(features)
    self._num_shards = num_shards
    self._open_files = contextlib.ExitStack()
    # Without end: the file of the next client of each split.
    self._files: dict[str, Iterator[client_files.ClientFile]] = {}
    self._written: dict[str, set[str]] = {}

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
      split: The name of any split, with which names of files begin.
      client_id: The id, a text that no other client of the split has.
      examples: The examples, at least one; values by feature, text as `str` or
        `bytes`. The values of an integer feature must be exact in its dtype.
    """
    if not grouped_examples.is_text(split) or not _SPLIT.fullmatch(split):
      raise errors.unexpected(
        'The name of a split',
        split,
        'a text that names of files can begin with',
      )
    if not grouped_examples.is_text(client_id):
      raise errors.InputError(f'A client id must be a text, got {client_id!r}.')
    written = self._written.setdefault(split, set())
    if client_id in written:
      raise errors.InputError(
        f'Client {client_id!r} must be written to split {split!r} once, got it '
        'twice.'
      )
    flat = [self._flat(example, client_id) for example in examples]
    if not flat:
      raise errors.InputError(
        f'Client {client_id!r} must have at least one example, got none.'
      )
    written.add(client_id)
    if split not in self._files:
      self._files[split] = itertools.cycle(
        [
          self._open_files.enter_context(
            client_files.ClientFile(self._shard_path(split, shard))
          )
          for shard in range(self._num_shards)
        ]
      )
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

  def _flat(self, example: Mapping[str, Any], client_id: str) -> dict[str, Any]:
    """Returns an example's values, texts as bytes, after checking them."""
    if example.keys() != self._specs.keys():
      raise errors.InputError(
        f'An example of client {client_id!r} must have the features '
        f'{", ".join(self._specs)}, got {", ".join(map(str, example))}.'
      )
    values = {}
    for name, spec in self._specs.items():
      values[name] = _fitted(example[name], spec)
      if values[name] is None:
        raise errors.InputError(
          f'Feature {name!r} of client {client_id!r} must be '
          f'{spec.dtype.name}{spec.shape.as_list()}, got {example[name]!r:.80}.'
        )
    return values

  def _shard_path(self, split: str, shard: int) -> str:
    name = grouped_folder.shard_name(split, shard, self._num_shards)
    return os.fspath(self._folder / name)


def _is_writable(spec: tf.TensorSpec) -> bool:
  """Returns whether a `tf.train.Example` holds such values exactly."""
  if spec.dtype == tf.string:
    return spec.shape.rank == 0
  is_integer = spec.dtype.is_integer and spec.dtype != tf.uint64
  is_float = spec.dtype.is_floating and spec.dtype.size <= 4
  return spec.shape.is_fully_defined() and (
    is_integer or is_float or spec.dtype.is_bool
  )


def _fitted(value: Any, spec: tf.TensorSpec) -> bytes | np.ndarray | None:
  """Returns a value as bytes or numbers of its feature; None if it is none."""
  if spec.dtype == tf.string:
    if isinstance(value, bytes):
      return value
    return value.encode() if grouped_examples.is_text(value) else None
  dtype = np.dtype(spec.dtype.as_numpy_dtype)
  array = np.asarray(value)
  if array.dtype.kind not in 'biuf' and array.dtype != dtype:
    return None
  with np.errstate(invalid='ignore', over='ignore'):
    numbers = array.astype(dtype)
  if spec.dtype.is_floating:
    fits = np.array_equal(np.isfinite(numbers), np.isfinite(array))
  else:
    fits = np.array_equal(numbers, array)
  return numbers if fits and array.shape == tuple(spec.shape) else None
