# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A client's sequence as flat arrays, so that a loop can gather its elements.

Each leaf of a sequence's elements becomes one array of rows, and a layout says
which rows make up which element. Leaves of batches [None, ...] are cut into
runs of a plan of row numbers, so that the batches of a `ClientBatches` are a
view on its arrays; leaves of one static shape take one row an element.

A sequence is read once per call of a computation: several passes over it see
the same elements, even where a tf.data pipeline would shuffle anew.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools
from typing import Any

from fedfish_tff.datasets import batches as batches_lib
from fedfish_tff.execution import interruption

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

# Rows that tf.data joins at once where elements have one static shape: enough
# to make the steps of the iterator cheap, few enough to bound a chunk.
_CHUNK_ELEMENTS = 256


class PackingError(ValueError):
  """A sequence that is no flat arrays, and why; it is run as a dataset."""


@dataclasses.dataclass(frozen=True, eq=False)
class Layout:
  """How elements are cut out of a leaf's rows.

  With `starts`, element e is leaf[plan[starts[e] : starts[e] + sizes[e]]], a
  batch; without, it is leaf[plan[e]].

  Attributes:
    plan: int64 [R] or [E], numbers of rows.
    starts: int64 [E], each batch's first place in `plan`; or None.
    sizes: int64 [E], the rows of each batch; or None.
  """

  plan: np.ndarray
  starts: np.ndarray | None = None
  sizes: np.ndarray | None = None

  @property
  def kind(self) -> str:
    """'batches' or 'elements'."""
    return 'elements' if self.starts is None else 'batches'

  @property
  def arrays(self) -> tuple[np.ndarray, ...]:
    """The arrays that are not None, in the order of the attributes."""
    if self.starts is None:
      return (self.plan,)
    return (self.plan, self.starts, self.sizes)


@dataclasses.dataclass(frozen=True, eq=False)
class PackedSequence:
  """One client's sequence.

  Attributes:
    leaves: An array of rows [R, ...] for each leaf of the element type, in the
      order of the TFF type (`dataset_order` gives that of tf.data). Strings
      are objects of type bytes.
    layouts: The layouts; leaves that are cut alike share one.
    leaf_layouts: The number of each leaf's layout.
    num_elements: E, the number of elements.
  """

  leaves: tuple[np.ndarray, ...]
  layouts: tuple[Layout, ...]
  leaf_layouts: tuple[int, ...]
  num_elements: int

  @functools.cached_property
  def nbytes(self) -> int:
    """The bytes of leaves and layouts, those of strings included."""
    arrays = [a for layout in self.layouts for a in layout.arrays]
    return sum(map(_count_bytes, (*self.leaves, *arrays)))

  def to_dataset(self, element_type: tff.Type) -> tf.data.Dataset:
    """Returns the same elements as a dataset, in a fixed order.

    Args:
      element_type: The element type that the sequence was packed for.

    Returns:
      A dataset that holds the arrays once and gathers each element from them.
    """
    kinds = tuple(layout.kind for layout in self.layouts)
    gather = _dataset_function(element_type, kinds, self.leaf_layouts)
    with tf.device('/device:CPU:0'):
      variant = gather(
        self.num_elements,
        self.leaves,
        tuple(layout.arrays for layout in self.layouts),
      )
      return tf.data.experimental.from_variant(
        variant, tff.types.structure_from_tensor_type_tree(_spec, element_type)
      )


@dataclasses.dataclass(frozen=True, eq=False)
class CohortArrays:
  """The sequences of several clients behind one another.

  Element e of client c is element first_element[c] + e of the whole.

  Attributes:
    leaves: The leaves, with the rows of all clients.
    layouts: The layouts of these rows.
    leaf_layouts: The number of each leaf's layout.
    first_element: int64 [clients], the elements before each client's own.
    num_elements: int64 [clients], the elements of each client.
  """

  leaves: tuple[np.ndarray, ...]
  layouts: tuple[Layout, ...]
  leaf_layouts: tuple[int, ...]
  first_element: np.ndarray
  num_elements: np.ndarray


