# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The work of both grouping engines: reading parts and writing shards."""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
import itertools
import posixpath
from typing import NamedTuple

from fedfish_tff import errors
from fedfish_tff.datasets.grouping import client_splits
from fedfish_tff.datasets.grouping import record_counts
from fedfish_tff.datasets.grouping import sources

import numpy as np
import pyarrow as pa

# The limit of Dataset Grouper's `MergeWithLimitFn`. An example that no longer
# fits into a client's record is left out.
_MAX_CLIENT_BYTES = 2 * 10**9
# The maximal size that a record needs for an example besides its bytes.
_EXAMPLE_OVERHEAD = 24


@dataclasses.dataclass(frozen=True, kw_only=True)
class GroupingOptions:
  """Options of grouping.

  Attributes:
    splits: The division of clients.
    min_examples: The minimal number of examples per client. Other clients are
      left out.
    num_shards: The number of files, unless a split needs one more; None for
      files of about 256 MiB.
    max_bad_fraction: The maximal share of bad records. Grouping fails as soon
      as a larger share of all records, estimated from the size that has been
      read, cannot be used.
  """

  splits: client_splits.ClientSplits = client_splits.ClientSplits()
  min_examples: int = 1
  num_shards: int | None = None
  max_bad_fraction: float = 0.01

  def __post_init__(self) -> None:
    errors.check_positive_integer('min_examples', self.min_examples)
    if self.num_shards is not None:
      errors.check_positive_integer('num_shards', self.num_shards)
    errors.check_range(
      'max_bad_fraction', self.max_bad_fraction, least=0, most=1
    )


class Row(NamedTuple):
  """An example that is not yet grouped.

  Rows of a bucket, sorted, are in the order in which they are written.

  Attributes:
    bucket: The bucket of the client.
    client_id: The client's id, by which rows of a bucket are sorted.
    part: The number of the part of the source.
    position: The example's place in the part.
    words: The example's number of words.
    example: The example's bytes.
  """

  bucket: int
  client_id: str
  part: int
  position: int
  words: int
  example: bytes


@dataclasses.dataclass(frozen=True, kw_only=True)
class Client:
  """A client to write.

  Attributes:
    client_id: The id, of which there is one client.
    sizes: The bytes of its examples, int64 [n].
    words: The words of its examples, int64 [n].
    examples: Its n examples, which are read while they are written.
  """

  client_id: str
  sizes: np.ndarray
  words: np.ndarray
  examples: Iterable[bytes]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Work:
  """Everything that a worker needs.

  Attributes:
    source: The source, which each worker reads.
    placement: The place of each client.
    options: The options of grouping.
    total_size: The size of the source, in its unit.
    folder: The folder of shards; it may be a URL for tf.io.gfile.
  """

  source: sources.Source
  placement: client_splits.Placement
  options: GroupingOptions
  total_size: int
  folder: str

  def shard_path(self, shard: client_splits.Shard) -> str:
    """Returns the path of a shard."""
    return posixpath.join(self.folder, shard.file_name)

  def read(
    self, parts: Sequence[sources.Part], counts: record_counts.RecordCounts
  ) -> Iterator[Row]:
    """Yields the examples of parts, unless too many records are bad.

    Args:
      parts: Some of the source's parts, in order.
      counts: The counts, to which the records are added.
    """
    # Imported late, with TensorFlow.
    from fedfish_tff.datasets import grouped_examples  # pylint: disable=g-import-not-at-top

    def progress(amount: int) -> None:
      counts.size += amount

    features = self.source.features
    for part in parts:
      end = counts.size + part.size
      for number, item in enumerate(self.source.read(part, progress)):
        if isinstance(item, sources.Skipped):
          where = [part.number, number, item.where]
          counts.add(item.kind, item.count, [where])
          counts.check(
            self.options.max_bad_fraction, total_size=self.total_size
          )
          continue
        counts.examples += 1
        yield Row(
          self.placement.bucket_of(item.client_id),
          item.client_id,
          part.number,
          number,
          grouped_examples.count_words(item.values, features),
          grouped_examples.encode_example(item.values, features),
        )
      counts.size = end

  def write_shard(
    self, shard: client_splits.Shard, clients: Iterable[Client]
  ) -> record_counts.RecordCounts:
    """Writes a shard, and returns the counts of what it leaves out.

    Args:
      shard: The shard's split, number and buckets.
      clients: The clients of the shard, in the order of the file.
    """
    # Imported late, with TensorFlow, which reading does not need.
    from fedfish_tff.datasets import client_files  # pylint: disable=g-import-not-at-top

    counts = record_counts.RecordCounts()
    with client_files.ClientFile(self.shard_path(shard)) as file:
      for client in clients:
        kept = _keep(client, self.options.min_examples, counts)
        if kept.any():
          file.write(
            client.client_id,
            itertools.compress(client.examples, kept),
            sizes=client.sizes[kept],
            words=int(client.words[kept].sum()),
          )
    return counts

  def read_index(self, shard: client_splits.Shard) -> pa.Table:
    """Returns the index of a shard, made from its file."""
    from fedfish_tff.datasets import client_files  # pylint: disable=g-import-not-at-top

    return client_files.read_index(
      self.shard_path(shard), shard.split, shard.number
    )


def _keep(
  client: Client, min_examples: int, counts: record_counts.RecordCounts
) -> np.ndarray:
  """Returns whether to write each example, bool [n], and counts the others."""
  kept = np.ones(len(client.sizes), bool)
  if len(kept) < min_examples:
    counts.small_clients += 1
    counts.add('too_few_examples', len(kept), [])
    return ~kept
  sizes = client.sizes + _EXAMPLE_OVERHEAD
  if sizes.sum() < _MAX_CLIENT_BYTES:
    return kept
  # A smaller example may still fit where one did not.
  filled = 0
  for place, size in enumerate(sizes):
    kept[place] = filled + size < _MAX_CLIENT_BYTES
    filled += size * kept[place]
  counts.add(
    'beyond_client_limit',
    int((~kept).sum()),
    [[0, 0, client.client_id]],
  )
  return kept
