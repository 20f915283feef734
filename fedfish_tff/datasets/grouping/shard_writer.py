# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""From the examples of some buckets to one file of clients and its index."""

from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses
import os
import pathlib
import uuid

from fedfish_tff.datasets import client_index
from fedfish_tff.datasets import record_files
from fedfish_tff.datasets.grouping import client_splits
from fedfish_tff.datasets.grouping import spilled_runs

import dataset_grouper
import pyarrow as pa
from pyarrow import parquet
import tensorflow as tf

# The most that a record needs for an example besides its bytes.
_EXAMPLE_OVERHEAD = 24


@dataclasses.dataclass(frozen=True, kw_only=True)
class ShardLimits:
  """Which clients and examples are left out.

  Attributes:
    min_examples: Clients with fewer examples are left out.
    max_client_bytes: A record of TensorFlow holds 2 GB at most. Of a client
      with more, what comes first is taken.
  """

  min_examples: int = 1
  max_client_bytes: int = dataset_grouper.beam.BYTES_LIMIT


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


@dataclasses.dataclass
class _Client:
  """The examples of a client that fit into its record."""

  examples: list[spilled_runs.SpilledExample] = dataclasses.field(
    default_factory=list
  )
  num_bytes: int = 0
  excess: int = 0
  cut: tuple[int, int] | None = None

  def add(self, example: spilled_runs.SpilledExample, limit: int) -> None:
    if self.cut is not None and example.order >= self.cut:
      self.excess += 1
      return
    self.examples.append(example)
    self.num_bytes += len(example.serialized) + _EXAMPLE_OVERHEAD
    # Seldom, for it sorts; and yet no client takes all memory.
    if self.num_bytes > 2 * limit:
      self.fit(limit)

  def fit(self, limit: int) -> None:
    """Sorts the examples, and drops those from the first that is too much."""
    self.examples.sort(key=lambda example: example.order)
    if self.num_bytes <= limit:
      return
    total = 0
    for i, example in enumerate(self.examples):
      size = len(example.serialized) + _EXAMPLE_OVERHEAD
      if total + size > limit:
        self.excess += len(self.examples) - i
        self.cut = example.order
        del self.examples[i:]
        break
      total += size
    self.num_bytes = total


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
    tf.errors.OpError: If the shard cannot be written.
  """
  report = ShardReport()
  rows = {name: [] for name in client_index.INDEX_SCHEMA.names}
  offset = 0
  path = pathlib.Path(folder) / shard.file_name
  index = pathlib.Path(index_folder) / f'{shard.file_name}.parquet'
  # Another worker may be at the same shard; the last one leaves the same files.
  suffix = f'.{uuid.uuid4().hex}.partial'
  temporary, temporary_index = (
    other.with_name(other.name + suffix) for other in (path, index)
  )
  with tf.io.TFRecordWriter(os.fspath(temporary)) as writer:
    for bucket in shard.buckets:
      examples = spilled_runs.read_bucket(runs, bucket, num_buckets=num_buckets)
      clients = _group(examples, limits, report)
      for client_id in sorted(clients):
        kept = clients.pop(client_id).examples
        record = dataset_grouper.serialization.create_sequence_example(
          [example.serialized for example in kept]
        ).SerializeToString()
        writer.write(record)
        values = (
          client_id.decode(),
          shard.split,
          shard.number,
          offset,
          len(record),
          len(kept),
          sum(example.words for example in kept),
        )
        for name, value in zip(rows, values, strict=True):
          rows[name].append(value)
        offset += len(record) + record_files.RECORD_OVERHEAD
  table = pa.table(rows, schema=client_index.INDEX_SCHEMA)
  parquet.write_table(table, temporary_index)
  for written, name in ((temporary, path), (temporary_index, index)):
    with open(written, 'rb') as file:
      os.fsync(file.fileno())
    os.replace(written, name)
  return report


def _group(
  examples: Iterable[spilled_runs.SpilledExample],
  limits: ShardLimits,
  report: ShardReport,
) -> dict[bytes, _Client]:
  """Returns the clients that are written, and reports the rest."""
  clients = {}
  for example in examples:
    client = clients.get(example.client_id)
    if client is None:
      client = clients[example.client_id] = _Client()
    client.add(example, limits.max_client_bytes)
  for client_id, client in list(clients.items()):
    total = len(client.examples) + client.excess
    client.fit(limits.max_client_bytes)
    if total < limits.min_examples:
      report.small_clients += 1
      report.small_client_examples += total
      del clients[client_id]
      continue
    if client.excess:
      report.excess_examples += client.excess
      report.large_clients.append(client_id.decode())
    if not client.examples:
      del clients[client_id]
  return clients
