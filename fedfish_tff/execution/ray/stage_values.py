# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Local values on their way to another process, as arrays."""

from collections.abc import Sequence
from typing import Any
from typing import TypeAlias

from fedfish_tff.execution.packing import packed_cache
from fedfish_tff.execution.packing import packed_sequences
from fedfish_tff.execution.packing import structures

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

# The leaves of a local value.
Arrays: TypeAlias = list[np.ndarray | packed_sequences.PackedSequence]


def to_arrays(
  value: Any, type_spec: tff.Type, cache: packed_cache.PackedSequenceCache
) -> Arrays:
  """Returns a local value's leaves as arrays.

  Args:
    value: The value.
    type_spec: Its type.
    cache: Keeps datasets that were packed.

  Raises:
    packed_sequences.PackingError: If a sequence is no flat arrays.
  """
  return [
    cache.pack(leaf, leaf_type.element)
    if isinstance(leaf_type, tff.SequenceType)
    # NumPy's own strings would lose NUL bytes at their end.
    else np.asarray(leaf, object if leaf_type.dtype.type is np.str_ else None)
    for leaf, leaf_type in zip(
      structures.flatten(value), structures.leaf_types(type_spec), strict=True
    )
  ]


def to_value(arrays: Arrays, type_spec: tff.Type) -> Any:
  """Returns the local value of arrays.

  Args:
    arrays: Its leaves.
    type_spec: Its type.
  """
  leaves = (
    array
    if isinstance(array, packed_sequences.PackedSequence)
    else tf.constant(array)
    for array in arrays
  )
  return structures.unflatten(leaves, type_spec)


def num_rows(arrays: Sequence[Arrays]) -> int:
  """Returns how many rows some values' sequences have, for their work.

  Args:
    arrays: The values' leaves.
  """
  return sum(
    layout.num_rows
    for leaves in arrays
    for leaf in leaves
    if isinstance(leaf, packed_sequences.PackedSequence)
    for layout in leaf.layouts
  )
