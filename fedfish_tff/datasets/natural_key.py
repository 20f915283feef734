# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Partitions of one data set by author or any other key."""

import collections
from typing import Any

from fedfish_tff import errors
from fedfish_tff.datasets import partition_checks

import numpy as np

# The types of keys, in sorting order.
_TYPES = ((bool, np.bool_), (int, np.integer), str, bytes)


def partition_by_key(
  keys: np.ndarray, *, min_examples: int = 1
) -> tuple[tuple[str, ...], list[np.ndarray]]:
  """Makes a client of all examples with the same key, such as their author.

  Args:
    keys: [n], one key per example: integers, booleans, strings or bytes, no two
      of which are the same as text.
    min_examples: The minimal number of examples of a key. Examples of other
      keys are left out; `unassigned_examples` returns them.

  Returns:
    The clients' names, which are the keys as text, in the order of the keys
    (of several types: booleans, integers, strings, bytes); and for each of
    them an array of sorted indices (int64). No index twice.
  """
  if not isinstance(keys, np.ndarray):
    # NumPy would make 1 and '1' the same key.
    keys = np.array(keys, object)
  keys = partition_checks.check_vector(keys, 'keys')
  errors.check_positive_integer('min_examples', min_examples)
  if keys.dtype.kind not in 'iubUSO':
    raise errors.InputError(
      f'The keys to partition by must be integers or strings, got {keys.dtype}.'
    )
  if keys.dtype.kind == 'O':
    names, key_numbers = _number_objects(keys)
  else:
    values, key_numbers = np.unique(keys, return_inverse=True)
    names = [_to_text(value) for value in values.tolist()]
  name, count = collections.Counter(names).most_common(1)[0]
  if count > 1:
    raise errors.InputError(
      f'The keys to partition by must have names of their own, got {count} '
      f'different ones that are {name!r} as text.'
    )
  counts = np.bincount(key_numbers)
  if counts.max() < min_examples:
    raise errors.InputError(
      f'At least one key must have {min_examples} examples (min_examples), got '
      f'{counts.max()} for the most frequent of {len(names)} keys.'
    )
  groups = np.split(
    np.argsort(key_numbers, kind='stable'), np.cumsum(counts)[:-1]
  )
  kept = [
    (name, group)
    for name, group in zip(names, groups, strict=True)
    if len(group) >= min_examples
  ]
  return tuple(name for name, _ in kept), [indices for _, indices in kept]


def _number_objects(keys: np.ndarray) -> tuple[list[str], np.ndarray]:
  """Returns all keys as text, in order, and the number of each example's key.

  A common type for all keys is not used: strings would all be as wide as the
  longest.
  """
  typed = [(_type_rank(key), key) for key in keys.tolist()]
  ordered = sorted(set(typed))
  numbers = {key: number for number, key in enumerate(ordered)}
  return (
    [_to_text(key) for _, key in ordered],
    np.array([numbers[key] for key in typed], np.int64),
  )


def _type_rank(key: Any) -> int:
  """Returns the rank of a key's type; True is not 1, and text not bytes."""
  for rank, types in enumerate(_TYPES):
    if isinstance(key, types):
      return rank
  raise errors.InputError(
    f'The keys to partition by must be integers or strings, got {key!r}.'
  )


def _to_text(key: bool | int | str | bytes) -> str:
  """Returns a key as text, with bytes that are not UTF-8 as escapes."""
  if isinstance(key, bytes):
    return key.decode('utf-8', errors='backslashreplace')
  return str(key)
