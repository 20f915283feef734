# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Flattening of a process' nested metrics to named columns of numbers."""

import collections
from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any

import numpy as np

# The prefixes of `tff.learning`'s metrics, and those of the columns.
_RENAMED_PREFIXES = (
  ('client_work/train/', 'train/'),
  ('client_work/', 'train/'),
  # The same prefix as that of communication/wire_bytes.
  ('aggregator/payload_bytes', 'communication/payload_bytes'),
)


def flatten_metrics(metrics: Any) -> collections.OrderedDict[str, int | float]:
  """Flattens the metrics of a learning process to slash-named numbers.

  Client work's metrics become `train/...`. Those of the other parts keep their
  names (`aggregator/...`, `finalizer/...`), except the bytes that clients have
  sent, which become `communication/payload_bytes`. Arrays become one number per
  element, with the index at the end of the name; empty structures vanish.

  Args:
    metrics: Nested mappings, sequences and arrays of numbers, such as the
      metrics of `tff.learning.templates.LearningProcessOutput`.

  Returns:
    Python integers and floats by name, in the structure's order.
  """
  flat = collections.OrderedDict()
  for name, value in _leaves(metrics, ''):
    for prefix, renamed in _RENAMED_PREFIXES:
      if name.startswith(prefix):
        name = renamed + name[len(prefix) :]
        break
    flat[name] = value
  return flat


def to_number(value: Any) -> int | float:
  """Returns a scalar as the Python number of exactly the same value."""
  if isinstance(value, int):  # NumPy's integers have at most 64 bits.
    return int(value)
  array = np.asarray(value)
  if array.shape or array.dtype.kind not in 'biuf':
    raise TypeError(f'A metric must be a number, got {value!r}.')
  return float(array) if array.dtype.kind == 'f' else int(array)


def _leaves(value: Any, name: str) -> Iterator[tuple[str, int | float]]:
  """Yields the names and numbers of a nested structure."""
  if hasattr(value, '_asdict'):  # A named tuple.
    value = value._asdict()
  if isinstance(value, Mapping):
    children = value.items()
  elif isinstance(value, (list, tuple)) or np.ndim(value):
    children = enumerate(value)
  else:
    yield name, to_number(value)
    return
  for key, child in children:
    yield from _leaves(child, f'{name}/{key}' if name else str(key))
