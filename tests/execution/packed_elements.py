# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The elements of packed sequences, and of others to compare them with."""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
from typing import Any

from fedfish_tff.execution.packing import packed_sequences

from hypothesis import strategies as st
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_DTYPES = (np.float32, np.float64, np.int32, np.int64, np.uint8, np.bool_, str)
_TEXTS = np.array(
  [b'', b'a', b'\x00', b'b\x00', 'gr\u00fc\u00df'.encode()], object
)


def _tensor_type(dtype: Any, shape: Sequence[int | None]) -> tff.TensorType:
  return tff.TensorType(np.str_ if dtype is str else dtype, shape)


def _make_array(
  rng: np.random.Generator, dtype: Any, shape: Sequence[int]
) -> np.ndarray:
  if dtype is str:
    return rng.choice(_TEXTS, size=shape)
  if dtype is np.bool_:
    return rng.integers(2, size=shape).astype(bool)
  return (rng.normal(size=shape) * 50).astype(dtype)


def elements(
  packed: packed_sequences.PackedSequence,
) -> Iterator[list[np.ndarray]]:
  """Cuts the elements out of a packed sequence as its docstring says."""
  for element in range(packed.num_elements):
    yield [
      cut(leaf, layout, element)
      for leaf, layout in zip(packed.copy_used(), packed.layouts, strict=True)
    ]


def cut(
  leaf: np.ndarray, layout: packed_sequences.Layout, element: int
) -> np.ndarray:
  """Cuts a leaf of an element out of its rows."""
  if layout.bounds is None:
    return leaf[layout.plan[element]]
  start, size = layout.bounds[element]
  return leaf[layout.plan[start : start + size]]


def assert_same_elements(
  actual: Iterable[Sequence[Any]], expected: Iterable[Sequence[Any]]
) -> None:
  """Asserts that the leaves of elements agree, and their dtypes in kind."""
  actual, expected = list(actual), list(expected)
  assert len(actual) == len(expected), (len(actual), len(expected))
  for mine, other in zip(actual, expected, strict=True):
    for a, b in zip(mine, other, strict=True):
      a, b = _to_array(a), _to_array(b)
      assert a.dtype.kind == b.dtype.kind or {a.dtype.kind, b.dtype.kind} <= {
        *'OS'
      }, (a.dtype, b.dtype)
      np.testing.assert_array_equal(a, b)


@st.composite
def ragged_elements(
  draw: st.DrawFn,
) -> tuple[list[tff.TensorType], list[tuple[np.ndarray, ...]]]:
  """Draws leaf types and elements of them, as tuples of arrays."""
  rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
  leaves = draw(
    st.lists(
      st.tuples(
        st.sampled_from(_DTYPES),
        st.booleans(),
        st.lists(st.integers(0, 3), max_size=2),
      ),
      min_size=1,
      max_size=3,
    )
  )
  sizes = draw(st.lists(st.integers(0, 4), max_size=5))
  types = [
    _tensor_type(dtype, [None, *shape] if is_batched else shape)
    for dtype, is_batched, shape in leaves
  ]
  drawn = [
    tuple(
      _make_array(rng, dtype, [size, *shape] if is_batched else shape)
      for dtype, is_batched, shape in leaves
    )
    for size in sizes
  ]
  return types, drawn


def _to_array(value: Any) -> np.ndarray:
  """As `np.asarray`, but a string stays what it is, trailing zeros too."""
  if isinstance(value, bytes):
    array = np.empty((), object)
    array[()] = value
    return array
  return np.asarray(value)


def read(dataset: tf.data.Dataset) -> list[list[np.ndarray]]:
  """Returns the leaves of each element of a dataset."""
  return [
    [_to_array(tensor.numpy()) for tensor in tf.nest.flatten(element)]
    for element in dataset
  ]
