# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A client's sequence as flat arrays, from which a loop gathers elements.

Each leaf of a sequence's elements becomes one array of rows, and a layout maps
elements to rows. A plan of row numbers orders the rows. A batch, of shape
[None, ...], takes a run of the plan, so that the batches of a `ClientBatches`
are a view on its arrays. An element of a static shape takes one row.

`sequence_packing` makes packed sequences; `sequence_arrays` loops over them.
"""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools
import math
from typing import Any
from typing import NamedTuple
from typing import TypeAlias

from fedfish_tff.execution.packing import type_leaves

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

# Tensors of the processor begin at multiples of so many bytes.
_ALIGNMENT = 64

# The reason why a sequence of one pass does not suffice.
ONE_PASS = 'further passes over a dataset that each pass draws or shuffles anew'


class Root(NamedTuple):
  """An iterator over a sequence, or over repetitions of it.

  Attributes:
    reader: The number of its reader. For each reader the sequence begins anew.
    times: The number of its passes over the sequence.
    is_whole: Whether it goes to the end.
  """

  reader: int
  times: int
  is_whole: bool


Roots: TypeAlias = tuple[Root, ...]


class PackingError(ValueError):
  """Error for a sequence that does not pack, and so is run as a dataset."""


class FewPassesError(PackingError):
  """Error for a sequence with other packed passes than a graph makes.

  Attributes:
    roots: The passes to pack of each sequence of the graph's client inputs, by
      its number; None if no arrays can hold them.
  """

  def __init__(self, roots: Mapping[int, Roots | None]):
    super().__init__(roots)
    self.roots = roots

  def __str__(self) -> str:
    return ONE_PASS


@dataclasses.dataclass(frozen=True, eq=False)
class Layout:
  """The map from elements to a leaf's rows.

  With `bounds`, element e is leaf[plan[start : start + size]], a batch, where
  (start, size) = bounds[e]. Without `bounds`, element e is leaf[plan[e]].

  Attributes:
    plan: The numbers of rows, int64 [R] or [E].
    bounds: Each batch's first position in `plan` and its number of rows, int64
      [E, 2]; or None.
  """

  plan: np.ndarray
  bounds: np.ndarray | None = None

  @classmethod
  def in_order(
    cls, num_rows: int, sizes: Sequence[int] | None = None
  ) -> 'Layout':
    """Returns the layout of elements that take the rows in order.

    Elements are batches of the given sizes, or rows without sizes.
    """
    layout = cls(np.arange(num_rows, dtype=np.int64))
    return layout if sizes is None else layout.batch(sizes)

  @property
  def num_elements(self) -> int:
    return len(self.plan if self.bounds is None else self.bounds)

  @property
  def num_rows(self) -> int:
    """The number of rows of all elements, each counted once per use."""
    if self.bounds is None:
      return len(self.plan)
    return int(np.sum(self.bounds[:, 1]))

  def rows(self) -> np.ndarray:
    """Returns the numbers of all elements' rows, in order."""
    if self.bounds is None:
      return self.plan
    starts, sizes = self.bounds.T
    first, _ = offsets(sizes)
    places = np.repeat(starts - first, sizes) + np.arange(self.num_rows)
    return self.plan[places]

  def select(self, elements: np.ndarray) -> 'Layout':
    """Returns the layout of some of the elements."""
    if self.bounds is None:
      return Layout(self.plan[elements])
    return Layout(self.plan, self.bounds[elements])

  def batch(self, sizes: Sequence[int]) -> 'Layout':
    """Returns the layout of batches of these elements, one row each."""
    return Layout(self.plan, np.stack(offsets(sizes), axis=1))

  @property
  def arrays(self) -> tuple[np.ndarray, ...]:
    """The plan, and the bounds if there are any."""
    return (self.plan,) if self.bounds is None else (self.plan, self.bounds)