def pack_sequence(value: Any, element_type: tff.Type) -> PackedSequence:
  """Reads a sequence into flat arrays.

  Nobody can tell an endless dataset whose length is unknown, such as one of a
  generator; packing it does not end.

  Args:
    value: A `ClientBatches` (its arrays are used as they are), a dataset, a
      list of elements as TFF takes it, or a packed sequence.
    element_type: The elements' TFF type.

  Returns:
    The sequence.

  Raises:
    PackingError: If elements have leaves of other shapes than [None, ...] or
      static ones, or never end.
    TypeError: If the value is no sequence of this type, as TFF says it.
  """
  if isinstance(value, PackedSequence):
    return value
  types = leaf_types(element_type)
  if isinstance(value, batches_lib.ClientBatches):
    return _pack_client_batches(value, element_type, types)
  if isinstance(value, tf.data.Dataset):
    return _pack_dataset(value, element_type, types)
  if isinstance(value, list):
    return _pack_list(value, element_type, types)
  raise TypeError(
    f'Cannot serialize Python type {type(value).__name__} as TFF type '
    f'{tff.SequenceType(element_type)}.'
  )


def concatenate_sequences(sequences: Sequence[PackedSequence]) -> CohortArrays:
  """Puts the sequences of a cohort behind one another.

  Args:
    sequences: At least one; all packed for one element type.

  Returns:
    Their arrays. Leaves share a layout where they do in all sequences.
  """
  first_element, num_elements = _offsets([s.num_elements for s in sequences])
  leaves = tuple(map(_join, zip(*(s.leaves for s in sequences), strict=True)))
  groups = {}
  leaf_layouts, layouts = [], []
  for leaf, shared in enumerate(
    zip(*(s.leaf_layouts for s in sequences), strict=True)
  ):
    if shared not in groups:
      groups[shared] = len(layouts)
      layouts.append(
        _concatenate_layouts(
          [s.layouts[i] for s, i in zip(sequences, shared, strict=True)],
          [len(s.leaves[leaf]) for s in sequences],
        )
      )
    leaf_layouts.append(groups[shared])
  return CohortArrays(
    leaves, tuple(layouts), tuple(leaf_layouts), first_element, num_elements
  )


def _concatenate_layouts(
  layouts: Sequence[Layout], num_rows: Sequence[int]
) -> Layout:
  """Returns the layout of leaves with `num_rows` rows behind one another."""
  if len(layouts) == 1:
    return layouts[0]
  plan = np.concatenate([layout.plan for layout in layouts])
  first_place, places = _offsets([len(layout.plan) for layout in layouts])
  plan += np.repeat(_offsets(num_rows)[0], places)
  if layouts[0].starts is None:
    return Layout(plan)
  starts = np.concatenate([layout.starts for layout in layouts])
  starts += np.repeat(first_place, [len(layout.starts) for layout in layouts])
  return Layout(
    plan, starts, np.concatenate([layout.sizes for layout in layouts])
  )


