# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Examples as flat dicts of features, and their bytes in grouped files.

The bytes are those of `tfds.features.FeaturesDict.serialize_example`, made
without its checks of every value, which take longer than all the rest.
"""

from collections.abc import Mapping
import dataclasses
from typing import Any

from fedfish_tff import errors

import numpy as np
import tensorflow as tf
import tensorflow_datasets as tfds

_DTYPES = ('string', 'int64', 'float32')


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
) -> tfds.features.FeaturesDict:
  """Returns the features as TFDS and Dataset Grouper take them.

  Args:
    described: The entry 'features' of a dataset.json: for each name a dtype
      and a shape.

  Raises:
    errors.InputError: If a feature is described otherwise.
  """
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
  # Filled in place: a message that is given to another is copied.
  message = tf.train.Example()
  values = message.features.feature
  for name, feature in features.items():
    value = example[name]
    if feature.dtype == 'string':
      values[name].bytes_list.value.append(value)
      continue
    flat = np.asarray(value, feature.dtype).reshape(-1)
    # Also of no numbers, there is a list of this type.
    if feature.dtype == 'int64':
      values[name].int64_list.SetInParent()
      values[name].int64_list.value.extend(flat)
    else:
      values[name].float_list.SetInParent()
      values[name].float_list.value.extend(flat)
  return message.SerializeToString(deterministic=True)


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
  return sum(len(example[n].decode(errors='replace').split()) for n in names)
