# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Local values as arrays, for another process."""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import itertools
from typing import Any
from typing import TypeAlias

from fedfish_tff.datasets import batches as batches_lib
from fedfish_tff.execution.packing import packed_sequences
from fedfish_tff.execution.packing import type_leaves

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

# The leaves of a local value. `ClientBatches` are of a client read elsewhere.
Arrays: TypeAlias = list[
  np.ndarray | packed_sequences.PackedSequence | batches_lib.ClientBatches
]


def to_arrays(
  value: Any,
  type_spec: tff.Type,
  pack: Callable[
    [Any, tff.Type, packed_sequences.Roots], packed_sequences.PackedSequence
  ],
  roots: Iterator[packed_sequences.Roots] | None = None,
) -> Arrays:
  """Returns a local value's leaves as arrays.

  Args:
    value: A local value of that type.
    type_spec: The type of the value.
    pack: The function of `sequence_packing.pack_sequence`, or one like it.
    roots: The passes to pack of each sequence, from which those of the value's
      are taken; None for one of each.

  Raises:
    packed_sequences.PackingError: If flat arrays cannot hold a sequence.
  """
  arrays = []
  for leaf, leaf_type in zip(
    type_leaves.flatten(value), type_leaves.leaf_types(type_spec), strict=True
  ):
    if not isinstance(leaf_type, tff.SequenceType):
      arrays.append(type_leaves.to_array(leaf))
      continue
    own = () if roots is None else next(roots)
    is_elsewhere = isinstance(leaf, batches_lib.ClientBatches) and leaf.stored
    arrays.append(leaf if is_elsewhere else pack(leaf, leaf_type.element, own))
  return arrays


def to_value(arrays: Arrays, type_spec: tff.Type) -> Any:
  """Returns the local value with the given leaves."""
  sequences = packed_sequences.PackedSequence, batches_lib.ClientBatches
  leaves = (a if isinstance(a, sequences) else tf.constant(a) for a in arrays)
  return type_leaves.unflatten(leaves, type_spec)


def num_rows(arrays: Sequence[Arrays]) -> int:
  """Returns the rows in a pass over values' sequences, a measure of work."""
  return sum(map(_count_rows, itertools.chain.from_iterable(arrays)))


def num_bytes(arrays: Iterable[Arrays]) -> int:
  """Returns the bytes of values' arrays, without clients read elsewhere."""
  return sum(
    getattr(leaf, 'nbytes', 0) for leaf in itertools.chain.from_iterable(arrays)
  )


def stored_batches(
  columns: Iterable[Sequence[Arrays]],
) -> list[batches_lib.ClientBatches]:
  """Returns the batches of clients that are read elsewhere, in order."""
  return [
    leaf
    for column in columns
    for leaves in column
    for leaf in leaves
    if isinstance(leaf, batches_lib.ClientBatches)
  ]


def _count_rows(leaf: Any) -> int:
  if isinstance(leaf, batches_lib.ClientBatches):
    return leaf.num_rows_hint
  if isinstance(leaf, packed_sequences.PackedSequence):
    rows = sum(layout.num_rows for layout in set(leaf.layouts))
    return rows // leaf.num_passes
  return 0
