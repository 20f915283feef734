# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Conversions of arguments to local values, and of local values to results.

Computations in this process work on local values. By its TFF type:

*   a structure is a tuple (its names are in the type),
*   a tensor is a `tf.Tensor`,
*   a sequence is a `sequence_values.LocalSequence`,
*   a value of all clients is a list with one local value for each; an all-equal
    value, or one at the server, is one local value.

Arguments, results and errors are the same as those of TFF's own contexts.
"""

import collections
from collections.abc import Callable
from collections.abc import Sequence
import functools
from typing import Any

from fedfish_tff import private_apis
from fedfish_tff.execution.packing import sequence_values

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_Cardinalities = dict[tff.framework.PlacementLiteral, int]


def infer_cardinalities(
  value: Any, type_spec: tff.Type | None
) -> _Cardinalities:
  """Returns the number of an argument's members at each placement with some.

  The argument, as the user gave it, is of that type; `None` for none. Parts
  that differ in the number of clients, or values of the clients that are no
  lists, raise TFF's errors.
  """
  if value is None:
    return {}
  if isinstance(value, tff.framework.CardinalityCarrying):
    return dict(value.cardinality)
  if isinstance(type_spec, tff.FederatedType):
    if type_spec.all_equal:
      return {}
    if not isinstance(value, (list, tuple)):
      raise TypeError(
        f'Expected non-all-equal value with placement {type_spec.placement} '
        'to be a `list` or `tuple`, found a value of Python type '
        f'{type(value)}:\n{value}'
      )
    return {type_spec.placement: len(value)}
  cardinalities: _Cardinalities = {}
  if isinstance(type_spec, tff.StructType):
    elements = tff.structure.from_container(value)
    for i, (_, part) in enumerate(tff.structure.iter_elements(type_spec)):
      cardinalities = tff.framework.merge_cardinalities(
        cardinalities, infer_cardinalities(elements[i], part)
      )
  return cardinalities


def to_local_value(value: Any, type_spec: tff.Type) -> Any:
  """Converts an argument of a TFF type to a local value.

  The argument is as the user gave it: Python or NumPy values, tensors,
  variables, datasets, `ClientBatches`, in any containers that TFF takes.

  Raises:
    TypeError: If the argument is not of this type.
    ValueError: If it is malformed.
    NotImplementedError: If TFF supports no such values (TFF's choice of error).
  """
  if isinstance(value, tff.structure.Struct):
    _check_names(value, type_spec)
  return _convert(value, type_spec)


def from_local_value(value: Any, type_spec: tff.Type) -> Any:
  """Converts a local value to a computation's result.

  The type has the containers of the result.

  Returns:
    NumPy arrays and scalars (bytes for strings) and datasets, in Python
    containers; lists for values of the clients, unless they are all equal.
    Arrays are read-only, as in TFF, since they may share memory with tensors.
  """
  return _to_result(value, type_spec, sequence_values.to_result_sequence)


def _check_names(value: tff.structure.Struct, type_spec: tff.Type) -> None:
  """Raises TFF's error for a `Struct` with other names than its type's."""
  if isinstance(type_spec, tff.FederatedType):
    return
  if not isinstance(type_spec, tff.StructType):
    raise ValueError(f'Expected a `tff.StructType`, found {type_spec}.')
  names = tff.structure.name_list_with_nones(value)
  expected = tff.structure.name_list_with_nones(type_spec)
  if len(names) != len(expected):
    raise TypeError(
      f'Value {value} does not match type {type_spec}: mismatching tuple '
      'length.'
    )
  for name, expected_name in zip(names, expected):
    if name not in (expected_name, None):
      raise TypeError(
        f'Value {value} does not match type {type_spec}: mismatching tuple '
        f'element names {name} vs. {expected_name}.'
      )


def _convert(value: Any, type_spec: tff.Type) -> Any:
  """Implements `to_local_value`, except for the names of a `Struct`."""
  if isinstance(type_spec, tff.TensorType):
    return _convert_tensor(value, type_spec)
  if isinstance(type_spec, tff.StructType):
    elements = _elements(value)
    if len(elements) != len(type_spec):
      raise TypeError(
        f'Cannot serialize a struct value of {len(elements)} elements to a '
        f'struct type requiring {len(type_spec)} elements. Trying to '
        f'serialize\n{value!r}\nto\n{type_spec}.'
      )
    return tuple(map(_convert, elements, type_spec))
  if isinstance(type_spec, tff.SequenceType):
    return sequence_values.to_local_sequence(value, type_spec)
  if isinstance(type_spec, tff.FederatedType):
    if type_spec.all_equal:
      return _convert(value, type_spec.member)
    if isinstance(value, list):
      return [_convert(member, type_spec.member) for member in value]
    raise TypeError(f'Expected list, found {type(value).__name__}.')
  raise ValueError(
    f'Unable to serialize value with Python type {type(value).__name__} and '
    f'{type_spec} TFF type.'
  )


def _elements(value: Any) -> Sequence[Any]:
  """Returns the elements of a container."""
  # Most values have these types, and TFF is slow to recognise them.
  if isinstance(value, tff.structure.Struct) or type(value) in (list, tuple):
    return value
  if isinstance(value, dict):
    return tuple(value.values())
  if hasattr(type(value), '_asdict'):
    return tuple(value._asdict().values())
  return tff.structure.from_container(value)


def _convert_tensor(value: Any, type_spec: tff.TensorType) -> tf.Tensor:
  if isinstance(value, tf.Variable):
    value = value.read_value()
  if isinstance(value, tf.Tensor) and not tf.is_symbolic_tensor(value):
    if value.dtype == type_spec.dtype.type and _is_shape(
      value.shape.as_list(), type_spec
    ):
      return value
    value = value.numpy()
  if (
    isinstance(value, (np.ndarray, np.generic))
    and value.dtype == type_spec.dtype
    and value.dtype.kind not in 'OSU'
    and _is_shape(value.shape, type_spec)
  ):
    if isinstance(value, np.generic):
      # `tf.constant` takes three times as long for a scalar.
      return private_apis.share_memory(np.asarray(value))
    if value.ndim and _is_immutable(value):
      return private_apis.share_memory(value)
    return tf.constant(value)
  # TFF has many rules for other values, so it converts them itself.
  proto, _ = tff.framework.serialize_value(value, type_spec)
  array, _ = tff.framework.deserialize_value(proto, type_spec)
  return tf.constant(array, tf.as_dtype(type_spec.dtype.type))


def _is_immutable(array: np.ndarray) -> bool:
  """Returns whether an array's memory is immutable: a tensor's, or bytes."""
  # A read-only view may be a view of a writable array.
  base = array
  while isinstance(base, np.ndarray):
    if base.flags.writeable:
      return False
    base = base.base
  if isinstance(base, memoryview) and base.readonly:
    return isinstance(base.obj, (bytes, np.ndarray))
  return isinstance(base, bytes)


def _is_shape(shape: Sequence[int], type_spec: tff.TensorType) -> bool:
  """Returns whether a shape is known to fit the type."""
  expected = type_spec.shape
  return (
    expected is not None
    and len(shape) == len(expected)
    and all(e is None or e == n for n, e in zip(shape, expected))
  )


def _to_result(
  value: Any,
  type_spec: tff.Type,
  to_sequence: Callable[[Any, tff.SequenceType], tf.data.Dataset],
) -> Any:
  """Implements `from_local_value`."""
  if isinstance(type_spec, tff.TensorType):
    return _to_array(value)
  if isinstance(type_spec, tff.StructType):
    return _to_container(
      [
        (name, _to_result(element, element_type, to_sequence))
        for element, (name, element_type) in zip(
          value, tff.structure.iter_elements(type_spec), strict=True
        )
      ],
      type_spec,
    )
  if isinstance(type_spec, tff.SequenceType):
    return to_sequence(value, type_spec)
  if isinstance(type_spec, tff.FederatedType):
    to_member = functools.partial(
      _to_result,
      type_spec=type_spec.member,
      to_sequence=sequence_values.to_placed_sequence,
    )
    return (
      to_member(value) if type_spec.all_equal else list(map(to_member, value))
    )
  raise ValueError(f'A computation cannot return a value of type {type_spec}.')


def _to_container(
  elements: list[tuple[str | None, Any]], type_spec: tff.StructType
) -> Any:
  """Returns elements in the Python container of their type."""
  container = type_spec.python_container
  # Most containers are these; TFF knows all of them but is slow.
  if all(name is None for name, _ in elements):
    if container is None or container is tuple:
      return tuple(element for _, element in elements)
    if container is list:
      return [element for _, element in elements]
  elif all(name is not None for name, _ in elements):
    if container in (None, collections.OrderedDict):
      return collections.OrderedDict(elements)
    if hasattr(container, '_asdict'):
      return container(**dict(elements))
  return tff.types.type_to_py_container(
    tff.structure.Struct(elements), type_spec
  )


def _to_array(value: tf.Tensor) -> Any:
  if not value.shape.rank or value.dtype == tf.string:
    return value.numpy()
  array = np.asarray(value)
  array.flags.writeable = False
  return array
