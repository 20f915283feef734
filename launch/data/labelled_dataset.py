# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Labelled examples in arrays, of whichever source."""

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from fedfish_tff import errors

import numpy as np

# The feature that names the client where folders or files do.
CLIENT = 'client'
# The names that are given to splits other than train.
HELD_OUT_SPLITS = ('test', 'validation', 'valid', 'val', 'dev', 'eval')


@dataclasses.dataclass(frozen=True, kw_only=True)
class LabelledDataset:
  """A split of a data set, in the order of its files.

  Attributes:
    name: The data set with its config and version, such as 'mnist/3.0.1'.
    feature: The name of the input feature.
    label: The name of the label.
    x: The input feature, [n, ...].
    is_image: Whether x holds pixels of 0 to 255.
    labels: The label of each example, [n]: int64 for classes, floats for
      targets of a regression.
    others: Further features by name, [n] each: int64 for classes, objects for
      strings.
    class_names: The names of classes, by feature, for features that have them.
    unused: The names of a table's other columns, or of a folder's other files.
    is_test: Whether each example is its client's own test data, bool [n]; None
      if the source does not say.
  """

  name: str
  feature: str
  label: str
  x: np.ndarray
  is_image: bool
  labels: np.ndarray
  others: Mapping[str, np.ndarray]
  class_names: Mapping[str, Sequence[str]]
  unused: Sequence[str] = ()
  is_test: np.ndarray | None = None

  def names_of(self, feature: str, values: np.ndarray) -> list[str]:
    """Returns the class names of a feature's values, or the values as text."""
    names = self.class_names.get(feature)
    return [
      names[v] if names else _to_text(v) for v in np.asarray(values).tolist()
    ]


def check_finite(
  values: np.ndarray,
  title: str,
  *,
  remedy: str = 'leave these examples out',
) -> np.ndarray:
  """Returns values [n, ...], which must not be NaN or infinite.

  Args:
    values: The values, of any type.
    title: The values' name, with which the message begins.
    remedy: The end of the message.
  """
  if values.dtype.kind == 'f':
    is_bad = ~np.isfinite(values).all(axis=tuple(range(1, values.ndim)))
    if is_bad.any():
      raise errors.InputError(
        f'{title} must hold finite numbers in each of {len(values)} examples, '
        f'got NaN or infinity in {np.count_nonzero(is_bad)}; {remedy}.'
      )
  return values


def _to_text(value: int | float | bool | str | bytes) -> str:
  if isinstance(value, bytes):
    return value.decode(errors='backslashreplace')
  return str(value)
