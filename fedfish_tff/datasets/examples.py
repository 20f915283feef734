# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""One client's examples: a nest of arrays with the same leading dimension."""

from collections.abc import Mapping
import sys
from typing import Any

from fedfish_tff import errors

import numpy as np
import tensorflow as tf

# A nest of np.ndarray, all [n, ...]; for supervised tasks the tuple (x, y).
Examples = Any


def array_names(examples: Examples) -> list[str]:
  """Returns a readable name per array, in the order of `tf.nest.flatten`.

  Args:
    examples: A nest of arrays or of `tf.TensorSpec`s.

  Returns:
    Names such as 'x' and 'y' for the tuple (x, y), and the keys of mappings,
    joined by '/'.
  """
  return _array_names(examples, '') or []


def _array_names(nest: Any, prefix: str) -> list[str]:
  if isinstance(nest, Mapping):
    children = [(str(key), nest[key]) for key in sorted(nest)]
  elif isinstance(nest, (tuple, list)):
    # Only a pair at the top is that of a supervised task.
    names = (
      'xy' if len(nest) == 2 and not prefix else map(str, range(len(nest)))
    )
    children = list(zip(names, nest))
  else:
    return [prefix or 'array']
  return [
    name
    for key, child in children
    for name in _array_names(child, f'{prefix}/{key}' if prefix else key)
  ]


def count_examples(examples: Examples) -> int:
  """Returns n, the leading dimension of every array of valid examples."""
  return int(tf.nest.flatten(examples)[0].shape[0])


def count_bytes(examples: Examples) -> int:
  """Returns the bytes that the arrays of `examples` and their texts occupy."""
  return sum(
    array.nbytes
    + (sum(map(sys.getsizeof, array.flat)) if array.dtype.hasobject else 0)
    for array in tf.nest.flatten(examples)
  )


def take_examples(examples: Examples, indices: np.ndarray) -> Examples:
  """Returns the examples at `indices` (int [m]), in that order, as copies."""
  return tf.nest.map_structure(
    lambda array: np.take(array, indices, axis=0), examples
  )


def spec_of_examples(examples: Examples) -> Any:
  """Returns the nest of `tf.TensorSpec` of ONE example (no batch dimension)."""
  return tf.nest.map_structure(
    lambda array: tf.TensorSpec(array.shape[1:], tf.as_dtype(array.dtype)),
    examples,
  )


def validate_examples(
  examples: Examples,
  *,
  client_id: str,
  element_spec: Any = None,
  allow_empty: bool = False,
) -> Examples:
  """Checks one client's examples and returns them as read-only arrays.

  Args:
    examples: A nest of arrays [n, ...]; those of texts may hold `bytes`
      objects, as TensorFlow's do. They have one length, and floats are finite.
    client_id: The client's id, for the error message.
    element_spec: The nest of `tf.TensorSpec` of the first client's examples,
      which these must have, too; None for the first client.
    allow_empty: Whether n may be 0.

  Returns:
    The same nest of read-only views (no copies of NumPy arrays).
  """
  if isinstance(examples, tf.data.Dataset):
    raise errors.InputError(
      f'The examples of client {client_id!r} must be arrays, got a '
      'tf.data.Dataset: dataset.batch(2**31 - 1).get_single_element() makes '
      'arrays, after unbatch() if its elements are batches.'
    )
  names = array_names(examples)
  if not names:
    raise errors.InputError(f'Client {client_id!r} has no arrays.')
  for name, array in zip(names, tf.nest.flatten(examples), strict=True):
    # Arrays without masks would have the values beneath.
    if np.ma.is_masked(array):
      raise errors.InputError(
        f'Array {name!r} of client {client_id!r} must have no masked values, '
        f'got {np.ma.count_masked(array)} of {array.size}.'
      )
  examples = tf.nest.map_structure(_read_only, examples)
  arrays = dict(zip(names, tf.nest.flatten(examples), strict=True))
  for name, array in arrays.items():
    _check_dtype(array.dtype, name, client_id)
    if array.dtype.hasobject and not all(
      isinstance(value, bytes) for value in array.flat
    ):
      raise errors.InputError(
        f'Array {name!r} of client {client_id!r} must hold numbers, booleans '
        'or texts as bytes, got Python objects.'
      )
    if not array.ndim:
      raise errors.InputError(
        f'Array {name!r} of client {client_id!r} must have a leading dimension '
        'of examples, got a single value (np.array makes one array of a list, '
        'which by itself is several).'
      )
  lengths = {name: len(array) for name, array in arrays.items()}
  if len(set(lengths.values())) > 1:
    found = ', '.join(f'{name!r}: {n}' for name, n in lengths.items())
    raise errors.InputError(
      f'The arrays of client {client_id!r} must have one entry per example '
      f'each, got the lengths {found}.'
    )
  if not allow_empty and not lengths[names[0]]:
    raise errors.InputError(
      f'Client {client_id!r} must have at least one example, got none.'
    )
  if element_spec is not None:
    _check_spec(examples, element_spec, client_id)
  for name, array in arrays.items():
    if np.issubdtype(array.dtype, np.inexact):
      num_bad = array.size - int(np.count_nonzero(np.isfinite(array)))
      if num_bad:
        raise errors.InputError(
          f'Array {name!r} of client {client_id!r} must hold finite values, '
          f'got {num_bad} NaN or infinite one(s) of {array.size}.'
        )
  return examples


def _check_dtype(dtype: np.dtype, name: str, client_id: str) -> None:
  try:
    tf.as_dtype(dtype)
  except TypeError:  # Dates, structures and numbers of 16 bytes.
    raise errors.InputError(
      f'Array {name!r} of client {client_id!r} must hold numbers of up to 8 '
      f'bytes, booleans or texts, which TensorFlow knows, got {dtype}.'
    ) from None


def _read_only(array: Any) -> np.ndarray:
  # A view, so that the caller's own array stays writeable.
  view = np.asarray(array).view()
  view.flags.writeable = False
  return view


def _check_spec(examples: Examples, expected: Any, client_id: str) -> None:
  """Raises an InputError where `examples` do not fit the `expected` spec."""
  found = spec_of_examples(examples)
  try:
    tf.nest.assert_same_structure(found, expected)
  except (TypeError, ValueError):
    raise errors.InputError(
      f'Client {client_id!r} must have the arrays {array_names(expected)}, as '
      f'the first client does, got {array_names(found)}.'
    ) from None
  for name, found_spec, expected_spec in zip(
    array_names(expected),
    tf.nest.flatten(found),
    tf.nest.flatten(expected),
    strict=True,
  ):
    if found_spec != expected_spec:
      raise errors.InputError(
        f'Array {name!r} of client {client_id!r} must hold '
        f'{_describe(expected_spec)} per example, as that of the first client '
        f'does, got {_describe(found_spec)}.'
      )


def _describe(spec: tf.TensorSpec) -> str:
  return f'{spec.dtype.name}{spec.shape.as_list()}'
