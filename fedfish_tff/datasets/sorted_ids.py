# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Millions of client ids in one array instead of as many Python strings."""

import bisect
from collections.abc import Iterator
from collections.abc import Sequence
from typing import Any

from fedfish_tff import errors

import pyarrow as pa

_IDS_AT_A_TIME = 4096


class SortedIds(Sequence[str]):
  """Sorted, unique ids in an Arrow array; strings are created on access.

  An id takes its own bytes and eight more. It is found by bisection.
  """

  def __init__(self, ids: pa.Array) -> None:
    """Checks the order.

    Args:
      ids: Strings in ascending order (of code points, as Python's) and unique,
        of the type `pa.large_string()`.
    """
    if ids.null_count:
      raise errors.InputError(
        f'Each client id must be a string, got {ids.null_count} of {len(ids)} '
        'missing.'
      )
    # Imported late: the import takes longer than the rest of the package.
    import pyarrow.compute as pc  # pylint: disable=g-import-not-at-top

    in_order = pc.less(ids[:-1], ids[1:])
    if pc.all(in_order).as_py() is False:
      place = pc.index(in_order, False).as_py()
      raise errors.InputError(
        'The client ids must be sorted without repetition, got '
        f'{ids[place + 1].as_py()!r} after {ids[place].as_py()!r}.'
      )
    self._ids = ids

  def __len__(self) -> int:
    return len(self._ids)

  def __getitem__(self, key: int | slice) -> Any:
    if not isinstance(key, slice):
      return self._ids[key].as_py()
    start, stop, step = key.indices(len(self))
    if step != 1:
      return tuple(self[i] for i in range(start, stop, step))
    part = SortedIds.__new__(SortedIds)  # The order is already checked.
    part._ids = self._ids[start : max(start, stop)]
    return part

  def __iter__(self) -> Iterator[str]:
    for start in range(0, len(self), _IDS_AT_A_TIME):
      yield from self._ids[start : start + _IDS_AT_A_TIME].to_pylist()

  def __contains__(self, value: Any) -> bool:
    return self.find(value) is not None

  def find(self, value: Any) -> int | None:
    """Returns the place of an id, or None if it is missing."""
    if not isinstance(value, str):
      return None
    place = bisect.bisect_left(self, value)
    return place if place < len(self) and self[place] == value else None

  def __repr__(self) -> str:
    shown = ', '.join(map(repr, self[:3]))
    return f'SortedIds([{shown}{", ..." if len(self) > 3 else ""}])'

  @property
  def nbytes(self) -> int:
    """The bytes that the ids occupy."""
    return self._ids.nbytes


def contains_id(sorted_ids: Sequence[str], client_id: str) -> bool:
  """Returns whether an id is in a sorted sequence, by bisection."""
  place = bisect.bisect_left(sorted_ids, client_id)
  return place < len(sorted_ids) and sorted_ids[place] == client_id