@dataclasses.dataclass(frozen=True, eq=False)
class PackedSequence:
  """The sequence of one client.

  Attributes:
    leaves: An array of rows [R, ...] for each leaf of the element type, in the
      order of the TFF type (`dataset_order` gives that of tf.data). Strings
      are objects of type bytes.
    layouts: The layout of each leaf; equal layouts are one object.
    roots: The packed passes over the value, one after the other; empty for a
      single one, after which another could give other elements. None if all
      passes are equal, of which one is packed.
    used: The rows of the leaves that are used, int64; the layouts number these.
      They are copied when sequences are joined. None for all rows.
    batch_size: The most rows that a batch may have in any client's data, which
      this one's may not reach; None if it is unknown.
  """

  leaves: tuple[np.ndarray, ...]
  # One layout per leaf, since a sentence [None] takes a run of rows and its
  # scalar label a single one; read as datasets, they take ten times as long.
  layouts: tuple[Layout, ...]
  roots: Roots | None = None
  used: np.ndarray | None = None
  batch_size: int | None = None

  def __reduce__(self) -> Any:
    """Pickles the used rows only."""
    return PackedSequence, (
      self.copy_used(),
      self.layouts,
      self.roots,
      None,
      self.batch_size,
    )

  def copy_used(self) -> tuple[np.ndarray, ...]:
    """Returns the used rows of each leaf; leaves of used rows are not copied."""
    return tuple(join_rows([leaf], [self.used]) for leaf in self.leaves)

  @property
  def num_passes(self) -> int:
    """The number of packed passes."""
    return sum(root.times for root in self.roots or ()) or 1

  @property
  def num_elements(self) -> int:
    """The number of elements of each pass."""
    return self.layouts[0].num_elements // self.num_passes

  @functools.cached_property
  def nbytes(self) -> int:
    """The size of leaves and layouts in bytes, strings included."""
    arrays = [a for layout in set(self.layouts) for a in layout.arrays]
    return sum(_count_bytes(leaf, self.used) for leaf in self.leaves) + sum(
      array.nbytes for array in arrays
    )

  def to_dataset(self, element_type: tff.Type) -> tf.data.Dataset:
    """Returns the elements as a dataset, in a fixed order.

    It holds the arrays once and gathers each element from them.
    """
    with tf.device('/device:CPU:0'):
      variant = _dataset_function(element_type)(
        self.num_elements,
        self.copy_used(),
        tuple(layout.arrays for layout in self.layouts),
      )
      return tf.data.experimental.from_variant(
        variant,
        tff.types.structure_from_tensor_type_tree(
          type_leaves.tensor_spec, element_type
        ),
      )


def concatenate_sequences(
  sequences: Sequence[PackedSequence],
) -> tuple[list[np.ndarray], list[Layout]]:
  """Joins the sequences of a cohort, of one element type, in order.

  Args:
    sequences: At least one sequence.

  Returns:
    The leaves and their layouts, with all packed passes. Leaves share a layout
    if they share one in each of the sequences.
  """
  layouts = list(zip(*(s.layouts for s in sequences), strict=True))
  # Keyed by the layouts in all sequences, so that leaves share joined ones.
  joined = {}
  for leaf, own in enumerate(layouts):
    if own not in joined:
      num_rows = [
        len(s.leaves[leaf] if s.used is None else s.used) for s in sequences
      ]
      joined[own] = _concatenate_layouts(own, num_rows)
  used = [s.used for s in sequences]
  leaves = [
    join_rows(column, used)
    for column in zip(*(s.leaves for s in sequences), strict=True)
  ]
  return leaves, [joined[own] for own in layouts]


def _concatenate_layouts(
  layouts: Sequence[Layout], num_rows: Sequence[int]
) -> Layout:
  """Returns the joint layout of leaves with `num_rows` rows each."""
  if len(layouts) == 1:
    return layouts[0]
  plan = np.concatenate([layout.plan for layout in layouts])
  first_place, places = offsets([len(layout.plan) for layout in layouts])
  plan += np.repeat(offsets(num_rows)[0], places)
  if layouts[0].bounds is None:
    return Layout(plan)
  bounds = np.concatenate([layout.bounds for layout in layouts])
  bounds[:, 0] += np.repeat(first_place, [len(own.bounds) for own in layouts])
  return Layout(plan, bounds)


