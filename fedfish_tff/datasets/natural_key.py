# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Divides one data set by who made each example, or any other key."""

from fedfish_tff import errors
from fedfish_tff.datasets import partition_checks

import numpy as np


def partition_by_key(
  keys: np.ndarray, *, min_examples: int = 1
) -> tuple[tuple[str, ...], list[np.ndarray]]:
  """Makes a client of all examples with the same key, such as their author.

  Args:
    keys: [n], one key per example: integers, booleans, strings or bytes.
    min_examples: Keys with fewer examples are left out (see
      `unassigned_examples`).

  Returns:
    The clients' names, which are the keys as text, in the order of the keys;
    and for each of them an array of sorted indices (int64). No index twice.

  Raises:
    errors.InputError: If `keys` is no vector of such values, `min_examples` is
      not positive, or no key has as many examples.
  """
  keys = partition_checks.check_labels(keys, 'keys')
  partition_checks.check_positive_integer('min_examples', min_examples)
  if keys.dtype.kind == 'O':
    # Objects again: a fixed width for all would be that of the longest.
    keys = np.array([_to_text(key) for key in keys], object)
  if keys.dtype.kind not in 'iubUSO':
    raise errors.InputError(
      f'The keys to partition by are of type {keys.dtype}; integers or strings '
      'were expected.'
    )
  values, key_numbers, counts = np.unique(
    keys, return_inverse=True, return_counts=True
  )
  if counts.max() < min_examples:
    raise errors.InputError(
      f'The most frequent of {len(values)} keys has {counts.max()} examples; '
      f'at least {min_examples} (min_examples) were expected.'
    )
  groups = np.split(
    np.argsort(key_numbers, kind='stable'), np.cumsum(counts)[:-1]
  )
  kept = [
    (_to_text(value), group)
    for value, group in zip(values.tolist(), groups, strict=True)
    if len(group) >= min_examples
  ]
  return tuple(name for name, _ in kept), [indices for _, indices in kept]


def _to_text(key: str | bytes | int) -> str:
  """Returns a key as text; bytes that are no UTF-8 as escapes."""
  if isinstance(key, bytes):
    return key.decode('utf-8', errors='backslashreplace')
  if isinstance(key, (str, int, np.integer)):
    return str(key)
  raise errors.InputError(
    f'The keys to partition by hold {key!r}; integers or strings were expected.'
  )
