# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The index of a folder of grouped clients: clients.parquet.

The file has one row per client, sorted by split and id. It is read by columns
and kept as arrays. If a split is too large for that, any part of its rows can
be read.
"""

import bisect
from collections.abc import Mapping
import dataclasses
import functools
import itertools
import json
import os
import pathlib
from typing import TYPE_CHECKING

from fedfish_tff import errors
from fedfish_tff import regular_files
from fedfish_tff.datasets import grouped_folder
from fedfish_tff.datasets import record_files
from fedfish_tff.datasets import sorted_ids

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:  # The import takes seconds.
  import tensorflow as tf

INDEX_SCHEMA = pa.schema(
  [
    ('client_id', pa.string()),
    ('split', pa.dictionary(pa.int32(), pa.string())),
    ('shard', pa.int32()),
    ('offset', pa.int64()),
    ('record_bytes', pa.int64()),
    ('examples', pa.int64()),
    ('words', pa.int64()),
  ],
  metadata={
    'fedfish_tff': json.dumps({'format_version': grouped_folder.FORMAT_VERSION})
  },
)
ROW_GROUP_CLIENTS = 2**16

_UNREADABLE = (OSError, pa.ArrowException, UnicodeDecodeError)

# The columns needed to read a client, without the number of words.
_NUMBERS = {
  'shard': np.int32,
  'offset': np.int64,
  'record_bytes': np.int64,
  'examples': np.int64,
}
_COLUMNS = ('client_id', 'split', *_NUMBERS)


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class IndexRows:
  """Index rows of some clients with consecutive ids.

  Attributes:
    client_ids: The ids, [n], in ascending order.
    shard: The numbers of the files, int32 [n].
    offset: The bytes from a file's start to the client's record, int64 [n].
    record_bytes: The lengths of the records, int64 [n].
    examples: The clients' numbers of examples, int64 [n].
  """

  client_ids: sorted_ids.SortedIds
  shard: np.ndarray
  offset: np.ndarray
  record_bytes: np.ndarray
  examples: np.ndarray


class ClientIndex:
  """The index of a folder of grouped clients.

  Opening it reads dataset.json and the end of clients.parquet, in a time that
  does not depend on the number of clients.
  """

  def __init__(self, folder: str | os.PathLike[str]) -> None:
    """Opens the index of a complete folder.

    Args:
      folder: A folder written by `launch.group_dataset` or `GroupedWriter`.
    """
    self._folder = grouped_folder.open_folder(folder)
    path = self._folder.index_path
    try:
      with open(path, 'rb', opener=regular_files.opener) as file:
        metadata = pq.read_metadata(file)
        schema = metadata.schema.to_arrow_schema()
    except _UNREADABLE as error:
      raise _unreadable_error(path, error) from error
    _check_schema(schema, path)
    self._metadata = metadata
    self._group_ends = list(
      itertools.accumulate(
        metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)
      )
    )
    # The rows of splits are in the order of the splits' names.
    self._first_row = {}
    num_clients = 0
    for split in sorted(self._folder.splits):
      self._first_row[split] = num_clients
      num_clients += self._folder.splits[split].clients
    num_rows = self._group_ends[-1] if self._group_ends else 0
    if num_clients != num_rows:
      raise errors.InputError(
        f'The index {path} must have {num_clients} row(s), as '
        f'{grouped_folder.DESCRIPTION_FILE} beside it says, got {num_rows}.'
      )
    self._kept_group = functools.lru_cache(maxsize=1)(self._read_group)

  @property
  def folder(self) -> grouped_folder.GroupedFolder:
    return self._folder

  def read_split(self, split: str) -> IndexRows:
    """Returns all rows of a split; time and memory grow with their number.

    The split must have clients, and all of its files must exist.
    """
    self._folder.check_split(split)
    return self.read_rows(split, 0, self._folder.splits[split].clients)

  def read_rows(self, split: str, start: int, stop: int) -> IndexRows:
    """Returns some rows of a split.

    The part of the file that was read last, some five megabytes, is kept for
    the next call.

    Args:
      split: A split with clients.
      start: The number of the first row, from 0 on.
      stop: The number after the last row, more than `start`.
    """
    first = self._first_row[split] + start
    end = self._first_row[split] + stop
    group = bisect.bisect_right(self._group_ends, first)
    tables = []
    while first < end:
      group_start = self._group_ends[group - 1] if group else 0
      group_stop = min(end, self._group_ends[group])
      table = self._kept_group(group)
      if group_stop - first < len(table):
        # Copied, since a slice would keep all of the group in memory.
        table = table.take(
          pa.array(range(first - group_start, group_stop - group_start))
        )
      tables.append(table)
      first = group_stop
      group += 1
    return self._check(split, pa.concat_tables(tables))

  def load_client(
    self,
    split: str,
    rows: IndexRows,
    place: int,
    *,
    features: 'Mapping[str, tf.TensorSpec]',
  ) -> dict[str, np.ndarray]:
    """Reads a client, but nothing else of its file.

    Args:
      split: The split that `rows` are of.
      rows: Rows of that split, by `read_split` or `read_rows`.
      place: The client's place in `rows`.
      features: The specs of the features to read.

    Returns:
      For each feature a read-only array [n, ...], of `bytes` objects for text.
    """
    # Imported late, with TensorFlow, which writers of an index do not need.
    from fedfish_tff.datasets import examples as examples_lib  # pylint: disable=g-import-not-at-top
    from fedfish_tff.datasets import grouped_examples  # pylint: disable=g-import-not-at-top

    client_id = rows.client_ids[place]
    try:
      record = record_files.read_record(
        self._folder.shard_path(split, int(rows.shard[place])),
        int(rows.offset[place]),
        payload_bytes=int(rows.record_bytes[place]),
      )
    except errors.InputError as error:
      raise errors.InputError(f'Client {client_id!r}: {error}') from error
    examples = grouped_examples.decode_examples(
      record, features, client_id=client_id
    )
    num_examples = examples_lib.count_examples(examples)
    if num_examples != rows.examples[place]:
      raise errors.InputError(
        f'The record of client {client_id!r} must hold {rows.examples[place]} '
        f'example(s), as the index says, got {num_examples}.'
      )
    return examples_lib.validate_examples(examples, client_id=client_id)

  def _read_group(self, group: int) -> pa.Table:
    path = self._folder.index_path
    try:
      # Read rather than memory-mapped: a truncated file then raises an
      # exception.
      with (
        open(path, 'rb', opener=regular_files.opener) as file,
        pq.ParquetFile(
          file, metadata=self._metadata, page_checksum_verification=True
        ) as parquet,
      ):
        table = parquet.read_row_group(group, columns=list(_COLUMNS))
      # Ids of more than two gigabytes in total need offsets of eight bytes.
      for name, kind in (
        ('client_id', pa.large_string()),
        ('split', pa.string()),
      ):
        table = table.set_column(
          table.schema.get_field_index(name), name, table[name].cast(kind)
        )
    except _UNREADABLE as error:
      raise _unreadable_error(path, error) from error
    return table

  def _check(self, split: str, table: pa.Table) -> IndexRows:
    """Returns rows after checking them."""
    path = self._folder.index_path
    for name in ('split', *_NUMBERS):
      if table[name].null_count:
        raise errors.InputError(
          f'The column {name!r} of {path} must have a value for each client, '
          f'got {table[name].null_count} without one.'
        )
    # Imported late: the import takes longer than the rest of the package.
    import pyarrow.compute as pc  # pylint: disable=g-import-not-at-top

    in_split = pc.equal(table['split'], split)
    if not pc.all(in_split).as_py():
      place = pc.index(in_split, False).as_py()
      raise errors.InputError(
        f'The rows of the index {path} must be sorted by split and as many as '
        f'{grouped_folder.DESCRIPTION_FILE} says, got client '
        f'{table["client_id"][place].as_py()!r} of split '
        f'{table["split"][place].as_py()!r} among those of {split!r}.'
      )
    try:
      ids = sorted_ids.SortedIds(_combine(table['client_id']))
    except errors.InputError as error:
      raise errors.InputError(f'Index {path}, split {split}: {error}') from None
    # Wrong numbers are found by the checksums of the records at these offsets.
    numbers = {
      name: table[name].to_numpy().astype(dtype, copy=False)
      for name, dtype in _NUMBERS.items()
    }
    return IndexRows(client_ids=ids, **numbers)


def _check_schema(schema: pa.Schema, path: pathlib.Path) -> None:
  for name in _COLUMNS:
    expected = INDEX_SCHEMA.field(name).type
    found = schema.field(name).type if name in schema.names else None
    if found is not None and pa.types.is_dictionary(found):
      found, expected = found.value_type, pa.string()
    if found != expected and not (
      pa.types.is_string(found or pa.null()) and name == 'split'
    ):
      raise errors.InputError(
        f'The column {name!r} of {path} must have the type {expected}, got '
        f'{found}.'
      )


def _combine(column: pa.ChunkedArray) -> pa.Array:
  """Returns a column as one array."""
  combined = column.combine_chunks()
  if isinstance(combined, pa.ChunkedArray):  # Some releases return it.
    combined = combined.chunk(0)
  return combined


def _unreadable_error(
  path: pathlib.Path, error: Exception
) -> errors.InputError:
  return errors.InputError(
    f'The index of clients {path} must be a complete Parquet file, and cannot '
    f'be read ({errors.first_line(error)}).'
  )
