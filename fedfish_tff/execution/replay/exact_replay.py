# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Operations for which XLA differs from TensorFlow's CPU kernels.

XLA knows a batch only by the most rows that it can have. Operations for which it
would take that number for the number of rows are replayed by others, or refused.
"""

from collections.abc import Iterator
from collections.abc import Mapping

from fedfish_tff.execution.replay import replayer

import tensorflow as tf

_NodeDef = tf.compat.v1.NodeDef


def _sliced_axes(node: _NodeDef, rank: int, num_specs: int) -> Iterator[int]:
  """Yields the input's axis of each spec of a slice; -1 if it has none."""

  def is_set(mask: str, place: int) -> bool:
    return bool(node.attr[mask].i >> place & 1)

  axis = 0
  for place in range(num_specs):
    if is_set('ellipsis_mask', place):
      later = range(place + 1, num_specs)
      axis = rank - sum(not is_set('new_axis_mask', i) for i in later)
      yield -1
    elif is_set('new_axis_mask', place) or is_set('begin_mask', place):
      yield -1
      axis += not is_set('new_axis_mask', place)
    else:
      yield axis
      axis += 1


def _strided_slice(replay, node, inputs):
  """Refuses x[-1], for which XLA counts from the most rows."""
  del replay
  tensor, begin, *_ = inputs
  begins = tf.get_static_value(begin)
  if begins is not None and tensor.shape.rank is not None:
    for axis, start in zip(
      _sliced_axes(node, tensor.shape.rank, len(begins)), begins, strict=True
    ):
      if axis >= 0 and start < 0 and tensor.shape[axis] is None:
        raise replayer.NotReplayableError(
          f'{node.op} that counts from the end of an axis of unknown size'
        )
  return replayer.create_operation(node, inputs)


def _concat_offset(replay, node, inputs):
  """Refuses offsets behind parts of unknown size, such as of gradients."""
  del replay
  axis = _constant(inputs[0])
  if axis is None or any(_size(s, axis) is None for s in inputs[1:-1]):
    raise replayer.NotReplayableError(f'{node.op} of parts of unknown size')
  return replayer.create_operation(node, inputs)


def _matrix_diagonal(replay, node, inputs):
  """Refuses diagonals of matrices of unknown size: XLA reads beyond them."""
  del replay
  _check_known(node, inputs[0].shape[-2:])
  return replayer.create_operation(node, inputs)


def _reverse_sequence(replay, node, inputs):
  """Refuses sequences of unknown length, which XLA takes for the longest."""
  del replay
  axis = node.attr['seq_dim'].i
  _check_known(node, inputs[0].shape[axis : axis + 1])
  return replayer.create_operation(node, inputs)


def _batch_to_space(replay, node, inputs):
  """Replays a part of dilated convolutions by reshapes with one unknown size.

  XLA's own reshapes would take another axis for the one of unknown size.
  """
  del replay
  values, block, crops = inputs
  block, crops = tf.get_static_value(block), tf.get_static_value(crops)
  sizes = values.shape[1:]
  _check_known(node, sizes)
  if block is None or crops is None:
    raise replayer.NotReplayableError(f'{node.op} of unknown blocks')
  number = len(block)
  axes = range(number)
  parts = tf.reshape(values, [*block, -1, *sizes])
  order = [number]
  for axis in axes:
    order += [number + 1 + axis, axis]
  rest = range(len(order), parts.shape.rank)
  inner = [size * factor for size, factor in zip(sizes, block)]
  whole = tf.reshape(
    tf.transpose(parts, [*order, *rest]), [-1, *inner, *sizes[number:]]
  )
  kept = [
    slice(first, size - last) for size, (first, last) in zip(inner, crops)
  ]
  return [whole[(slice(None), *kept)]]


def _check_known(node: _NodeDef, sizes: tf.TensorShape) -> None:
  if not sizes.is_fully_defined():
    raise replayer.NotReplayableError(
      f'{node.op} along an axis of unknown size'
    )


def _constant(number: tf.Tensor) -> int | None:
  """Returns a number that is known, maybe as a remainder; None if unknown."""
  if number.op.type != 'FloorMod':
    return tf.get_static_value(number)
  parts = list(map(tf.get_static_value, number.op.inputs))
  return None if None in parts else parts[0] % parts[1]


def _size(shape: tf.Tensor, axis: int) -> int | None:
  """Returns an element of a shape, given as a tensor; None if unknown."""
  if shape.op.type in ('Shape', 'ShapeN'):
    return shape.op.inputs[shape.value_index].shape[axis]
  known = tf.get_static_value(shape, partial=True)
  return None if known is None else known[axis]


def _zero_where_zero(replay, node, inputs):
  """Replays a gradient that is 0 where that of the result is, for 0, too."""
  del replay
  _, gradient = inputs
  (result,) = replayer.create_operation(node, inputs)
  return [tf.where(tf.equal(gradient, 0), tf.zeros_like(result), result)]


def _selu_gradient(replay, node, inputs):
  """Replays the gradient of SELU; XLA takes the other one at 0."""
  del replay
  gradient, output = inputs
  above = tf.where(tf.equal(output, 0), tf.ones_like(output), output)
  return replayer.create_operation(node, [gradient, above])


def _top_k(replay, node, inputs):
  """Replays TopKV2; XLA would put -0 behind 0."""
  del replay
  values, k = inputs
  values = tf.where(tf.equal(values, 0), tf.zeros_like(values), values)
  return replayer.create_operation(node, [values, k])


# The handlers for graphs that XLA compiles.
HANDLERS: Mapping[str, replayer.Handler] = {
  'BatchToSpaceND': _batch_to_space,
  'ConcatOffset': _concat_offset,
  'MatrixDiagPart': _matrix_diagonal,
  'MatrixDiagPartV2': _matrix_diagonal,
  'MatrixDiagPartV3': _matrix_diagonal,
  'MatrixSetDiag': _matrix_diagonal,
  'MatrixSetDiagV2': _matrix_diagonal,
  'MatrixSetDiagV3': _matrix_diagonal,
  'ReverseSequence': _reverse_sequence,
  'RsqrtGrad': _zero_where_zero,
  'SeluGrad': _selu_gradient,
  'SqrtGrad': _zero_where_zero,
  'StridedSlice': _strided_slice,
  'TopKV2': _top_k,
}
