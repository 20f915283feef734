# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Local values on their way to another process, as arrays."""

from collections.abc import Iterable
from collections.abc import Sequence
import itertools
from typing import Any
from typing import TypeAlias

from fedfish_tff import datasets
from fedfish_tff.execution.packing import packed_cache
from fedfish_tff.execution.packing import packed_sequences
from fedfish_tff.execution.packing import sequence_packing
from fedfish_tff.execution.packing import type_leaves

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

# The leaves of a local value; a client that is read elsewhere is a reference.
Arrays: TypeAlias = list[
  np.ndarray | packed_sequences.PackedSequence | datasets.ClientReference
]


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
    leaf.reference
    if isinstance(leaf, sequence_packing.ReferencedSequence)
    else cache.pack(leaf, leaf_type.element)
    if isinstance(leaf_type, tff.SequenceType)
    else type_leaves.to_array(leaf)
    for leaf, leaf_type in zip(
      type_leaves.flatten(value), type_leaves.leaf_types(type_spec), strict=True
    )
  ]


def to_value(arrays: Arrays, type_spec: tff.Type) -> Any:
  """Returns the local value of arrays.

  Args:
    arrays: Its leaves.
    type_spec: Its type.
  """
  leaves = (
    _to_leaf(array, leaf_type)
    for array, leaf_type in zip(
      arrays, type_leaves.leaf_types(type_spec), strict=True
    )
  )
  return type_leaves.unflatten(leaves, type_spec)


def num_rows(arrays: Sequence[Arrays]) -> int:
  """Returns how many rows some values' sequences have, for their work.

  Args:
    arrays: The values' leaves.
  """
  return sum(map(_count_rows, itertools.chain.from_iterable(arrays)))


def num_bytes(arrays: Iterable[Arrays]) -> int:
  """Returns the bytes of some values' arrays; references have next to none.

  Args:
    arrays: The values' leaves.
  """
  return sum(
    getattr(leaf, 'nbytes', 0) for leaf in itertools.chain.from_iterable(arrays)
  )


def references(
  columns: Iterable[Sequence[Arrays]],
) -> list[datasets.ClientReference]:
  """Returns the references among clients' values, in order.

  Args:
    columns: For each of some values, the leaves of each client.
  """
  return [
    leaf
    for column in columns
    for leaves in column
    for leaf in leaves
    if isinstance(leaf, datasets.ClientReference)
  ]


def _to_leaf(array: Any, leaf_type: tff.Type) -> Any:
  if isinstance(array, packed_sequences.PackedSequence):
    return array
  if isinstance(array, datasets.ClientReference):
    return sequence_packing.ReferencedSequence(array, leaf_type.element)
  return tf.constant(array)


def _count_rows(leaf: Any) -> int:
  if isinstance(leaf, datasets.ClientReference):
    return leaf.num_rows_hint
  if isinstance(leaf, packed_sequences.PackedSequence):
    return sum(layout.num_rows for layout in leaf.layouts)
  return 0
