# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Examples as bytes, and a client's examples from its record.

An example is a serialized `tf.train.Example`. A record is a
`tf.train.SequenceExample`, as written by Dataset Grouper, with one feature list
that holds a client's examples.
"""

from collections.abc import Mapping
from typing import Any

from fedfish_tff import errors

from google.protobuf import message
import numpy as np
import tensorflow as tf

# The same name as in Dataset Grouper.
_EXAMPLES = 'serialized_bytes'
_PIECE_LETTERS = 2**16


def is_text(value: Any) -> bool:
  """Returns whether a value is a string that can be written as UTF-8."""
  if not isinstance(value, str):
    return False
  try:
    value.encode()
  except UnicodeEncodeError:  # Half of a surrogate pair.
    return False
  return True


def encode_example(
  example: Mapping[str, Any], features: Mapping[str, Mapping[str, Any]]
) -> bytes:
  """Returns the bytes of one example, the same in every process.

  They equal those of `tfds.features.FeaturesDict.serialize_example`, without
  its checks of every value, which take longer than everything else.

  Args:
    example: A value for each feature: bytes, or numbers of its shape.
    features: The features, as in dataset.json.
  """
  encoded = tf.train.Example()
  for name, feature in features.items():
    values = getattr(encoded.features.feature[name], _kind(feature['dtype']))
    # The list gets its type even if it has no numbers.
    values.SetInParent()
    value = example[name]
    if isinstance(value, bytes):
      values.value.append(value)
    else:
      array = np.asarray(value, feature['dtype'])
      values.value.extend(array.ravel().tolist())
  return encoded.SerializeToString(deterministic=True)


def count_words(
  example: Mapping[str, Any], features: Mapping[str, Mapping[str, Any]]
) -> int:
  """Returns the number of words, separated by white space, of an example.

  They are those of the feature 'text', or of all strings if there is no such
  feature.

  Args:
    example: A value for each feature, bytes for strings.
    features: The features, as in dataset.json.
  """
  names = [n for n, feature in features.items() if feature['dtype'] == 'string']
  if 'text' in names:
    names = ['text']
  return sum(_count_words(example[n].decode(errors='replace')) for n in names)


def _count_words(text: str) -> int:
  # In pieces: a list of all words takes thirty times the bytes of short words.
  total, is_inside = 0, False
  for start in range(0, len(text), _PIECE_LETTERS):
    piece = text[start : start + _PIECE_LETTERS]
    total += len(piece.split()) - (is_inside and not piece[0].isspace())
    is_inside = not piece[-1].isspace()
  return total


def decode_examples(
  record: bytes, features: Mapping[str, tf.TensorSpec], *, client_id: str
) -> dict[str, np.ndarray]:
  """Returns a client's examples.

  Args:
    record: The client's record, as Dataset Grouper writes it.
    features: The features to read, all of fixed shapes.
    client_id: The client's id, for the error message.

  Returns:
    For each feature an array [n, ...], of `bytes` objects for text.
  """
  lists = _parse(tf.train.SequenceExample, record, client_id).feature_lists
  if _EXAMPLES not in lists.feature_list:
    raise errors.InputError(
      f'The record of client {client_id!r} must have the feature list '
      f'{_EXAMPLES!r}, as Dataset Grouper writes it, got none.'
    )
  values = {name: [] for name in features}
  sizes = {name: spec.shape.num_elements() for name, spec in features.items()}
  kinds = {name: _kind(spec.dtype.name) for name, spec in features.items()}
  entries = lists.feature_list[_EXAMPLES].feature
  for number, entry in enumerate(entries):
    serialized = b''.join(entry.bytes_list.value)
    found = _parse(tf.train.Example, serialized, client_id).features.feature
    for name, into in values.items():
      value = getattr(found[name], kinds[name]).value if name in found else ()
      if len(value) != sizes[name]:
        raise errors.InputError(
          f'Example {number} of client {client_id!r} must have {sizes[name]} '
          f'value(s) of the feature {name!r} ({kinds[name]}), got {len(value)}.'
        )
      into.extend(value)
  return {
    name: _to_array(values[name], spec, len(entries))
    for name, spec in features.items()
  }


def _parse(proto_type: Any, content: bytes, client_id: str) -> Any:
  try:
    return proto_type.FromString(content)
  except message.DecodeError as error:
    raise errors.InputError(
      f'The record of client {client_id!r} must be a '
      f'{proto_type.DESCRIPTOR.full_name}, as Dataset Grouper writes it, and '
      f'cannot be parsed ({error}).'
    ) from error


def _kind(dtype: str) -> str:
  """Returns the name of the list for values of a TensorFlow type."""
  if dtype == 'string':
    return 'bytes_list'
  return 'float_list' if 'float' in dtype else 'int64_list'


def _to_array(
  values: list[Any], spec: tf.TensorSpec, num_examples: int
) -> np.ndarray:
  if spec.dtype == tf.string:
    array = np.empty(len(values), object)
    array[:] = values
  else:
    array = np.array(values, spec.dtype.as_numpy_dtype)
  return array.reshape([num_examples, *spec.shape.as_list()])
