# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Folders of grouped clients: their files and their dataset.json.

One client is one record of a shard, `<split>-SSSSS-of-NNNNN.tfrecord`.
clients.parquet maps clients to records. dataset.json is written last, so a
folder without it is incomplete.
"""

from collections.abc import Mapping
import dataclasses
import os
import pathlib
from typing import Any
from typing import TYPE_CHECKING

from fedfish_tff import errors
from fedfish_tff import regular_files

if TYPE_CHECKING:  # The import takes seconds.
  import tensorflow as tf

DESCRIPTION_FILE = 'dataset.json'
INDEX_FILE = 'clients.parquet'
FORMAT_VERSION = 1
# Splits that are empty unless their fraction of the clients is set.
_SPLITS_BY_FRACTION = ('validation', 'held_out')


@dataclasses.dataclass(frozen=True, kw_only=True)
class SplitSize:
  """The size of a split.

  Attributes:
    shards: The number of files.
    clients: The number of clients, each one record of a file.
    examples: The number of the clients' examples.
    words: The number of their words.
  """

  shards: int
  clients: int
  examples: int
  words: int


_SIZES = tuple(field.name for field in dataclasses.fields(SplitSize))
# The form of dataset.json.
_DESCRIPTION = {
  'format_version': FORMAT_VERSION,
  'features': {...: {'dtype': str, 'shape': [int]}},
  'splits': {...: dict.fromkeys(_SIZES, int)},
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class GroupedFolder:
  """A complete folder of grouped clients.

  Attributes:
    path: The folder.
    features: The features of an example, each a scalar or of a fixed shape.
    splits: The sizes of splits, by name.
  """

  path: pathlib.Path
  features: 'Mapping[str, tf.TensorSpec]'
  splits: Mapping[str, SplitSize]

  @property
  def index_path(self) -> pathlib.Path:
    return self.path / INDEX_FILE

  def shard_path(self, split: str, shard: int) -> pathlib.Path:
    """Returns the file of a split's shard, numbered from 0."""
    return self.path / shard_name(split, shard, self.splits[split].shards)

  def check_split(self, split: str) -> None:
    """Checks that a split has clients and that all of its files exist."""
    with_clients = sorted(s for s, size in self.splits.items() if size.clients)
    if split not in with_clients:
      hint = ''
      if split in _SPLITS_BY_FRACTION:
        hint = f' (launch.group_dataset makes it by --{split}_fraction)'
      raise errors.InputError(
        f'The folder {self.path} has no clients in split {split!r}{hint}; found '
        f'{", ".join(with_clients) or "none in any split"}.'
      )
    found = set(os.listdir(self.path))
    for shard in range(self.splits[split].shards):
      path = self.shard_path(split, shard)
      if path.name not in found:
        raise errors.InputError(
          f'There is no file {path}, one of the {self.splits[split].shards} '
          f'shard(s) of split {split!r}.'
        )

  def select_features(
    self, names: tuple[str, ...]
  ) -> 'Mapping[str, tf.TensorSpec]':
    """Returns the specs of some features, at least one, sorted as in nests."""
    if isinstance(names, str) or not names:
      raise errors.InputError(
        f'The features must be a tuple of at least one name, got {names!r}.'
      )
    for name in names:
      if name not in self.features:
        raise errors.InputError(
          f'The examples of {self.path} have no feature {name!r}; found '
          f'{", ".join(sorted(self.features))}.'
        )
    return {name: self.features[name] for name in sorted(set(names))}


def shard_name(split: str, shard: int, num_shards: int) -> str:
  """Returns the name of a split's file."""
  return f'{split}-{shard:05}-of-{num_shards:05}.tfrecord'


def open_folder(folder: str | os.PathLike[str]) -> GroupedFolder:
  """Reads the dataset.json of a complete folder.

  Args:
    folder: A folder written by `launch.group_dataset` or `GroupedWriter`.
  """
  folder = pathlib.Path(folder)
  path = folder / DESCRIPTION_FILE
  try:
    content = regular_files.read_json(path, _DESCRIPTION)
  except regular_files.MissingFileError:
    raise errors.InputError(
      f'There is no file {path}, which must be in a folder of grouped clients '
      'and is written last.'
    ) from None
  try:
    features = features_from_json(content['features'])
  except (TypeError, ValueError) as error:  # A wrong dtype or shape.
    raise errors.InputError(
      f'The features in {path} must be names of dtypes and shapes, as they '
      f'were written, and cannot be used ({error}).'
    ) from error
  return GroupedFolder(
    path=folder,
    features=features,
    splits={
      name: SplitSize(**{field: size[field] for field in _SIZES})
      for name, size in content['splits'].items()
    },
  )


def features_to_json(
  features: 'Mapping[str, tf.TensorSpec]',
) -> dict[str, Any]:
  """Returns the entry `features` of dataset.json."""
  return {
    name: {'dtype': spec.dtype.name, 'shape': spec.shape.as_list()}
    for name, spec in sorted(features.items())
  }


def features_from_json(
  content: Mapping[str, Any],
) -> 'dict[str, tf.TensorSpec]':
  """Returns the features of the entry `features` of dataset.json."""
  # Imported late: writers of such a folder and its index do not need it.
  import tensorflow as tf  # pylint: disable=g-import-not-at-top

  return {
    name: tf.TensorSpec(entry['shape'], tf.as_dtype(entry['dtype']))
    for name, entry in content.items()
  }
