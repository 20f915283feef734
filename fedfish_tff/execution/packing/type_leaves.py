# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Parts and leaves of types and local values.

The leaves of a type, or of a local value as in `local_values`, are its tensors
and sequences, in the order of the type. All other parts are structures of them.
"""

from collections.abc import Callable
from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff


def parts(type_spec: tff.Type) -> Iterator[tff.Type]:
  """Yields a type and then its parts, at any depth."""
  yield type_spec
  if isinstance(type_spec, tff.StructType):
    for element in type_spec:
      yield from parts(element)


def leaf_types(type_spec: tff.Type | None) -> list[tff.Type]:
  """Returns the leaves of a type; an empty list for None."""
  if type_spec is None:
    return []
  return [p for p in parts(type_spec) if not isinstance(p, tff.StructType)]


def tensor_spec(tensor_type: tff.TensorType) -> tf.TensorSpec:
  """Returns the spec of a leaf that is a tensor."""
  dtype = tf.as_dtype(tensor_type.dtype.type)
  return tf.TensorSpec(tensor_type.shape, dtype)


def to_array(value: tf.Tensor | np.ndarray) -> np.ndarray:
  """Returns a tensor's array, with shared memory where possible.

  Strings are objects of type bytes: NumPy's own would lose trailing NUL bytes.
  """
  dtype = object if value.dtype == tf.string else None
  if isinstance(value, tf.Tensor) and not value.shape.rank:
    # NumPy cannot read a scalar of bfloat16 by itself.
    value = value.numpy()
  return np.asarray(value, dtype)


def flatten(value: Any) -> list[Any]:
  """Returns the leaves of a local value, or of other nested tuples."""
  if isinstance(value, tuple):
    return [leaf for element in value for leaf in flatten(element)]
  return [value]


def from_leaf_types(
  make: Callable[[tff.Type], Any], type_spec: tff.Type
) -> Any:
  """Returns a local value of the type, with leaves made from their types."""
  if isinstance(type_spec, tff.StructType):
    return tuple(from_leaf_types(make, element) for element in type_spec)
  return make(type_spec)


def zeros(type_spec: tff.Type) -> Any:
  """Returns the local value of zeros of a type of tensors of known shapes."""
  return from_leaf_types(
    lambda leaf: tf.zeros(leaf.shape, tf.as_dtype(leaf.dtype.type)), type_spec
  )


def unflatten(leaves: Iterator[Any], type_spec: tff.Type) -> Any:
  """Returns a local value of the given type; takes its leaves as needed."""
  return from_leaf_types(lambda _: next(leaves), type_spec)
