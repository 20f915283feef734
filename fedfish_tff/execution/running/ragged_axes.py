# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The uses of a ragged axis in HLO that are known to be exact.

`AXES` lists them by opcode: a function from an instruction to the labels of its
result's axes, as in `ragged_values`, which refuses all other roles of an axis.
"""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import math
from typing import Any
from typing import NamedTuple
from typing import TypeAlias

from fedfish_tff.execution.running import ragged_values

import numpy as np

_FREE = ragged_values.FREE
_Label: TypeAlias = ragged_values.Label


class NotListedError(Exception):
  """Error for a use of a ragged axis that is not listed."""


class Instruction(NamedTuple):
  """An instruction, in the modules of two bounds on the number of rows.

  Attributes:
    proto: The instruction in the module with the smaller bound.
    larger: The instruction in the module with the larger bound.
    taken: The operands' values.
    shapes: The operands' shapes.
    larger_shapes: The same in the module with the larger bound.
    key: An identifier.
    combines: The opcode with which its computation combines two scalars; empty
      if it has no such computation.
  """

  proto: Any
  larger: Any
  taken: Sequence[ragged_values.Value]
  shapes: Sequence[Any]
  larger_shapes: Sequence[Any]
  key: Any
  combines: str = ''


def _require(is_listed: Any) -> None:
  if not is_listed:
    raise NotListedError


def _join(labels: Sequence[_Label]) -> _Label:
  """Returns the label of an axis along which values are combined by place."""
  distinct = set(labels)
  sizes = distinct - {_FREE}
  _require(len(sizes) <= 1 and not (None in sizes and len(distinct) > 1))
  return sizes.pop() if sizes else _FREE


def _joined(values: Sequence[ragged_values.Value]) -> list[_Label]:
  """Returns the labels of values of one shape; scalars apply to each place."""
  rank = max(len(v.axes) for v in values)
  axes = [v.axes for v in values if len(v.axes) == rank]
  return [_join(labels) for labels in zip(*axes, strict=True)]


def _by_place(i: Instruction) -> Sequence[_Label]:
  return _joined(i.taken)


def _bitcast(i: Instruction) -> Sequence[_Label]:
  # Numbers of another width have one axis more or fewer.
  _require(len(i.shapes[0].dimensions) == len(i.proto.shape.dimensions))
  return i.taken[0].axes


def _constant(i: Instruction) -> Sequence[_Label]:
  _require(ragged_values.is_leading(i.proto.literal, i.larger.literal))
  return _growing(i)


def _growing(i: Instruction) -> list[_Label]:
  """Returns the labels if only axes whose bound differs are ragged."""
  sizes = zip(i.proto.shape.dimensions, i.larger.shape.dimensions, strict=True)
  return [None if size == other else _FREE for size, other in sizes]


def _broadcast(i: Instruction) -> Sequence[_Label]:
  labels = _growing(i)
  for label, axis in zip(i.taken[0].axes, i.proto.dimensions, strict=True):
    labels[axis] = label
  return labels


def _transpose(i: Instruction) -> Sequence[_Label]:
  return [i.taken[0].axes[axis] for axis in i.proto.dimensions]


def _reshape(i: Instruction) -> Sequence[_Label]:
  before, after = i.shapes[0].dimensions, i.proto.shape.dimensions
  labels = i.taken[0].axes
  result: list[_Label] = [None] * len(after)
  for taken, made in _groups(before, after):
    ragged = [axis for axis in taken if labels[axis] is not None]
    if not ragged:
      continue
    axis = ragged[0]
    _require(len(ragged) == 1 and before[axis] != 1)
    # Values behind an outermost axis's size are behind the others.
    _require(all(before[other] == 1 for other in taken if other < axis))
    other = next(other for other in made if after[other] != 1)
    result[other] = _scaled(
      labels[axis],
      math.prod(before[n] for n in taken if n > axis),
      math.prod(after[n] for n in made if n > other),
    )
  return result


def _groups(
  before: Sequence[int], after: Sequence[int]
) -> Iterator[tuple[list[int], list[int]]]:
  """Yields the smallest groups of axes between which a reshape moves values."""
  i = j = 0
  _require(all(before) and all(after))
  while i < len(before) or j < len(after):
    taken, made = [], []
    sizes = [1, 1]
    while not taken or not made or sizes[0] != sizes[1]:
      if i < len(before) and (sizes[0] <= sizes[1] or j == len(after)):
        sizes[0] *= before[i]
        taken.append(i)
        i += 1
      elif j < len(after):
        sizes[1] *= after[j]
        made.append(j)
        j += 1
      else:
        break
    yield taken, made


def _scaled(label: _Label, factor: int, divisor: int) -> _Label:
  if label == _FREE or factor == divisor:
    return label
  table = label.table
  sizes = [n * factor for n in (table.small, table.large)]
  _require(not any(np.any(n % divisor) for n in sizes))
  small, large = (n // divisor for n in sizes)
  return ragged_values.Table(label.source, small, large).as_size()


def _dynamic_reshape(i: Instruction) -> Sequence[_Label]:
  labels = _reshape(i)
  for label, size, value in zip(
    labels, i.proto.shape.dimensions, i.taken[1:], strict=True
  ):
    table = value.table
    _require(table is not None and label != _FREE)
    if label is not None:
      _require(table.source == label.source)
      size = label.table.small
    _require(np.all(table.small == size))
  return labels


def _slice(i: Instruction) -> Sequence[_Label]:
  places = [
    [(own.start, own.limit, own.stride) for own in proto.slice_dimensions]
    for proto in (i.proto, i.larger)
  ]
  labels = []
  for axis, label in enumerate(i.taken[0].axes):
    own, other = (of_axis[axis] for of_axis in places)
    if label is None:
      _require(own == other)
    else:
      _require(own == (0, i.shapes[0].dimensions[axis], 1))
      _require(other == (0, i.larger_shapes[0].dimensions[axis], 1))
    labels.append(label)
  return labels


def _size_set(i: Instruction) -> Sequence[_Label]:
  (axis,) = i.proto.dimensions
  labels = list(i.taken[0].axes)
  bounds = [p.shape.dimensions[axis] for p in (i.proto, i.larger)]
  label, table = labels[axis], i.taken[1].table
  if table is None:
    # The packed rows' own size; see `private_apis.set_dynamic_size`.
    _require(i.proto.metadata.op_type == _ROWS and label == _FREE)
    table = ragged_values.Table(i.key, *(np.arange(n + 1) for n in bounds))
  else:
    for sizes, bound in zip((table.small, table.large), bounds, strict=True):
      _require(sizes.min() >= 0 and sizes.max() <= bound)
    _require(table.is_exact)
    if label is None and table.small.min() == bounds[0] == bounds[1]:
      return labels
    if label not in (None, _FREE):
      # The leading part of what there is.
      _require(table.source in (None, label.source))
      _require(np.all(table.small <= label.table.small))
  labels[axis] = table.as_size()
  return labels


_ROWS = 'XlaSetDynamicDimensionSize'


def _concatenate(i: Instruction) -> Sequence[_Label]:
  (axis,) = i.proto.dimensions
  labels = list(i.taken[0].axes)
  for other in range(len(labels)):
    of_axis = [value.axes[other] for value in i.taken]
    _require(other != axis or set(of_axis) == {None})
    labels[other] = _join(of_axis)
  return labels


def _pad(i: Instruction) -> Sequence[_Label]:
  labels = i.taken[0].axes
  for label, own in zip(labels, i.proto.padding_config.dimensions, strict=True):
    padding = own.edge_padding_low, own.edge_padding_high, own.interior_padding
    _require(label is None or not any(padding))
  return labels


def _reverse(i: Instruction) -> Sequence[_Label]:
  labels = i.taken[0].axes
  _require(all(labels[axis] is None for axis in i.proto.dimensions))
  return labels


def _reduce(i: Instruction) -> Sequence[_Label]:
  tensors = i.taken[: len(i.taken) // 2]
  labels = _joined(tensors)
  for axis in i.proto.dimensions:
    _require(labels[axis] != _FREE)
    # XLA masks by the initial value, which must change nothing.
    _require(labels[axis] is None or i.combines in _MASKED)
  return [
    label for n, label in enumerate(labels) if n not in i.proto.dimensions
  ]


_MASKED = ('add', 'and', 'maximum', 'minimum', 'multiply', 'or')


def _windows(i: Instruction) -> Sequence[_Label]:
  """Labels reduce-window and its gradient, select-and-scatter."""
  is_gradient = i.proto.opcode == 'select-and-scatter'
  tensors = i.taken[:2] if is_gradient else i.taken[: len(i.taken) // 2]
  labels = _joined(tensors)
  for label, window in zip(labels, i.proto.window.dimensions, strict=True):
    _require(label is None or _is_place(window))
  return labels


def _is_place(window: Any) -> bool:
  """Returns whether a window has one value, at its own place."""
  padding = window.padding_low, window.padding_high
  return window.size == window.stride == 1 and not any(padding)


def _sort(i: Instruction) -> Sequence[_Label]:
  labels = _joined(i.taken)
  _require(all(labels[axis] is None for axis in i.proto.dimensions))
  return labels


def _dot(i: Instruction) -> Sequence[_Label]:
  numbers = i.proto.dot_dimension_numbers
  left, right = (value.axes for value in i.taken)
  for a, b in zip(
    numbers.lhs_contracting_dimensions,
    numbers.rhs_contracting_dimensions,
    strict=True,
  ):
    _require(left[a] == right[b] != _FREE)
  batches = [numbers.lhs_batch_dimensions, numbers.rhs_batch_dimensions]
  used = [
    {*batches[0], *numbers.lhs_contracting_dimensions},
    {*batches[1], *numbers.rhs_contracting_dimensions},
  ]
  return [
    *(_join([left[a], right[b]]) for a, b in zip(*batches, strict=True)),
    *(label for n, label in enumerate(left) if n not in used[0]),
    *(label for n, label in enumerate(right) if n not in used[1]),
  ]


def _convolution(i: Instruction) -> Sequence[_Label]:
  axes = i.proto.convolution_dimension_numbers
  taken, kernel = (value.axes for value in i.taken)
  spatial = [
    *(taken[axis] for axis in axes.input_spatial_dimensions),
    *(kernel[axis] for axis in axes.kernel_spatial_dimensions),
  ]
  _require(set(spatial) <= {None})
  labels: list[_Label] = [None] * len(taken)
  labels[axes.output_batch_dimension] = taken[axes.input_batch_dimension]
  labels[axes.output_feature_dimension] = kernel[
    axes.kernel_output_feature_dimension
  ]
  channels = taken[axes.input_feature_dimension]
  _require(channels == kernel[axes.kernel_input_feature_dimension] != _FREE)
  if channels is not None:
    # A gradient of kernels, which sums over the batch.
    groups = i.proto.batch_group_count
    sizes = i.proto.shape.dimensions
    _require(groups in (1, sizes[axes.output_feature_dimension]))
    _require(i.proto.feature_group_count <= 1)
  _require(labels[axes.output_feature_dimension] is None)
  return labels


def _gather(i: Instruction) -> Sequence[_Label]:
  numbers = i.proto.gather_dimension_numbers
  _require(not getattr(numbers, 'operand_batching_dims', ()))
  operand, indices = (value.axes for value in i.taken[:2])
  _require(_at(indices, numbers.index_vector_dim) is None)
  kept = []
  for axis, label in enumerate(operand):
    size = i.proto.gather_slice_sizes[axis]
    other = i.larger.gather_slice_sizes[axis]
    own = _part(
      label,
      (size, i.shapes[0].dimensions[axis]),
      (other, i.larger_shapes[0].dimensions[axis]),
    )
    _require(own is None or axis not in numbers.start_index_map)
    if axis not in numbers.collapsed_slice_dims:
      kept.append(own)
  rows = [
    label for n, label in enumerate(indices) if n != numbers.index_vector_dim
  ]
  parts, rows = iter(kept), iter(rows)
  return [
    next(parts) if axis in numbers.offset_dims else next(rows)
    for axis in range(len(i.proto.shape.dimensions))
  ]


def _at(labels: Sequence[_Label], axis: int) -> _Label:
  """Returns the label of an axis, which may be one behind the last."""
  return labels[axis] if axis < len(labels) else None


def _part(
  label: _Label, own: tuple[int, int], other: tuple[int, int]
) -> _Label:
  """Returns the label of a slice: of all of an axis, or at a place.

  Args:
    label: The axis's label.
    own: The sizes of the slice and of the axis.
    other: The same in the module with the larger bound.
  """
  if own[0] == other[0] and (label is None or own[0] == 1):
    return None
  _require(label is not None and own[0] == own[1] and other[0] == other[1])
  return label


def _dynamic_slice(i: Instruction) -> Sequence[_Label]:
  return [
    _part(label, own, other)
    for label, own, other in zip(
      i.taken[0].axes,
      zip(i.proto.dynamic_slice_sizes, i.shapes[0].dimensions, strict=True),
      zip(
        i.larger.dynamic_slice_sizes, i.larger_shapes[0].dimensions, strict=True
      ),
      strict=True,
    )
  ]


def _scatter(i: Instruction) -> Sequence[_Label]:
  numbers = i.proto.scatter_dimension_numbers
  _require(
    len(i.taken) == 3 and not getattr(numbers, 'input_batching_dims', ())
  )
  operand, indices, updates = (value.axes for value in i.taken)
  _require(_at(indices, numbers.index_vector_dim) is None)
  windows = [updates[axis] for axis in numbers.update_window_dims]
  rows = [
    label
    for n, label in enumerate(updates)
    if n not in numbers.update_window_dims
  ]
  # XLA drops the updates of indices behind the size.
  _require(
    rows
    == [
      label for n, label in enumerate(indices) if n != numbers.index_vector_dim
    ]
  )
  _require(_FREE not in (*operand, *windows, *rows))
  whole = [
    label
    for axis, label in enumerate(operand)
    if axis not in numbers.inserted_window_dims
  ]
  _require(whole == windows)
  return operand


def _batch_norm(i: Instruction) -> Sequence[_Label]:
  """Labels the normalised batch; what is per feature has no label."""
  tensors = [v for v in i.taken if len(v.axes) == len(i.taken[0].axes) > 1]
  labels = _joined(tensors)
  _require(labels[i.proto.feature_index] is None and _FREE not in labels)
  return labels


# Opcodes of which each result depends on the operands' values at its place.
_BY_PLACE = (
  'abs add and atan2 ceil clamp compare complex convert cosine divide '
  'erf exponential exponential-minus-one floor imag is-finite log log-plus-one '
  'logistic maximum minimum multiply negate not or popcnt power real '
  'remainder round-nearest-even rsqrt select '
  'shift-left shift-right-arithmetic shift-right-logical sign sine sqrt subtract '
  'tan tanh xor'
).split()

AXES: Mapping[str, Callable[[Instruction], Sequence[_Label]]] = {
  **dict.fromkeys(_BY_PLACE, _by_place),
  'batch-norm-grad': _batch_norm,
  'batch-norm-inference': _batch_norm,
  'batch-norm-training': _batch_norm,
  'bitcast-convert': _bitcast,
  'broadcast': _broadcast,
  'concatenate': _concatenate,
  'constant': _constant,
  'convolution': _convolution,
  'dot': _dot,
  'dynamic-reshape': _dynamic_reshape,
  'dynamic-slice': _dynamic_slice,
  'gather': _gather,
  'iota': _growing,
  'pad': _pad,
  'reduce': _reduce,
  'reduce-window': _windows,
  'reshape': _reshape,
  'reverse': _reverse,
  'scatter': _scatter,
  'select-and-scatter': _windows,
  'set-dimension-size': _size_set,
  'slice': _slice,
  'sort': _sort,
  'transpose': _transpose,
}