def offsets(counts: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
  """Returns the sum of the counts before each count, and the counts, int64."""
  counts = np.asarray(counts, np.int64)
  return np.cumsum(counts) - counts, counts


def join_rows(
  arrays: Sequence[np.ndarray],
  used: Sequence[np.ndarray | None] | None = None,
) -> np.ndarray:
  """Returns the rows of all arrays in one array; a single one is not copied.

  Args:
    arrays: The arrays, at least one.
    used: The numbers of each array's rows to take, in this order; None for all.

  Raises:
    PackingError: If rows differ in shape, such as sentences of several lengths.
  """
  parts = list(zip(arrays, used or [None] * len(arrays), strict=True))
  # Arrays without rows may have another row shape.
  parts = [part for part in parts if len(part[0])] or parts[:1]
  first, rows = parts[0]
  if len(parts) == 1:
    return first if rows is None else np.take(first, rows, axis=0)
  shapes = {array.shape[1:] for array, _ in parts}
  if len(shapes) > 1:
    raise PackingError(
      'batches hold examples of different shapes, '
      f'{" and ".join(map(str, sorted(shapes)[:2]))}'
    )
  counts = [len(array if rows is None else rows) for array, rows in parts]
  dtype = np.result_type(*(array.dtype for array, _ in parts))
  joined = empty_for_tensor((sum(counts), *first.shape[1:]), dtype)
  if all(rows is None for _, rows in parts):
    return np.concatenate([array for array, _ in parts], out=joined)
  for (array, rows), start, count in zip(parts, *offsets(counts)):
    part = joined[start : start + count]
    if rows is None:
      part[...] = array
    else:
      # NumPy checks rows only if it takes them into a copy first.
      if count and not -len(array) <= rows.min() <= rows.max() < len(array):
        raise IndexError(
          f'rows must be below {len(array)}, got {rows.max()}, or '
          f'{rows.min()} from the end.'
        )
      array = array.astype(dtype, copy=False)
      np.take(array, rows, axis=0, out=part, mode='wrap')
  return joined


def empty_for_tensor(shape: Sequence[int], dtype: np.dtype) -> np.ndarray:
  """Returns an array, not filled, that a tensor can share without a copy."""
  if dtype.hasobject:
    return np.empty(shape, dtype)
  size = math.prod(shape) * dtype.itemsize
  memory = np.empty(size + _ALIGNMENT, np.uint8)
  start = -memory.__array_interface__['data'][0] % _ALIGNMENT
  return memory[start : start + size].view(dtype).reshape(shape)


@functools.lru_cache(maxsize=1024)
def leaf_types(element_type: tff.Type) -> tuple[tff.TensorType, ...]:
  """Returns the tensor types of an element type, in its order.

  Raises:
    PackingError: If there are no leaves, or a leaf is neither a batch
      [None, ...] nor of a static shape.
  """
  leaves = type_leaves.leaf_types(element_type)
  for leaf in leaves:
    if not isinstance(leaf, tff.TensorType):
      raise PackingError(f'elements hold a value of type {leaf}')
    shape = leaf.shape
    if shape is None or (None in shape and shape[0] is not None):
      raise PackingError(f'elements have a leaf of type {leaf}')
  if not leaves:
    raise PackingError('elements hold no tensors')
  return tuple(leaves)


def row_specs(element_type: tff.Type) -> list[tf.TensorSpec]:
  """Returns the specs of a sequence's leaves, for any number of rows.

  They depend on the type only, so a function made for them takes every sequence
  of this type.
  """
  return [
    tf.TensorSpec([None, *t.shape[is_batched(t) :]], t.dtype)
    for t in leaf_types(element_type)
  ]


def dataset_order(element_type: tff.Type) -> tuple[int, ...]:
  """Returns the number of the TFF type's leaf for each component of a dataset.

  Components are in the order in which tf.data passes them to functions. It
  differs from the type's if the names of an OrderedDict are not sorted.
  """
  numbers = iter(range(len(type_leaves.leaf_types(element_type))))
  nest = tff.types.structure_from_tensor_type_tree(
    lambda _: next(numbers), element_type
  )
  return tuple(tf.nest.flatten(nest))


def is_batched(tensor_type: tff.TensorType) -> bool:
  """Returns whether the elements of a leaf are batches [None, ...]."""
  return bool(tensor_type.shape) and tensor_type.shape[0] is None


def _count_bytes(leaf: np.ndarray, used: np.ndarray | None) -> int:
  """Returns the bytes of the used rows of a leaf."""
  if leaf.dtype != object:
    return leaf.nbytes if used is None else leaf[:1].nbytes * len(used)
  rows = leaf if used is None else leaf[used]
  return rows.nbytes + sum(len(text) for text in rows.flat)


@functools.lru_cache(maxsize=256)
def _dataset_function(element_type: tff.Type) -> Callable[..., tf.Tensor]:
  """Returns a compiled function from arrays to a dataset's variant.

  It takes the number of elements, the leaves, and the arrays of their layouts.
  """
  plan = tf.TensorSpec([None], tf.int64)
  bounds = tf.TensorSpec([None, 2], tf.int64)
  signature = (
    tf.TensorSpec([], tf.int64),
    tuple(row_specs(element_type)),
    tuple(
      (plan, bounds) if is_batched(t) else (plan,)
      for t in leaf_types(element_type)
    ),
  )

  @tf.function(input_signature=signature, autograph=False)
  def build(
    num_elements: tf.Tensor,
    leaves: tuple[tf.Tensor, ...],
    layouts: tuple[tuple[tf.Tensor, ...], ...],
  ) -> tf.Tensor:
    def rows_of(element: tf.Tensor, plan: tf.Tensor, *bounds: tf.Tensor):
      if not bounds:
        return plan[element]
      start, size = tf.unstack(bounds[0][element])
      return plan[start : start + size]

    @tf.autograph.experimental.do_not_convert
    def gather(element: tf.Tensor) -> Any:
      values = iter(
        tf.gather(leaf, rows_of(element, *arrays))
        for leaf, arrays in zip(leaves, layouts, strict=True)
      )
      return tff.types.structure_from_tensor_type_tree(
        lambda _: next(values), element_type
      )

    dataset = tf.data.Dataset.range(num_elements).map(gather)
    return tf.data.experimental.to_variant(dataset)

  return build
