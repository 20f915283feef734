# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Rows that a dataset holds in memory, found without reading the dataset.

Most programs pass `tf.data.Dataset.from_tensor_slices(arrays).batch(n)`, made
anew for every round, as a client's data. Such a dataset holds the arrays, and
steps such as `batch`, `take` and `repeat` only choose and order their rows.
"""

from collections.abc import Callable
from collections.abc import Mapping
import types

from fedfish_tff import private_apis
from fedfish_tff.execution.packing import packed_sequences

import numpy as np
import tensorflow as tf

# Longer datasets, such as repeat(10**9) before a take, are read step by step.
_MAX_ELEMENTS = 10**7

Rows = tuple[list[np.ndarray], packed_sequences.Layout]


def find_rows(dataset: tf.data.Dataset) -> Rows | None:
  """Returns the arrays in a dataset and the layout of its rows.

  The arrays are in the order of tf.data. None unless all steps of the dataset
  are known to choose and order rows only.
  """
  kind = private_apis.step_kind(dataset)
  if kind in _STEPS:
    return _STEPS[kind](dataset)
  if kind != '_TensorSliceDataset':
    return None
  tensors = private_apis.slices_of(dataset)
  if not all(hasattr(tensor, 'numpy') for tensor in tensors):
    return None
  leaves = list(map(np.asarray, tensors))
  return leaves, packed_sequences.Layout.in_order(len(leaves[0]))


def _find_input(dataset: tf.data.Dataset) -> Rows | None:
  (source,) = private_apis.step_inputs(dataset)
  return find_rows(source)


def _choose(
  choose: Callable[[int, int], np.ndarray | None],
) -> Callable[[tf.data.Dataset], Rows | None]:
  """Returns a step that passes some elements on.

  Args:
    choose: A function (number of elements, the step's own count, which may be
      negative) -> positions of the elements passed on, or None if unsupported.
  """

  def step(dataset: tf.data.Dataset) -> Rows | None:
    rows = _find_input(dataset)
    number = private_apis.step_setting(dataset, 'count')
    if rows is None or number is None:
      return None
    leaves, layout = rows
    kept = choose(layout.num_elements, int(number))
    return None if kept is None else (leaves, layout.select(kept))

  return step


def _take(num_elements: int, count: int) -> np.ndarray:
  # A negative count takes all elements.
  return np.arange(num_elements if count < 0 else min(count, num_elements))


def _skip(num_elements: int, count: int) -> np.ndarray:
  return np.arange(num_elements if count < 0 else count, num_elements)


def _repeat(num_elements: int, count: int) -> np.ndarray | None:
  if count < 0 or count * num_elements > _MAX_ELEMENTS:
    return None
  return np.tile(np.arange(num_elements), count)


def _batch(dataset: tf.data.Dataset) -> Rows | None:
  rows = _find_input(dataset)
  size = private_apis.step_setting(dataset, 'batch_size')
  drops = private_apis.step_setting(dataset, 'drop_remainder')
  if rows is None or size is None or drops is None:
    return None
  leaves, layout = rows
  if layout.bounds is not None:  # Batches of batches.
    return None
  sizes = np.full(-(-layout.num_elements // size), size)
  rest = layout.num_elements % size
  if rest:
    sizes[-1] = rest
    sizes = sizes[:-1] if drops else sizes
  return leaves, layout.batch(sizes)


_STEPS: Mapping[str, Callable[[tf.data.Dataset], Rows | None]] = (
  types.MappingProxyType(
    {
      '_BatchDataset': _batch,
      '_OptionsDataset': _find_input,
      '_PrefetchDataset': _find_input,
      '_RepeatDataset': _choose(_repeat),
      '_SkipDataset': _choose(_skip),
      '_TakeDataset': _choose(_take),
    }
  )
)
