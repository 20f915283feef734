# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Packs clients' sequences into flat arrays.

A `ClientBatches`, a `tf.data.Dataset` or a list of elements becomes a
`packed_sequences.PackedSequence`.

A sequence is read once. If another pass could give other elements, as in a
tf.data pipeline that shuffles, it is read as often as client work passes over
it, and the packed sequence has these passes as its `roots`.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools
from typing import Any

from fedfish_tff.datasets import batches as batches_lib
from fedfish_tff.datasets import examples as examples_lib
from fedfish_tff.execution import interruption
from fedfish_tff.execution.packing import dataset_rows
from fedfish_tff.execution.packing import packed_sequences
from fedfish_tff.execution.packing import repeatable_datasets

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

# The rows that tf.data joins at once where elements have one static shape. They
# are enough to make iterator steps cheap and few enough to bound a chunk.
_CHUNK_ELEMENTS = 256


def pack_sequence(
  value: Any, element_type: tff.Type, roots: packed_sequences.Roots = ()
) -> packed_sequences.PackedSequence:
  """Reads a sequence into flat arrays.

  An endless dataset of unknown length, such as one of a generator, cannot be
  detected; packing it does not end.

  Args:
    value: A `ClientBatches` (its arrays are used without a copy), a dataset of
      such elements, a list of elements that TFF accepts, or a packed or mapped
      sequence.
    element_type: The elements' TFF type.
    roots: The passes to pack if they may differ; one if there are none. A
      packed sequence keeps its own.

  Raises:
    PackingError: If a leaf is neither batches of examples of one shape nor of a
      static shape, or the sequence has no end.
    TypeError: If the value is no sequence of this type, as in TFF.
  """
  if isinstance(value, packed_sequences.PackedSequence):
    return value
  if isinstance(value, MappedSequence):
    value = value.computed
  types = packed_sequences.leaf_types(element_type)
  if isinstance(value, batches_lib.ClientBatches):
    return _pack_client_batches(value, element_type, types)
  if isinstance(value, tf.data.Dataset):
    return _pack_dataset(value, element_type, types, roots)
  if isinstance(value, list):
    return _pack_list(value, element_type, types)
  raise TypeError(
    f'Cannot serialize Python type {type(value).__name__} as TFF type '
    f'{tff.SequenceType(element_type)}.'
  )


def common_batch_size(values: Iterable[Any]) -> int | None:
  """Returns the batch size that clients' sequences share; None without one.

  It is that of their plans, whatever the sizes of their batches. The sequences
  are not read.
  """
  sizes = {
    value.batch_size
    if isinstance(
      value, (batches_lib.ClientBatches, packed_sequences.PackedSequence)
    )
    else None
    for value in values
  }
  return sizes.pop() if len(sizes) == 1 else None


@dataclasses.dataclass(frozen=True, eq=False)
class MappedSequence:
  """The result of `tff.sequence_map` on a sequence.

  Attributes:
    elements: A function that reads the sequence again and yields the mapped
      elements, local values.
    to_dataset: A function from these elements to a dataset.
  """

  elements: Callable[[], Iterator[Any]]
  to_dataset: Callable[[list[Any]], tf.data.Dataset]

  @functools.cached_property
  def computed(self) -> tf.data.Dataset:
    """The elements of one reading."""
    return self.to_dataset(list(self.elements()))


# ClientBatches.


def check_client_batches(
  batches: batches_lib.ClientBatches, element_type: tff.Type
) -> None:
  """Raises TypeError if a client is known to have elements of another type.

  The client is not read.
  """
  if batches.stored is None:
    spec = spec_key(batches.examples, lambda a: (a.dtype, a.shape[1:]))
  elif batches.stored.element_spec is None:
    return
  else:
    spec = spec_key(
      batches.stored.element_spec,
      lambda s: (np.dtype(s.dtype.as_numpy_dtype), tuple(s.shape)),
    )
  _check_spec(element_type, spec)


