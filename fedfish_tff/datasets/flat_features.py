# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Examples as flat dicts of features, and their bytes in grouped files.

The bytes are those of `tfds.features.FeaturesDict.serialize_example`, made
without its checks of every value, which take longer than all the rest, and
without TensorFlow.
"""

from collections.abc import Mapping
import dataclasses
from typing import Any
from typing import TYPE_CHECKING

from fedfish_tff import errors
from fedfish_tff.datasets import wire_format

import numpy as np

if TYPE_CHECKING:  # Whose import takes seconds.
  import tensorflow_datasets as tfds

_DTYPES = ('string', 'int64', 'float32')
_PIECE_LETTERS = 2**16


@dataclasses.dataclass(frozen=True)
class FlatFeature:
  """One feature of an example.

  Attributes:
    dtype: 'string', 'int64' or 'float32'.
    shape: The shape, the same for all examples; () for strings.
  """

  dtype: str
  shape: tuple[int, ...] = ()


def features_to_json(
  features: Mapping[str, FlatFeature],
) -> dict[str, dict[str, Any]]:
  """Returns what dataset.json says of the features, by name.

  Args:
    features: The features by name.
  """
  return {
    name: {'dtype': feature.dtype, 'shape': list(feature.shape)}
    for name, feature in sorted(features.items())
  }


def features_from_json(
  described: Mapping[str, Mapping[str, Any]],
) -> 'tfds.features.FeaturesDict':
  """Returns the features as TFDS and Dataset Grouper take them.

  Args:
    described: The entry 'features' of a dataset.json: for each name a dtype
      and a shape.

  Raises:
    errors.InputError: If a feature is described otherwise.
  """
  # Imported late: grouping does without it.
  import tensorflow_datasets as tfds  # pylint: disable=g-import-not-at-top

  features = {}
  for name, entry in described.items():
    try:
      dtype, shape = entry['dtype'], tuple(map(int, entry['shape']))
    except (KeyError, TypeError, ValueError):
      dtype, shape = None, ()
    if dtype not in _DTYPES or (dtype == 'string' and shape):
      raise errors.InputError(
        f'Feature {name!r} is described as {entry!r}; a dtype of '
        f'{", ".join(_DTYPES)} and a shape were expected, () for strings.'
      )
    features[name] = (
      tfds.features.Text()
      if dtype == 'string'
      else tfds.features.Tensor(shape=shape, dtype=np.dtype(dtype))
    )
  return tfds.features.FeaturesDict(features)


def serialize_example(
  example: Mapping[str, Any], features: Mapping[str, FlatFeature]
) -> bytes:
  """Returns the bytes of one example, the same in every process.

  Args:
    example: A value for each feature: bytes, or numbers of its shape.
    features: The features by name.
  """
  pieces = []
  for name, feature in sorted(features.items()):
    entry = wire_format.field(1, [name.encode()])
    entry += wire_format.field(2, _encode_value(example[name], feature))
    pieces += wire_format.field(1, entry)  # Of the map.
  return b''.join(wire_format.field(1, pieces))


def _encode_value(value: Any, feature: FlatFeature) -> list[bytes]:
  """Returns a `tf.train.Feature`, which is a list of one of three types."""
  if feature.dtype == 'string':
    return wire_format.field(1, wire_format.field(1, [value]))
  flat = np.asarray(value, feature.dtype).reshape(-1)
  if feature.dtype == 'float32':
    number, packed = 2, [flat.astype('<f4').tobytes()]
  else:
    number, packed = 3, [wire_format.varint(item) for item in flat.tolist()]
  # Also of no numbers, there is a list of this type.
  return wire_format.field(
    number, wire_format.field(1, packed) if flat.size else []
  )


def count_words(
  example: Mapping[str, Any], features: Mapping[str, FlatFeature]
) -> int:
  """Returns how many words, with white space between them, an example has.

  Those of the feature 'text', or of all strings where there is no such feature.

  Args:
    example: A value for each feature, bytes for strings.
    features: The features by name.
  """
  names = [name for name, f in features.items() if f.dtype == 'string']
  if 'text' in names:
    names = ['text']
  return sum(_count_words(example[n].decode(errors='replace')) for n in names)


def _count_words(text: str) -> int:
  # In pieces: a list of all words takes thirty times the bytes of short ones.
  total, is_inside = 0, False
  for start in range(0, len(text), _PIECE_LETTERS):
    piece = text[start : start + _PIECE_LETTERS]
    total += len(piece.split()) - (is_inside and not piece[0].isspace())
    is_inside = not piece[-1].isspace()
  return total
