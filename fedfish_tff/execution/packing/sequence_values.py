# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Sequences as arguments, as results, and as variants in TensorFlow code.

In this process a sequence is a `ClientBatches`, a `PackedSequence`, a
`tf.data.Dataset` or a `MappedSequence`. TensorFlow code takes and returns it as
a variant.
"""

import collections
from collections.abc import Mapping
import contextlib
import functools
from typing import Any

from fedfish_tff import private_apis
from fedfish_tff.datasets import batches as batches_lib
from fedfish_tff.execution.packing import packed_sequences
from fedfish_tff.execution.packing import repeatable_datasets
from fedfish_tff.execution.packing import sequence_packing
from fedfish_tff.execution.packing import type_leaves

import tensorflow as tf
import tensorflow_federated as tff

LocalSequence = (
  batches_lib.ClientBatches
  | packed_sequences.PackedSequence
  | tf.data.Dataset
  | sequence_packing.MappedSequence
)


def to_local_sequence(value: Any, type_spec: tff.SequenceType) -> LocalSequence:
  """Converts a sequence to a local value, as TFF's contexts do.

  Datasets and `ClientBatches` are not read. A list becomes a packed sequence,
  or a dataset if it cannot be packed. Another value raises TFF's TypeError.
  """
  if isinstance(value, packed_sequences.PackedSequence):
    return value
  if isinstance(value, tf.data.Dataset):
    _check_dataset(value, type_spec)
    return value
  if isinstance(value, batches_lib.ClientBatches):
    sequence_packing.check_client_batches(value, type_spec.element)
    return value
  if isinstance(value, list):
    with contextlib.suppress(packed_sequences.PackingError):
      return sequence_packing.pack_sequence(value, type_spec.element)
  # TFF makes a dataset of a list, and reports errors in other values.
  proto, _ = tff.framework.serialize_value(value, type_spec)
  dataset, _ = tff.framework.deserialize_value(proto, type_spec)
  return dataset


def to_result_sequence(
  value: LocalSequence, type_spec: tff.SequenceType
) -> tf.data.Dataset:
  """Returns a sequence as TFF's contexts return it.

  Args:
    value: A sequence, read or not.
    type_spec: The type, with the containers of the computation's result.

  Returns:
    A dataset with tensors, tuples and `OrderedDict`s as elements.
  """
  element_type = _plain_type(type_spec).element
  value = _to_dataset(value, element_type)
  plain_spec = _element_spec(element_type)
  if _containers(value.element_spec) == _containers(plain_spec):
    return value
  if type(value.element_spec) is tuple:  # Then tf.data passes its parts.
    return value.map(lambda *element: _regroup(element, element_type))
  return value.map(lambda element: _regroup(element, element_type))


def to_placed_sequence(
  value: LocalSequence, type_spec: tff.SequenceType
) -> tf.data.Dataset:
  """Returns a sequence of the server or of a client as TFF's contexts do.

  It has exactly the `element_spec` of its type, while a dataset that is passed
  through `to_result_sequence` may know more of its shapes.
  """
  dataset = to_result_sequence(value, type_spec)
  plain_type = _plain_type(type_spec)
  if dataset.element_spec == _element_spec(plain_type.element):
    return dataset
  return from_variant(tf.data.experimental.to_variant(dataset), plain_type)


@functools.lru_cache(maxsize=256)
def check_order(type_spec: tff.Type) -> None:
  """Checks that TensorFlow keeps the order of the parts of elements.

  tf.data sorts the parts of dictionaries by name, but not those of other
  containers. A compiled computation knows no containers, so TFF's runtime
  confuses the parts of containers that are no dictionaries. Here unsorted names
  in such a container raise ValueError.
  """
  if isinstance(type_spec, tff.SequenceType):
    for container in _unsorted_containers(type_spec.element):
      if container is not None and not issubclass(container, Mapping):
        raise ValueError(
          f'Sequences of type {type_spec} have elements in {container}, with '
          'names that are not sorted: their order would be lost. Please use '
          'collections.OrderedDict for the elements.'
        )
  else:
    for part in type_spec.children():
      check_order(part)


def check_parts_are_known(
  value: LocalSequence, type_spec: tff.SequenceType
) -> None:
  """Checks that the names of the parts of a sequence's elements are known.

  TensorFlow code passes on sequences without names: the parts of a dictionary
  in the order of their names, those of other containers in their own order. A
  compiled computation does not tell these cases apart, so a sequence of
  TensorFlow code with unsorted names raises ValueError.
  """
  made_by_graph = private_apis.step_kind(value) == '_VariantDataset'
  if made_by_graph and _unsorted_containers(type_spec.element):
    raise ValueError(
      f'TensorFlow code returned a sequence of type {type_spec}, whose names '
      'are not sorted: it does not tell which part of an element is which. '
      'Please sort them, or work on the sequence in TensorFlow too.'
    )


def to_variant(value: LocalSequence, type_spec: tff.SequenceType) -> tf.Tensor:
  """Returns a sequence as a variant for TensorFlow code."""
  value = _to_dataset(value, type_spec.element)
  return tf.data.experimental.to_variant(
    repeatable_datasets.from_the_start(value)
  )


def _to_dataset(
  value: LocalSequence, element_type: tff.Type
) -> tf.data.Dataset:
  if isinstance(value, sequence_packing.MappedSequence):
    return value.computed
  if isinstance(value, batches_lib.ClientBatches):
    try:
      value = sequence_packing.pack_sequence(value, element_type)
    except packed_sequences.PackingError:
      return value.to_dataset()
  if isinstance(value, packed_sequences.PackedSequence):
    if value.roots is not None:  # A dataset may be read any number of times.
      raise packed_sequences.PackingError(packed_sequences.ONE_PASS)
    return value.to_dataset(element_type)
  return value


def is_repeatable(value: LocalSequence) -> bool:
  """Returns whether readers of a sequence, at any time, get the same elements.

  Readers of a cache in a file, in contrast, can disturb each other.
  """
  if isinstance(value, tf.data.Dataset):
    return repeatable_datasets.is_repeatable(value)
  if isinstance(value, packed_sequences.PackedSequence):
    return value.roots is None
  return isinstance(value, batches_lib.ClientBatches)


def from_the_start(value: Any) -> Any:
  """Returns an argument with its datasets in the state before any reading.

  Within a call, each reader of its elements continues where the one before
  ended, as in TFF's runtime; the next call does not.
  """
  if isinstance(value, tuple):
    return tuple(map(from_the_start, value))
  if not isinstance(value, tf.data.Dataset):
    return value
  dataset = repeatable_datasets.from_the_start(value)
  # Any step will do: it shows that the parts of the elements are known, which
  # they are not for a dataset that TensorFlow code returns.
  return value if dataset is value else dataset.with_options(tf.data.Options())


def from_variant(
  variant: tf.Tensor, type_spec: tff.SequenceType
) -> tf.data.Dataset:
  """Returns the dataset of a variant that TensorFlow code returned."""
  return tf.data.experimental.from_variant(
    variant, _element_spec(type_spec.element)
  )


@functools.lru_cache(maxsize=256)
def _element_spec(element_type: tff.Type) -> Any:
  """Returns the `element_spec` of a dataset with elements of this type."""
  return tff.types.structure_from_tensor_type_tree(
    lambda tensor: tf.TensorSpec(tensor.shape, tensor.dtype), element_type
  )


@functools.lru_cache(maxsize=256)
def _plain_type(type_spec: tff.Type) -> tff.Type:
  """Returns a type without Python containers."""
  return tff.types.deserialize_type(tff.types.serialize_type(type_spec))


@functools.lru_cache(maxsize=256)
def _unsorted_containers(element_type: tff.Type) -> list[type[Any] | None]:
  """Returns the containers in an element that have unsorted names."""
  return [
    part.python_container
    for part in type_leaves.parts(element_type)
    if isinstance(part, tff.StructType)
    and (names := tff.structure.name_list(part)) != sorted(names)
  ]


def _check_dataset(
  dataset: tf.data.Dataset, type_spec: tff.SequenceType
) -> None:
  """Raises TFF's error unless a dataset has the given type."""
  if not _is_dataset_spec(_HashableSpec(dataset.element_spec), type_spec):
    # TFF checks and then serializes, so `take` keeps the serialization small.
    try:
      tff.framework.serialize_value(dataset.take(0), type_spec)
    except TypeError as error:
      batched = tff.SequenceType(
        tff.types.tensorflow_to_type(dataset.batch(1).element_spec)
      )
      if type_spec.is_assignable_from(batched):
        raise TypeError(
          f'{error} The elements must be batches: dataset.batch(batch_size).'
        ) from error
      raise
    raise TypeError(
      f'Cannot serialize dataset with elements {dataset.element_spec} as TFF '
      f'type {type_spec}.'
    )


class _HashableSpec:
  """An `element_spec` as the key of a cache."""

  def __init__(self, element_spec: Any):
    self.element_spec = element_spec
    self._key = sequence_packing.spec_key(element_spec)

  def __eq__(self, other: object) -> bool:
    return isinstance(other, _HashableSpec) and self._key == other._key

  def __hash__(self) -> int:
    return hash(self._key)


@functools.lru_cache(maxsize=256)
def _is_dataset_spec(spec: _HashableSpec, type_spec: tff.SequenceType) -> bool:
  element_type = tff.types.tensorflow_to_type(spec.element_spec)
  # TFF accepts unsorted names in no other container.
  return {collections.OrderedDict}.issuperset(
    _unsorted_containers(element_type)
  ) and type_spec.is_assignable_from(tff.SequenceType(element_type))


def _containers(element_spec: Any) -> Any:
  """Returns a key that specs with equal containers share."""
  return sequence_packing.spec_key(element_spec, lambda _: None)


def _regroup(element: Any, element_type: tff.Type) -> Any:
  """Puts an element's parts into the containers that TFF returns."""
  leaves = sequence_packing.element_leaves(element, element_type)
  return tff.types.structure_from_tensor_type_tree(
    lambda _: next(leaves), element_type
  )