def _pack_client_batches(
  batches: batches_lib.ClientBatches,
  element_type: tff.Type,
  types: Sequence[tff.TensorType],
) -> packed_sequences.PackedSequence:
  is_stored = batches.stored is not None
  batches = batches.read()
  check_client_batches(batches, element_type)
  rows = batches.examples
  used, plan = batches.used_rows()
  has_texts = any(t.dtype.type is np.str_ for t in types)
  # What was read for this sequence can then be freed, and unused texts need no
  # conversion.
  if used is not None and (is_stored or has_texts):
    rows, used = examples_lib.take_examples(rows, used), None
  leaves = tuple(
    _bytes_array(leaf) if tensor_type.dtype.type is np.str_ else leaf
    for leaf, tensor_type in zip(
      element_leaves(rows, element_type), types, strict=True
    )
  )
  layout = packed_sequences.Layout(plan, batches.bounds())
  return packed_sequences.PackedSequence(
    leaves, (layout,) * len(leaves), used=used, batch_size=batches.batch_size
  )


@functools.lru_cache(maxsize=256)
def _check_spec(element_type: tff.Type, spec: Any) -> None:
  """Raises a TypeError unless batches of this spec have the element type."""

  def batch_spec(part: Any) -> Any:
    kind, children = part
    if isinstance(kind, np.dtype):
      return tf.TensorSpec((None, *children), kind)
    if issubclass(kind, Mapping):
      return kind((key, batch_spec(child)) for key, child in children)
    children = map(batch_spec, children)
    return kind(*children) if hasattr(kind, '_fields') else kind(children)

  expected = tff.SequenceType(element_type)
  found = tff.SequenceType(tff.types.tensorflow_to_type(batch_spec(spec)))
  if not expected.is_assignable_from(found):
    raise TypeError(
      f'Cannot serialize dataset with elements of type {found} as TFF type '
      f'{expected}.'
    )


# Datasets.


def spec_key(
  spec: Any, leaf_key: Callable[[Any], Any] = lambda leaf: leaf
) -> Any:
  """Returns a hashable key, shared by equal specs of equal containers.

  Args:
    spec: A nest of mappings, tuples and lists.
    leaf_key: A function that returns the key of a leaf.
  """
  # First, since Python takes longer to tell an abstract class.
  if isinstance(spec, (tuple, list)):
    return (type(spec), tuple([spec_key(c, leaf_key) for c in spec]))
  if isinstance(spec, Mapping):
    items = ((name, spec_key(c, leaf_key)) for name, c in spec.items())
    return (type(spec), tuple(items))
  return leaf_key(spec)


def _pack_dataset(
  dataset: tf.data.Dataset,
  element_type: tff.Type,
  types: Sequence[tff.TensorType],
  roots: packed_sequences.Roots,
) -> packed_sequences.PackedSequence:
  specs = tf.nest.flatten(dataset.element_spec)
  if not all(isinstance(spec, tf.TensorSpec) for spec in specs):
    raise packed_sequences.PackingError(
      'elements hold ragged, sparse or nested values'
    )
  if dataset.cardinality().numpy() == tf.data.INFINITE_CARDINALITY:
    raise packed_sequences.PackingError('the dataset has no end')
  # Leaves come from tf.data's order into the type's by the dataset's own names,
  # since the type may have other containers.
  numbered = tf.nest.pack_sequence_as(dataset.element_spec, range(len(specs)))
  order = list(element_leaves(numbered, element_type))
  packed = _pack_rows(dataset_rows.find_rows(dataset), types, order)
  if packed is not None:
    return packed
  are_equal = repeatable_datasets.has_equal_passes(dataset)
  in_chunks = not any(map(packed_sequences.is_batched, types))
  columns = [[] for _ in types]
  is_read_again = bool(roots) and not are_equal
  sources = (
    _sources(dataset, roots)
    if is_read_again
    else [(repeatable_datasets.from_the_start(dataset), 1)]
  )
  fuses_repetitions = is_read_again and repeatable_datasets.repeats(dataset)
  lengths = set()
  for source, times in sources:
    if in_chunks:
      source = source.batch(_CHUNK_ELEMENTS)
    length = 0
    for components in _read(source, fuses_repetitions=fuses_repetitions):
      length += len(components[0]) if in_chunks else 1
      for column, component in zip(columns, components, strict=True):
        column.append(np.asarray(component))
    lengths.add(length / times)
  if len(lengths) > 1:
    raise packed_sequences.PackingError(packed_sequences.ONE_PASS)
  return dataclasses.replace(
    _pack_columns(
      [columns[number] for number in order], types, in_chunks=in_chunks
    ),
    roots=None if are_equal else roots,
  )


