# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The places of clients in grouped files, by a stable hash of their ids."""

from collections.abc import Mapping
import dataclasses
import hashlib

from fedfish_tff import errors
from fedfish_tff.datasets import grouped_folder

TRAIN = 'train'
VALIDATION = 'validation'
HELD_OUT = 'held_out'


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClientSplits:
  """A division of clients that does not depend on the other clients.

  The first 8 bytes of SHA-256 of '<seed>:<client id>', as a big-endian integer,
  divided by 2^64, are a number in [0, 1). The lowest numbers are validation
  clients, the next ones held-out clients, the others training clients.

  Attributes:
    validation_fraction: The share of clients for validation.
    held_out_fraction: The share of held-out clients, for tests.
    seed: The seed. Another one divides clients in another way.
  """

  validation_fraction: float = 0.0
  held_out_fraction: float = 0.0
  seed: int = 0

  def __post_init__(self) -> None:
    for name in ('validation_fraction', 'held_out_fraction'):
      errors.check_range(name, getattr(self, name), least=0, below=1)
    if self.validation_fraction + self.held_out_fraction >= 1:
      raise errors.InputError(
        'validation_fraction and held_out_fraction must leave clients to train, '
        f'got {self.validation_fraction} and {self.held_out_fraction}.'
      )

  @property
  def fractions(self) -> dict[str, float]:
    """The shares of clients of the splits that are not empty."""
    fractions = {
      TRAIN: 1 - (self.validation_fraction + self.held_out_fraction),
      VALIDATION: self.validation_fraction,
      HELD_OUT: self.held_out_fraction,
    }
    return {name: value for name, value in fractions.items() if value > 0}

  def place(self, client_id: str) -> tuple[str, bytes]:
    """Returns a client's split, and the SHA-256 that decides its place."""
    digest = hashlib.sha256(f'{self.seed}:{client_id}'.encode()).digest()
    fraction = int.from_bytes(digest[:8], 'big') / 2**64
    if fraction < self.validation_fraction:
      return VALIDATION, digest
    if fraction < self.validation_fraction + self.held_out_fraction:
      return HELD_OUT, digest
    return TRAIN, digest


@dataclasses.dataclass(frozen=True, kw_only=True)
class Shard:
  """One file of clients.

  Attributes:
    split: The name of the split of its clients.
    number: Its number among the shards of the split.
    of: The number of shards of the split.
    buckets: Its buckets, in the order of its clients.
  """

  split: str
  number: int
  of: int
  buckets: range

  @property
  def file_name(self) -> str:
    return grouped_folder.shard_name(self.split, self.number, self.of)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Placement:
  """A distribution of splits' clients over shards, and of shards over buckets.

  A bucket is grouped at a time: all examples of some clients.

  Attributes:
    splits: The division of clients.
    shards_of: The number of shards of each split.
    buckets_per_shard: The number of buckets of each shard.
  """

  splits: ClientSplits
  shards_of: Mapping[str, int]
  buckets_per_shard: int

  @property
  def num_buckets(self) -> int:
    return sum(self.shards_of.values()) * self.buckets_per_shard

  def shards(self) -> list[Shard]:
    """Returns all shards, in the order of their buckets."""
    shards = []
    for split, count in self.shards_of.items():
      for number in range(count):
        first = len(shards) * self.buckets_per_shard
        buckets = range(first, first + self.buckets_per_shard)
        shards.append(
          Shard(split=split, number=number, of=count, buckets=buckets)
        )
    return shards

  def bucket_of(self, client_id: str) -> int:
    """Returns the bucket of a client."""
    split, digest = self.splits.place(client_id)
    shard = int.from_bytes(digest[8:16], 'big') % self.shards_of[split]
    for other, count in self.shards_of.items():
      if other == split:
        break
      shard += count
    bucket = int.from_bytes(digest[16:24], 'big') % self.buckets_per_shard
    return shard * self.buckets_per_shard + bucket


def plan_placement(
  splits: ClientSplits,
  *,
  num_shards: int,
  total_bytes: int,
  bucket_bytes: int,
) -> Placement:
  """Returns a placement with buckets of about equal size.

  Args:
    splits: The division of clients.
    num_shards: The number of shards if all data were in one split. Each split
      gets its share of them, at least one.
    total_bytes: The approximate size of the data.
    bucket_bytes: The maximal size of a bucket.
  """
  shards_of = {
    split: max(1, round(fraction * num_shards))
    for split, fraction in splits.fractions.items()
  }
  needed = -(-total_bytes // bucket_bytes)
  return Placement(
    splits=splits,
    shards_of=shards_of,
    buckets_per_shard=max(1, -(-needed // sum(shards_of.values()))),
  )
