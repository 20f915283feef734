# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""From the examples of some buckets to one file of clients and its index."""

from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
import os
import pathlib

from fedfish_tff import new_files
from fedfish_tff.datasets import client_index
from fedfish_tff.datasets import record_files
from fedfish_tff.datasets import wire_format
from fedfish_tff.datasets.grouping import client_splits
from fedfish_tff.datasets.grouping import spilled_runs

import numpy as np
import pyarrow as pa
from pyarrow import parquet

# The most that a record needs for an example besides its bytes.
_EXAMPLE_OVERHEAD = 24


@dataclasses.dataclass(frozen=True, kw_only=True)
class ShardLimits:
  """Which clients and examples are left out.

  Attributes:
    min_examples: Clients with fewer examples are left out.
    max_client_bytes: A record of TensorFlow holds 2 GB at most, and Dataset
      Grouper's 2 x 10^9 bytes. Of a client with more, what comes first is
      taken.
  """

  min_examples: int = 1
  max_client_bytes: int = 2 * 10**9


@dataclasses.dataclass(kw_only=True)
class ShardReport:
  """What a shard left out.

  Attributes:
    small_clients: Clients with too few examples.
    small_client_examples: Their examples.
    excess_examples: Examples that did not fit into the records of their
      clients.
    large_clients: The clients of these.
  """

  small_clients: int = 0
  small_client_examples: int = 0
  excess_examples: int = 0
  large_clients: list[str] = dataclasses.field(default_factory=list)


def write_shard(
  shard: client_splits.Shard,
  *,
  runs: Sequence[str | os.PathLike[str]],
  num_buckets: int,
  limits: ShardLimits,
  folder: str | os.PathLike[str],
  index_folder: str | os.PathLike[str],
) -> ShardReport:
  """Writes a shard, bucket after bucket, clients in the order of their ids.

  Args:
    shard: The shard.
    runs: All runs.
    num_buckets: The number of buckets of all shards.
    limits: What is left out.
    folder: Where to write the shard, under its own name.
    index_folder: Where to write its part of the index, '<shard>.parquet'.

  Returns:
    What was left out.

  Raises:
    OSError: If a file cannot be read or written.
  """
  report = ShardReport()
  rows = {name: [] for name in client_index.INDEX_SCHEMA.names}
  path = pathlib.Path(folder) / shard.file_name
  index = pathlib.Path(index_folder) / f'{shard.file_name}.parquet'
  # Another worker may be at the same shard; the last one leaves the same files.
  temporary = new_files.temporary_path(path)
  with record_files.RecordWriter(temporary) as writer:
    for bucket in shard.buckets:
      with spilled_runs.Bucket(
        runs, bucket, num_buckets=num_buckets
      ) as examples:
        for client_id, found in examples.clients():
          kept = _keep(client_id, found, limits, report)
          if not len(kept):
            continue
          num_bytes, pieces = _record(kept, examples)
          values = (
            client_id.decode(),
            shard.split,
            shard.number,
            writer.write_pieces(pieces, num_bytes),
            num_bytes,
            len(kept),
            int(kept['words'].sum()),
          )
          for name, value in zip(rows, values, strict=True):
            rows[name].append(value)
  table = pa.table(rows, schema=client_index.INDEX_SCHEMA)
  os.replace(temporary, path)
  with new_files.new_file(index) as file:
    parquet.write_table(table, file)
  return report


def _keep(
  client_id: bytes,
  found: np.ndarray,
  limits: ShardLimits,
  report: ShardReport,
) -> np.ndarray:
  """Returns the examples of a client that are written, and reports the rest."""
  if len(found) < limits.min_examples:
    report.small_clients += 1
    report.small_client_examples += len(found)
    return found[:0]
  total = np.cumsum(found['num_bytes'] + np.uint64(_EXAMPLE_OVERHEAD))
  limit = np.uint64(limits.max_client_bytes)
  kept = found[: np.searchsorted(total, limit, side='right')]
  if len(kept) < len(found):
    report.excess_examples += len(found) - len(kept)
    report.large_clients.append(client_id.decode())
  return kept


def _record(
  kept: np.ndarray, examples: spilled_runs.Bucket
) -> tuple[int, Iterator[bytes]]:
  """Returns the bytes of a client's record, and the record piece by piece."""
  sizes, counts = np.unique(kept['num_bytes'], return_counts=True)
  total = sum(
    count * (size + len(wire_format.example_header(size)))
    for size, count in zip(sizes.tolist(), counts.tolist())
  )
  header = wire_format.record_header(total)

  def pieces() -> Iterator[bytes]:
    yield header
    for example in examples.read(kept):
      yield wire_format.example_header(len(example))
      yield example

  return len(header) + total, pieces()
