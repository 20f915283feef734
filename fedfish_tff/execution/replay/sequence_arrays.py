# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Packed sequences on their way into a graph: arrays there, elements here."""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from typing import Any
from typing import TypeAlias

from fedfish_tff.execution.packing import packed_sequences
from fedfish_tff.execution.replay import sequence_replay

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

# The rows an element takes in each layout; None where it is one row.
_Sizes: TypeAlias = tuple[int | None, ...]


@dataclasses.dataclass(frozen=True)
class Cut:
  """How arrays are cut into elements, as far as a graph depends on it.

  Attributes:
    leaf_layouts: The number of each leaf's layout.
    kinds: The kind of each layout.
    sizes: The sizes that elements have, if shapes must be static; else None.
  """

  leaf_layouts: tuple[int, ...]
  kinds: tuple[str, ...]
  sizes: tuple[_Sizes, ...] | None


def to_graph_arrays(
  arrays: packed_sequences.CohortArrays, *, static_shapes: bool = False
) -> tuple[Cut, dict[str, Any]]:
  """Returns the arrays of a cohort in the form that a graph takes.

  Args:
    arrays: The arrays.
    static_shapes: Whether the graph is compiled for the shapes of its
      arguments, as XLA does. Arrays are then padded to powers of two, so that
      few shapes occur, and the sizes of batches become part of the cut.

  Returns:
    The cut, and a nest of arrays.
  """
  layouts = [
    [layout.plan]
    if layout.starts is None
    else [
      layout.plan,
      np.stack([layout.starts, layout.sizes], axis=1)[:, :, np.newaxis],
    ]
    for layout in arrays.layouts
  ]
  nest = dict(
    leaves=list(arrays.leaves),
    layouts=layouts,
    first_element=arrays.first_element,
    num_elements=arrays.num_elements,
  )
  sizes = None
  if static_shapes:
    sizes, nest['choices'] = _distinct_sizes(arrays)
    for name in ('leaves', 'layouts', 'choices'):
      nest[name] = tf.nest.map_structure(_pad, nest[name])
  kinds = tuple(layout.kind for layout in arrays.layouts)
  return Cut(arrays.leaf_layouts, kinds, sizes), nest


def _distinct_sizes(
  arrays: packed_sequences.CohortArrays,
) -> tuple[tuple[_Sizes, ...], np.ndarray]:
  """Returns the sizes that elements have, and which each element has."""
  num_elements = int(np.sum(arrays.num_elements))
  table = np.stack(
    [
      np.full(num_elements, -1) if layout.sizes is None else layout.sizes
      for layout in arrays.layouts
    ],
    axis=1,
  )
  distinct, choices = np.unique(table, axis=0, return_inverse=True)
  sizes = tuple(
    tuple(None if size < 0 else int(size) for size in row) for row in distinct
  )
  if not sizes:  # No elements: the loop needs a body all the same.
    sizes = (
      tuple(None if layout.sizes is None else 0 for layout in arrays.layouts),
    )
  return sizes, choices.reshape(-1).astype(np.int32)


def _pad(array: np.ndarray) -> np.ndarray:
  """Returns an array with rows of zeros up to a power of two."""
  length = 1 << max(0, len(array) - 1).bit_length()
  padding = [(0, length - len(array))] + [(0, 0)] * (array.ndim - 1)
  return np.pad(array, padding)


def client_sequence(
  cut: Cut,
  arrays: Mapping[str, Any],
  element_type: tff.Type,
  client: tf.Tensor,
) -> sequence_replay.Sequence:
  """Returns one client's sequence within a graph.

  Args:
    cut: How the arrays are cut into elements.
    arrays: The nest of `to_graph_arrays`, as tensors.
    element_type: The elements' TFF type.
    client: int32, the client's position among those in the arrays.
  """
  order = packed_sequences.dataset_order(element_type)
  first_element = tf.gather(arrays['first_element'], client)

  def rows(
    number: tf.Tensor, layout: Sequence[tf.Tensor], size: int | None
  ) -> tf.Tensor:
    plan, *bounds = layout
    if not bounds:
      return tf.gather(plan, number)
    start, dynamic_size = tf.unstack(tf.gather(bounds[0], number))
    return tf.slice(plan, start, dynamic_size if size is None else [size])

  def element_of(sizes: _Sizes) -> Callable[[tf.Tensor], list[tf.Tensor]]:
    def element(i: tf.Tensor) -> list[tf.Tensor]:
      number = first_element + i
      rows_of = [
        rows(number, layout, size)
        for layout, size in zip(arrays['layouts'], sizes, strict=True)
      ]
      leaves = arrays['leaves']
      return [tf.gather(leaves[j], rows_of[cut.leaf_layouts[j]]) for j in order]

    return element

  sizes = cut.sizes or ((None,) * len(cut.kinds),)
  choose = None
  if len(sizes) > 1:

    def choose(i: tf.Tensor) -> tf.Tensor:
      return tf.gather(arrays['choices'], first_element + i)

  return sequence_replay.Sequence(
    tf.gather(arrays['num_elements'], client),
    tuple(map(element_of, sizes)),
    choose,
    order=order,
  )
