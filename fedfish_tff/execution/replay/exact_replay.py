# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Operations for which XLA differs from TensorFlow's CPU kernels.

They are replayed by others that give the kernels' values. Some of these would
depend on the most rows that a batch can have, which XLA takes for its size.
"""

from collections.abc import Mapping

from fedfish_tff.execution.replay import failures
from fedfish_tff.execution.replay import replayer

import tensorflow as tf

_NodeDef = tf.compat.v1.NodeDef


def _concat_offset(replay, node, inputs):
  """Replays offsets that do not depend on the number of rows as constants."""
  del replay
  axis, *shapes = _number(inputs[0]), *map(_sizes, inputs[1:])
  if axis is None or any(s is None or s[axis] is None for s in shapes):
    return replayer.create_operation(node, inputs)
  results, offset = [], 0
  for sizes in shapes:
    starts = [0] * len(sizes)
    starts[axis] = offset
    results.append(tf.constant(starts, inputs[1].dtype))
    offset += sizes[axis]
  return results


def _slice(replay, node, inputs):
  """Replays a slice of all rows, such as in the gradient of a concatenation.

  XLA would slice by the most rows that there can be.
  """
  tensor, begin, size = inputs
  starts, sizes = tf.get_static_value(begin), _sizes(size)
  if starts is None or sizes is None or None not in sizes:
    return failures.HANDLERS[node.op](replay, node, inputs)
  places = []
  for axis, (start, number) in enumerate(zip(starts, sizes, strict=True)):
    if number is not None:
      places.append(slice(start, None if number < 0 else start + number))
    elif start == 0:
      places.append(slice(None))
      # Fewer rows are a matter of this process.
      rows = tf.shape(tensor, size.dtype)[axis]
      replay.note_failure(tf.not_equal(size[axis], rows))
    else:
      raise replayer.NotReplayableError(f'{node.op} of an unknown size')
  return [tensor[tuple(places)]]


def _number(number: tf.Tensor) -> int | None:
  """Returns a number that is known, maybe as a remainder; None if unknown."""
  if number.op.type != 'FloorMod':
    return tf.get_static_value(number)
  parts = list(map(tf.get_static_value, number.op.inputs))
  return None if None in parts else parts[0] % parts[1]


def _sizes(shape: tf.Tensor) -> list[int | None] | None:
  """Returns the elements of a shape, each None if unknown; None without any."""
  if shape.op.type in ('Shape', 'ShapeN'):
    of = shape.op.inputs[shape.value_index].shape
    return None if of.rank is None else of.as_list()
  known = tf.get_static_value(shape, partial=True)
  return None if known is None else list(known)


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


def _batch_norm(replay, node, inputs):
  """Replays a normalisation; the variance corrects for the batch's own size."""
  del replay
  x, *_, before = inputs
  results = replayer.create_operation(node, inputs)
  if not node.attr['is_training'].b:
    return results
  channels = x.shape[1 if node.attr['data_format'].s[1:2] == b'C' else -1]
  count = tf.cast(tf.size(x) // channels, before.dtype)
  variance = results[4] * (count / tf.maximum(count - 1, 1))
  share = node.attr['exponential_avg_factor'].f
  if 'exponential_avg_factor' in node.attr and share != 1:
    variance = before * (1 - share) + variance * share
  results[2] = variance
  return results


# The handlers for graphs that XLA compiles.
HANDLERS: Mapping[str, replayer.Handler] = {
  'ConcatOffset': _concat_offset,
  'FusedBatchNormV3': _batch_norm,
  'RsqrtGrad': _zero_where_zero,
  'SeluGrad': _selu_gradient,
  'Slice': _slice,
  'SqrtGrad': _zero_where_zero,
  'TopKV2': _top_k,
}
