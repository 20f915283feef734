# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Values of HLO instructions whose shapes depend on a batch's number of rows.

An axis has a label: None if its size is fixed, a `Size`, or `FREE`. Small
arrays of integers that follow from numbers of rows are tables: the array for
each number of rows. Both exist twice, for two bounds on the number of rows.
"""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import math
from typing import Any
from typing import NamedTuple
from typing import TypeAlias

import numpy as np

# The label of an axis along which a value depends on its place alone, not on
# the bound or the number of rows, such as of copies of a constant.
FREE = 'free'


class Size(NamedTuple):
  """The number of values along an axis, which XLA masks behind them.

  Attributes:
    source: The instruction that sets the number of rows; None if there is none.
    small: The sizes by number of rows, int64, as bytes.
    large: The same in the module with the larger bound.
  """

  source: Any
  small: bytes
  large: bytes

  @property
  def table(self) -> 'Table':
    """The sizes as a table of scalars."""
    return Table(
      self.source,
      np.frombuffer(self.small, np.int64),
      np.frombuffer(self.large, np.int64),
    )


# The fields of literals whose values are known, and the most values of one.
_INTEGERS = ('s32s', 's64s', 'preds')
_MOST_ELEMENTS = 64

Label: TypeAlias = Size | str | None


class Table(NamedTuple):
  """A small array of integers for each number of rows.

  Attributes:
    source: The instruction that sets the number of rows; None if there is none.
    small: The values by number of rows, [bound + 1, ...], or [1, ...] if they
      are constant.
    large: The same in the module with the larger bound.
  """

  source: Any
  small: np.ndarray
  large: np.ndarray

  @property
  def is_exact(self) -> bool:
    """True if the values do not depend on the bound."""
    return np.array_equal(self.large[: len(self.small)], self.small)

  def as_size(self) -> Size:
    """Returns the label of an axis of these sizes."""
    small, large = np.int64(self.small), np.int64(self.large)
    return Size(self.source, small.tobytes(), large.tobytes())


class Value(NamedTuple):
  """An instruction's result.

  Attributes:
    axes: The labels of its axes.
    table: Its values, if they are few and follow from numbers of rows.
    parts: The parts of a tuple; else None.
  """

  axes: tuple[Label, ...] = ()
  table: Table | None = None
  parts: 'tuple[Value, ...] | None' = None

  @property
  def is_ragged(self) -> bool:
    """True if an axis has a label."""
    return any(axis is not None for axis in self.axes) or any(
      part.is_ragged for part in self.parts or ()
    )

  @property
  def is_exact(self) -> bool:
    """True if known values do not depend on the bound."""
    return (self.table is None or self.table.is_exact) and all(
      part.is_exact for part in self.parts or ()
    )


def fixed(shape: Any) -> Value:
  """Returns a value of a shape of fixed size."""
  if shape.tuple_shapes:
    return Value(parts=tuple(map(fixed, shape.tuple_shapes)))
  return Value((None,) * len(shape.dimensions))


def without_tables(value: Value) -> Value:
  """Returns a value of which only the axes' labels are known."""
  parts = value.parts and tuple(map(without_tables, value.parts))
  return Value(value.axes, None, parts)


def is_leading(small: Any, large: Any) -> bool:
  """Returns whether a literal is the leading part of one of a larger shape."""
  for field in (*_INTEGERS, 'u32s', 'u64s', 'f32s', 'f64s'):
    numbers = [np.array(getattr(literal, field)) for literal in (small, large)]
    if all(n.size for n in numbers):
      arrays = [
        n.reshape(literal.shape.dimensions)
        for n, literal in zip(numbers, (small, large), strict=True)
      ]
      place = tuple(map(slice, arrays[0].shape))
      return np.array_equal(arrays[1][place], arrays[0], equal_nan=True)
  return False


def tabulate(
  proto: Any, larger: Any, taken: Sequence[Table | None]
) -> Table | None:
  """Returns the table of an instruction of tables; None if it has none."""
  if proto.opcode == 'constant':
    arrays = [_integers(i.literal) for i in (proto, larger)]
    if any(a is None for a in arrays) or arrays[0].shape != arrays[1].shape:
      return None
    return Table(None, *arrays)
  if not taken or None in taken or proto.opcode not in _KNOWN:
    return None
  if list(proto.shape.dimensions) != list(larger.shape.dimensions):
    return None
  sources = {table.source for table in taken} - {None}
  if len(sources) > 1 or math.prod(proto.shape.dimensions) > _MOST_ELEMENTS:
    return None
  if proto.opcode == 'convert' and not _is_integral(proto.shape):
    return None
  if proto.opcode == 'broadcast' and taken[0].small.ndim > 1:
    return None
  return Table(
    sources.pop() if sources else None,
    _apply(proto, [table.small for table in taken]),
    _apply(proto, [table.large for table in taken]),
  )


def _integers(literal: Any) -> np.ndarray | None:
  """Returns a literal with a leading axis; None if it is not of integers."""
  if math.prod(literal.shape.dimensions) > _MOST_ELEMENTS:
    return None
  for field in _INTEGERS:
    if numbers := getattr(literal, field):
      dtype = bool if field == 'preds' else np.int64
      return np.array(numbers, dtype).reshape(1, *literal.shape.dimensions)
  return None


def _is_integral(shape: Any) -> bool:
  types = shape.DESCRIPTOR.fields_by_name['element_type'].enum_type
  name = types.values_by_number[shape.element_type].name
  return name in ('S32', 'S64')


def _divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
  # XLA rounds towards zero.
  return np.sign(a) * np.sign(b) * (abs(a) // np.maximum(abs(b), 1))


_COMPARISONS = dict(
  EQ=np.equal,
  NE=np.not_equal,
  LT=np.less,
  LE=np.less_equal,
  GT=np.greater,
  GE=np.greater_equal,
)
_ARITHMETIC: Mapping[str, Callable[..., np.ndarray]] = {
  'abs': abs,
  'add': np.add,
  'clamp': lambda low, x, high: np.clip(x, low, high),
  'divide': _divide,
  'maximum': np.maximum,
  'minimum': np.minimum,
  'multiply': np.multiply,
  'negate': np.negative,
  'select': np.where,
  'subtract': np.subtract,
}
_KNOWN = {
  *_ARITHMETIC,
  'broadcast',
  'compare',
  'concatenate',
  'convert',
  'copy',
  'reshape',
  'slice',
}


def _apply(proto: Any, arrays: Sequence[np.ndarray]) -> np.ndarray:
  """Returns an instruction's results for arrays with a leading axis."""
  kind, first, length = proto.opcode, arrays[0], max(map(len, arrays))
  shape = tuple(proto.shape.dimensions)
  if kind in _ARITHMETIC:
    return _ARITHMETIC[kind](*arrays)
  if kind == 'compare':
    return _COMPARISONS[proto.comparison_direction](*arrays)
  if kind == 'broadcast':
    first = first.reshape(len(first), *[1] * len(shape))
    return np.broadcast_to(first, (len(first), *shape))
  if kind == 'concatenate':
    (axis,) = proto.dimensions
    parts = [np.broadcast_to(a, (length, *a.shape[1:])) for a in arrays]
    return np.concatenate(parts, axis=axis + 1)
  if kind == 'slice':
    places = [slice(s.start, s.limit, s.stride) for s in proto.slice_dimensions]
    return first[(slice(None), *places)]
  return first.reshape(len(first), *shape)
