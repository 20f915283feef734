# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Counts of the records of a source: examples, and bad records by kind."""

import dataclasses

from fedfish_tff import errors

# The minimal number of records to estimate the number of all from.
_FEWEST_RECORDS = 100
# The maximal number of skipped records named per kind.
_MOST_NAMED = 20


@dataclasses.dataclass
class RecordCounts:
  """The records of some parts of a source, or left out of some shards.

  Attributes:
    examples: The number of records that are examples.
    size: The size of what has been read, in the source's unit.
    skipped: The number of records left out by kind.
    named: Some of these records by kind: part, number in the part, name.
    small_clients: The number of clients with too few examples.
  """

  examples: int = 0
  size: int = 0
  skipped: dict[str, int] = dataclasses.field(default_factory=dict)
  named: dict[str, list[list]] = dataclasses.field(default_factory=dict)
  small_clients: int = 0

  def merge(self, other: 'RecordCounts') -> None:
    """Adds other counts to these."""
    self.examples += other.examples
    self.size += other.size
    self.small_clients += other.small_clients
    for kind, count in other.skipped.items():
      self.add(kind, count, other.named.get(kind, []))

  def add(self, kind: str, count: int, named: list[list]) -> None:
    """Counts records that are left out.

    Args:
      kind: The reason, such as 'missing_url'.
      count: The number of records.
      named: Some of them, in order, as in `named`.
    """
    self.skipped[kind] = self.skipped.get(kind, 0) + count
    known = self.named.get(kind, [])
    # Records of one part come in order.
    if named and (len(known) < _MOST_NAMED or named[0] < known[-1]):
      self.named[kind] = sorted(known + named)[:_MOST_NAMED]

  def names(self) -> dict[str, list[str]]:
    """Returns the names of bad records by kind, in the source's order."""
    return {
      kind: [name for *_, name in named] for kind, named in self.named.items()
    }

  def check(self, max_bad_fraction: float, *, total_size: int | None) -> None:
    """Checks that not too many records are bad, even if all others are good.

    The number of all records is estimated from the size that has been read. It
    is at least the number of records read.

    Args:
      max_bad_fraction: The share of all records that may be bad.
      total_size: The size of the source; None if all of it has been read.
    """
    bad = sum(self.skipped.values())
    known = expected = bad + self.examples
    if total_size is not None:
      if known < _FEWEST_RECORDS:
        return
      expected = max(known, known * total_size / max(self.size, 1))
    elif not known:
      raise errors.InputError('The input must have records, got none.')
    if bad <= max_bad_fraction * expected:
      return
    kinds = ', '.join(
      f'{count:,} {kind} (such as {self.named[kind][0][-1]})'
      for kind, count in sorted(self.skipped.items())
    )
    raise errors.InputError(
      f'{bad:,} of {known:,} records read cannot be used: {kinds}; at most '
      f'{max_bad_fraction:.2%} of all (max_bad_fraction) may be such; with a '
      'larger one, the same goes on from what was read.'
    )
