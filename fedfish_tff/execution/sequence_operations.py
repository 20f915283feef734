# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""More of `tf.data` on the sequences of a replayed graph.

What client work is made of beside `take`, `skip`, `repeat`, `map` and `reduce`
(see `sequence_replay`): `range`, `zip` and so `enumerate`, `concatenate`,
`filter` and `batch`. Each again knows its length and how to cut out element i.
"""

from collections.abc import Callable
from collections.abc import Mapping

from fedfish_tff.execution import graph_replay
from fedfish_tff.execution import sequence_replay

import tensorflow as tf

_NodeDef = tf.compat.v1.NodeDef
_Element = Callable[[tf.Tensor], list[tf.Tensor]]


def _check(
  node: _NodeDef, value: graph_replay.Value
) -> tuple[tf.Tensor, _Element, bool]:
  """Returns a sequence's length, how to cut out an element, and `is_drawn`."""
  sequence = sequence_replay.check_single_size(node, value)
  return sequence.count, sequence.elements[0], sequence.is_drawn


def _sequence(
  count: tf.Tensor, element: _Element, is_drawn: bool = False
) -> sequence_replay.Sequence:
  return sequence_replay.Sequence(count, (element,), is_drawn=is_drawn)


def _range(replay, node, inputs):
  del replay
  start, stop, step = inputs
  dtype = tf.as_dtype(node.attr['output_types'].list.type[0])
  # Rounded up, whichever way it goes; the end may be the largest integer.
  count = tf.maximum((stop - start - tf.sign(step)) // step + 1, 0)
  return [_sequence(count, lambda i: [tf.cast(start + i * step, dtype)])]


def _zip(replay, node, inputs):
  del replay
  parts = [_check(node, value) for value in inputs]
  counts, elements, are_drawn = zip(*parts)
  return [
    _sequence(
      tf.reduce_min(tf.stack(counts)),
      lambda i: [leaf for element in elements for leaf in element(i)],
      any(are_drawn),
    )
  ]


def _concatenate(replay, node, inputs):
  del replay
  (first_count, first, first_is_drawn), (second_count, second, is_drawn) = (
    _check(node, value) for value in inputs
  )
  # One without end has the largest count.
  count = first_count + tf.minimum(second_count, tf.int64.max - first_count)
  return [
    _sequence(
      count,
      lambda i: tf.nest.flatten(
        tf.cond(
          i < first_count, lambda: first(i), lambda: second(i - first_count)
        )
      ),
      first_is_drawn or is_drawn,
    )
  ]


def _filter(replay, node, inputs):
  """Replays FilterDataset: one pass finds the elements that stay."""
  (count, element, is_drawn), arguments = _check(node, inputs[0]), inputs[1:]
  predicate = node.attr['predicate'].func.name
  if any(isinstance(a, graph_replay.Variable) for a in arguments):
    raise graph_replay.NotReplayableError(f'{node.op} that reads a variable')
  if is_drawn or replay.draws(predicate):
    # The elements that stay would be others than those that were looked at.
    raise graph_replay.NotReplayableError(f'{node.op} of random elements')
  stays = tf.map_fn(
    lambda i: replay.call(predicate, [*element(i), *arguments])[0],
    tf.range(count),
    fn_output_signature=tf.TensorSpec([], tf.bool),
  )
  positions = tf.boolean_mask(tf.range(count), stays)
  return [
    _sequence(
      tf.size(positions, tf.int64), lambda i: element(tf.gather(positions, i))
    )
  ]


def _rewrite(replay, node, inputs):
  """Replays RewriteDataset: hints for tf.data's own optimiser."""
  del replay
  return [_sequence(*_check(node, inputs[0]))]


def _batch(replay, node, inputs):
  """Replays BatchDataset: element i stacks `size` elements."""
  del replay
  # A parallel one has the number of its calls in between.
  size, drop_remainder = inputs[1], inputs[-1]
  count, element, is_drawn = _check(node, inputs[0])
  specs = [
    tf.TensorSpec(tf.TensorShape(shape)[1:], dtype)
    for shape, dtype in zip(
      node.attr['output_shapes'].list.shape,
      node.attr['output_types'].list.type,
      strict=True,
    )
  ]
  for spec in specs:
    if not spec.shape.is_fully_defined():
      raise graph_replay.NotReplayableError(
        f'{node.op} of elements of unknown shape'
      )

  def batch(i: tf.Tensor) -> list[tf.Tensor]:
    rows = tf.range(i * size, tf.minimum((i + 1) * size, count))
    return tf.map_fn(element, rows, fn_output_signature=specs)

  num_batches = tf.where(drop_remainder, count // size, -(-count // size))
  return [_sequence(num_batches, batch, is_drawn)]


HANDLERS: Mapping[str, graph_replay.Handler] = {
  'BatchDatasetV2': _batch,
  'ConcatenateDataset': _concatenate,
  'FilterDataset': _filter,
  'ParallelBatchDataset': _batch,
  'RangeDataset': _range,
  'RewriteDataset': _rewrite,
  'ZipDataset': _zip,
}