def _sources(
  dataset: tf.data.Dataset, roots: packed_sequences.Roots
) -> list[tuple[tf.data.Dataset, int]]:
  """Returns the datasets to read, in order, each with its number of passes.

  Raises:
    PackingError: If the passes cannot be read here, or told apart.
  """
  readers = {root.reader for root in roots}
  is_repeated = any(root.times > 1 for root in roots)
  if (
    not repeatable_datasets.leaves_no_trace(dataset)
    or (is_repeated and dataset.cardinality().numpy() < 0)
    or (
      is_repeated
      and len(roots) > len(readers)
      and repeatable_datasets.may_fuse(dataset)
    )
    or (
      not all(root.is_whole for root in roots)
      and (
        repeatable_datasets.caches(dataset)
        or repeatable_datasets.repeats(dataset)
      )
    )
  ):
    raise packed_sequences.PackingError(packed_sequences.ONE_PASS)
  copy = (
    repeatable_datasets.from_the_start
    if len(readers) == 1
    else repeatable_datasets.copy
  )
  copies = {reader: copy(dataset) for reader in readers}
  return [
    (
      copies[root.reader]
      if root.times == 1
      else copies[root.reader].repeat(root.times),
      root.times,
    )
    for root in roots
  ]


def _pack_rows(
  rows: dataset_rows.Rows | None,
  types: Sequence[tff.TensorType],
  order: Sequence[int],
) -> packed_sequences.PackedSequence | None:
  """Packs the result of `find_rows`; None if it does not fit the type."""
  if rows is None:
    return None
  leaves, layout = rows
  leaves = [leaves[number] for number in order]
  are_batched = set(map(packed_sequences.is_batched, types))
  num_elements = layout.num_elements
  if layout.bounds is not None and are_batched == {False}:
    # All batches have one size, so each is an element of a static shape.
    numbers = layout.rows().reshape(num_elements, types[0].shape[0])
    leaves = [leaf[numbers] for leaf in leaves]
    layout = packed_sequences.Layout.in_order(num_elements)
  elif are_batched != {layout.bounds is not None}:
    return None
  elif layout.num_rows < len(leaves[0]):
    # Unused rows are left out.
    numbers = layout.rows()
    leaves = [leaf[numbers] for leaf in leaves]
    sizes = None if layout.bounds is None else layout.bounds[:, 1]
    layout = packed_sequences.Layout.in_order(len(numbers), sizes)
  return packed_sequences.PackedSequence(tuple(leaves), (layout,) * len(leaves))


def _read(
  dataset: tf.data.Dataset, *, fuses_repetitions: bool = False
) -> Iterable[Sequence[tf.Tensor]]:
  """Yields the components of each element of a dataset that ends.

  The iterator's own operations, without rewriting a graph that is read once,
  take a quarter of the time of Python's `for`.
  """
  dataset = dataset.with_options(
    repeatable_datasets.reading_options(fuses_repetitions=fuses_repetitions)
  )
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


# Lists of elements.


def _pack_list(
  elements: Sequence[Any],
  element_type: tff.Type,
  types: Sequence[tff.TensorType],
) -> packed_sequences.PackedSequence:
  columns = [[] for _ in types]
  for element in elements:
    leaves = list(element_leaves(element, element_type))
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


def element_leaves(value: Any, part: tff.Type) -> Iterator[Any]:
  """Yields the leaves of an element, in the order of its type.

  The rules are those of TFF for datasets from elements: parts are matched by
  name if both sides have names, else by position.

  Raises:
    TypeError: If the element's containers do not fit.
  """
  if isinstance(part, tff.TensorType):
    yield value
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
    yield from element_leaves(child, child_type)


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
) -> packed_sequences.PackedSequence:
  """Packs each leaf's arrays: batches, single elements or chunks of them."""
  leaves, layouts = [], []
  by_sizes = {}
  for column, tensor_type in zip(columns, types, strict=True):
    is_batched = packed_sequences.is_batched(tensor_type)
    if not column:
      is_text = tensor_type.dtype.type is np.str_
      leaf = np.empty(
        (0, *(size or 0 for size in tensor_type.shape[is_batched:])),
        object if is_text else tensor_type.dtype,
      )
    elif is_batched or in_chunks:
      leaf = packed_sequences.join_rows(column)
    else:
      leaf = np.stack(column)
    sizes = tuple(len(array) for array in column) if is_batched else None
    if sizes not in by_sizes:
      by_sizes[sizes] = packed_sequences.Layout.in_order(len(leaf), sizes)
    leaves.append(leaf)
    layouts.append(by_sizes[sizes])
  return packed_sequences.PackedSequence(tuple(leaves), tuple(layouts))