def _offsets(counts: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
  """Returns the sum of the counts before each one, and the counts, int64."""
  counts = np.asarray(counts, np.int64)
  return np.cumsum(counts) - counts, counts


def _join(arrays: Sequence[np.ndarray]) -> np.ndarray:
  return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


@functools.lru_cache(maxsize=1024)
def leaf_types(element_type: tff.Type) -> tuple[tff.TensorType, ...]:
  """Returns the leaves of an element type.

  Args:
    element_type: A type of tensors and structures of them.

  Returns:
    The tensor types, in the order of the TFF type.

  Raises:
    PackingError: If there are none, or a leaf has another shape than
      [None, ...] or a static one.
  """
  leaves = []

  def visit(part: tff.Type) -> None:
    if isinstance(part, tff.StructType):
      for _, child in tff.structure.iter_elements(part):
        visit(child)
    elif isinstance(part, tff.TensorType):
      shape = part.shape
      if shape is None or None in shape[1:]:
        raise PackingError(f'elements have a leaf of type {part}')
      leaves.append(part)
    else:
      raise PackingError(f'elements hold a value of type {part}')

  visit(element_type)
  if not leaves:
    raise PackingError('elements hold no tensors')
  return tuple(leaves)


def dataset_order(element_type: tff.Type) -> tuple[int, ...]:
  """Returns which leaf of the TFF type each component of a dataset is.

  They differ where the names of an OrderedDict are not sorted.

  Args:
    element_type: A type of tensors and structures of them.

  Returns:
    For each component, in the order in which tf.data passes them to functions,
    the number of its leaf in the TFF type.
  """
  numbers = iter(range(len(leaf_types(element_type))))
  nest = tff.types.structure_from_tensor_type_tree(
    lambda _: next(numbers), element_type
  )
  return tuple(tf.nest.flatten(nest))


def _spec(tensor_type: tff.TensorType) -> tf.TensorSpec:
  return tf.TensorSpec(tensor_type.shape, tensor_type.dtype)


def _is_batched(tensor_type: tff.TensorType) -> bool:
  return bool(tensor_type.shape) and tensor_type.shape[0] is None


def _count_bytes(array: np.ndarray) -> int:
  if array.dtype != object:
    return array.nbytes
  return array.nbytes + sum(len(text) for text in array.flat)


# ClientBatches.


def _pack_client_batches(
  batches: batches_lib.ClientBatches,
  element_type: tff.Type,
  types: Sequence[tff.TensorType],
) -> PackedSequence:
  _check_spec(element_type, _hashable_spec(batches.examples))
  rows, plan = batches.used_rows()
  leaves = []
  _append_leaves(rows, element_type, leaves)
  leaves = tuple(
    _bytes_array(leaf) if tensor_type.dtype.type is np.str_ else leaf
    for leaf, tensor_type in zip(leaves, types, strict=True)
  )
  starts, sizes = batches.bounds()
  layout = Layout(plan, starts, sizes)
  return PackedSequence(leaves, (layout,), (0,) * len(leaves), len(starts))


def _hashable_spec(examples: batches_lib.Examples) -> Any:
  """Returns structure, dtypes and shapes of a nest of arrays, cheaply."""
  if isinstance(examples, np.ndarray):
    return (examples.dtype.str, examples.shape[1:])
  if isinstance(examples, Mapping):
    items = ((key, _hashable_spec(value)) for key, value in examples.items())
    return (type(examples), tuple(items))
  return (type(examples), tuple(map(_hashable_spec, examples)))


@functools.lru_cache(maxsize=256)
def _check_spec(element_type: tff.Type, spec: Any) -> None:
  """Raises a TypeError unless batches of this spec have the element type."""

  def batch_spec(part: Any) -> Any:
    kind, children = part
    if isinstance(kind, str):
      return tf.TensorSpec((None, *children), np.dtype(kind))
    if issubclass(kind, Mapping):
      return kind((key, batch_spec(child)) for key, child in children)
    children = map(batch_spec, children)
    return kind(*children) if hasattr(kind, '_fields') else kind(children)

  _check_assignable(element_type, batch_spec(spec))


def _check_assignable(element_type: tff.Type, element_spec: Any) -> None:
  expected = tff.SequenceType(element_type)
  found = tff.SequenceType(tff.types.tensorflow_to_type(element_spec))
  if not expected.is_assignable_from(found):
    raise TypeError(
      f'Cannot serialize dataset with elements of type {found} as TFF type '
      f'{expected}.'
    )


# Datasets.


def _pack_dataset(
  dataset: tf.data.Dataset,
  element_type: tff.Type,
  types: Sequence[tff.TensorType],
) -> PackedSequence:
  specs = tf.nest.flatten(dataset.element_spec)
  if not all(isinstance(spec, tf.TensorSpec) for spec in specs):
    raise PackingError('elements hold ragged, sparse or nested values')
  _check_assignable(element_type, dataset.element_spec)
  if dataset.cardinality() == tf.data.INFINITE_CARDINALITY:
    raise PackingError('the dataset has no end')
  in_chunks = not any(map(_is_batched, types))
  if in_chunks:
    dataset = dataset.batch(_CHUNK_ELEMENTS)
  columns = [[] for _ in types]
  for components in _read(dataset):
    for column, component in zip(columns, components, strict=True):
      column.append(np.asarray(component))
  # From the order of tf.data to that of the type, by the dataset's own names:
  # the type's containers may be others.
  numbered = tf.nest.pack_sequence_as(dataset.element_spec, range(len(specs)))
  order = []
  _append_leaves(numbered, element_type, order)
  return _pack_columns(
    [columns[number] for number in order], types, in_chunks=in_chunks
  )


def _read(dataset: tf.data.Dataset) -> Iterable[Sequence[tf.Tensor]]:
  """Yields the components of each element.

  The iterator's own ops, and no rewriting of a graph that is read once, take
  a quarter of the time of Python's `for`.

  Args:
    dataset: A dataset that ends.
  """
  dataset = dataset.with_options(_reading_options())
  specs = tf.nest.flatten(dataset.element_spec)
  outputs = dict(
    output_types=[spec.dtype for spec in specs],
    output_shapes=[spec.shape for spec in specs],
  )
  with tf.device('/device:CPU:0'):
    iterator = tf.raw_ops.AnonymousIteratorV3(**outputs)
    tf.raw_ops.MakeIterator(
      dataset=tf.data.experimental.to_variant(dataset), iterator=iterator
    )
    while True:
      interruption.check()
      try:
        components = tf.raw_ops.IteratorGetNext(iterator=iterator, **outputs)
      except tf.errors.OutOfRangeError:
        return
      yield components


@functools.cache
def _reading_options() -> tf.data.Options:
  options = tf.data.Options()
  options.experimental_optimization.apply_default_optimizations = False
  options.autotune.enabled = False
  return options


# Lists of elements.


def _pack_list(
  elements: Sequence[Any],
  element_type: tff.Type,
  types: Sequence[tff.TensorType],
) -> PackedSequence:
  columns = [[] for _ in types]
  for element in elements:
    leaves = []
    _append_leaves(element, element_type, leaves)
    arrays = list(map(_to_array, leaves, types))
    if not all(map(_has_shape, arrays, types)):
      shapes = ', '.join(str(array.shape) for array in arrays)
      raise TypeError(
        f'Failure during data set construction, expected elements of type '
        f'{element_type}, but an element has leaves of shapes {shapes}.'
      )
    for column, array in zip(columns, arrays, strict=True):
      column.append(array)
  return _pack_columns(columns, types, in_chunks=False)


def _append_leaves(value: Any, part: tff.Type, leaves: list[Any]) -> None:
  """Appends the leaves of an element, which may be in other containers.

  The rules are those of TFF's datasets from elements: by name where there are
  names in both, else by position.

  Args:
    value: The element, or a part of it.
    part: Its type.
    leaves: Where to append, in the order of the type.

  Raises:
    TypeError: If the containers do not fit.
  """
  if isinstance(part, tff.TensorType):
    leaves.append(value)
    return
  children = tff.structure.to_elements(part)
  if hasattr(value, '_asdict'):
    value = value._asdict()
  elif isinstance(value, tff.structure.Struct):
    value = tff.structure.to_odict_or_tuple(value, recursive=False)
  elif hasattr(type(value), '__attrs_attrs__'):
    names = (attribute.name for attribute in value.__attrs_attrs__)
    value = {name: getattr(value, name) for name in names}
  if isinstance(value, Mapping) and set(value) == {
    name for name, _ in children
  }:
    value = [value[name] for name, _ in children]
  is_positional = isinstance(value, (list, tuple))
  if not is_positional or len(value) != len(children):
    raise TypeError(f'Value {value} does not match type {part}.')
  for child, (_, child_type) in zip(value, children, strict=True):
    _append_leaves(child, child_type, leaves)


def _to_array(value: Any, tensor_type: tff.TensorType) -> np.ndarray:
  """Returns a leaf as TensorFlow converts it to the type's dtype."""
  dtype = tensor_type.dtype
  if isinstance(value, np.ndarray) and value.dtype == dtype != np.str_:
    return value
  array = tf.convert_to_tensor(value, dtype).numpy()
  return _bytes_array(array) if dtype.type is np.str_ else np.asarray(array)


def _bytes_array(array: Any) -> np.ndarray:
  """Returns strings as an array of bytes objects, without NumPy's padding."""
  if not isinstance(array, np.ndarray):
    scalar = np.empty((), object)
    scalar[()] = array
    return scalar
  if array.dtype == object and all(isinstance(s, bytes) for s in array.flat):
    return array
  return np.asarray(tf.constant(array)).astype(object)


def _has_shape(array: np.ndarray, tensor_type: tff.TensorType) -> bool:
  return tf.TensorShape(tensor_type.shape).is_compatible_with(array.shape)


def _pack_columns(
  columns: Sequence[Sequence[np.ndarray]],
  types: Sequence[tff.TensorType],
  *,
  in_chunks: bool,
) -> PackedSequence:
  """Packs each leaf's arrays: batches, single elements, or stacks of them."""
  leaves, layouts, leaf_layouts = [], [], []
  numbers = {}
  num_elements = len(columns[0])
  for column, tensor_type in zip(columns, types, strict=True):
    is_batched = _is_batched(tensor_type)
    if not column:
      is_text = tensor_type.dtype.type is np.str_
      leaf = np.empty(
        (0, *tensor_type.shape[is_batched:]),
        object if is_text else tensor_type.dtype,
      )
    elif is_batched or in_chunks:
      leaf = _join(column)
    else:
      leaf = np.stack(column)
    if in_chunks:
      num_elements = len(leaf)
    sizes = tuple(len(array) for array in column) if is_batched else None
    if sizes not in numbers:
      numbers[sizes] = len(layouts)
      plan = np.arange(len(leaf), dtype=np.int64)
      layouts.append(Layout(plan, *(_offsets(sizes) if is_batched else ())))
    leaves.append(leaf)
    leaf_layouts.append(numbers[sizes])
  return PackedSequence(
    tuple(leaves), tuple(layouts), tuple(leaf_layouts), num_elements
  )


# Back to datasets.


@functools.lru_cache(maxsize=256)
def _dataset_function(
  element_type: tff.Type, kinds: tuple[str, ...], leaf_layouts: tuple[int, ...]
) -> Callable[..., tf.Tensor]:
  """Returns a compiled function from a sequence's arrays to a dataset.

  Args:
    element_type: The element type.
    kinds: The kind of each layout.
    leaf_layouts: The number of each leaf's layout.

  Returns:
    From the number of elements, the leaves and the arrays of each layout to
    the variant of a dataset of elements.
  """
  types = leaf_types(element_type)
  vector = tf.TensorSpec([None], tf.int64)
  signature = (
    tf.TensorSpec([], tf.int64),
    tuple(
      tf.TensorSpec([None, *t.shape[_is_batched(t) :]], t.dtype) for t in types
    ),
    tuple((vector,) * (1 if kind == 'elements' else 3) for kind in kinds),
  )

  @tf.function(input_signature=signature, autograph=False)
  def build(
    num_elements: tf.Tensor,
    leaves: tuple[tf.Tensor, ...],
    layouts: tuple[tuple[tf.Tensor, ...], ...],
  ) -> tf.Tensor:
    def rows_of(element: tf.Tensor, plan: tf.Tensor, *cuts: tf.Tensor):
      if not cuts:
        return plan[element]
      starts, sizes = cuts
      start = starts[element]
      return plan[start : start + sizes[element]]

    @tf.autograph.experimental.do_not_convert
    def gather(element: tf.Tensor) -> Any:
      rows = [rows_of(element, *arrays) for arrays in layouts]
      values = iter(
        tf.gather(leaf, rows[layout])
        for leaf, layout in zip(leaves, leaf_layouts, strict=True)
      )
      return tff.types.structure_from_tensor_type_tree(
        lambda _: next(values), element_type
      )

    dataset = tf.data.Dataset.range(num_elements).map(gather)
    return tf.data.experimental.to_variant(dataset)

  return build
