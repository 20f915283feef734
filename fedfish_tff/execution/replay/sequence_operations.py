# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Further `tf.data` operations on the sequences of a replayed graph.

Beside `take`, `skip`, `repeat`, `map` and `reduce`, which `sequence_replay`
has, client work uses `range`, `from_tensors`, `from_tensor_slices`, `zip` (and
so `enumerate`), `concatenate`, `filter`, `batch`, `shuffle` and `rebatch`. Each
result again knows its length and how to cut out element i.
"""

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses

from fedfish_tff.execution.replay import replayer
from fedfish_tff.execution.replay import sequence_replay

import numpy as np
import tensorflow as tf

_NodeDef = tf.compat.v1.NodeDef
_Element = Callable[[tf.Tensor], list[tf.Tensor]]

_check = sequence_replay.check_sequence

# The operation of `tf.data.Dataset.rebatch`, which needs `Sequence.rows`.
REBATCH = 'RebatchDatasetV2'


def _sequence(
  count: tf.Tensor, element: _Element, *parts: sequence_replay.Sequence
) -> sequence_replay.Sequence:
  """Returns a sequence with elements made from those of others."""
  return sequence_replay.Sequence(
    count,
    element,
    is_drawn=any(part.is_drawn for part in parts),
    is_computed=any(part.is_computed for part in parts),
    is_long=any(part.is_long for part in parts),
    unrolls=all(part.unrolls for part in parts),
    passes=sum((part.passes for part in parts), ()),
  )


def _range(replay, node, inputs):
  del replay
  start, stop, step = inputs
  dtype = tf.as_dtype(node.attr['output_types'].list.type[0])
  # Rounded up for either sign of the step; `stop` may be the largest integer.
  count = tf.maximum((stop - start - tf.sign(step)) // step + 1, 0)
  numbers = _sequence(count, lambda i: [tf.cast(start + i * step, dtype)])
  return [dataclasses.replace(numbers, is_long=True, takes_many=True)]


def _tensors(replay, node, inputs):
  del replay
  _check_components(node, inputs)
  return [_sequence(tf.constant(1, tf.int64), lambda i: list(inputs))]


def _slices(replay, node, inputs):
  del replay
  _check_components(node, inputs)
  lengths = {tensor.shape[0] for tensor in inputs}
  if len(inputs) > 1 and (None in lengths or len(lengths) > 1):
    # Unequal lengths are an error.
    raise replayer.NotReplayableError(f'{node.op} of unknown lengths')
  count = tf.shape(inputs[0], tf.int64)[0]
  slices = _sequence(count, lambda i: [tf.gather(t, i) for t in inputs])
  return [dataclasses.replace(slices, takes_many=True)]


def _check_components(node: _NodeDef, inputs: list[replayer.Value]) -> None:
  for value in inputs:
    if not isinstance(value, tf.Tensor) or value.dtype == tf.variant:
      raise replayer.NotReplayableError(f'{node.op} of datasets')
    if not value.shape.rank and node.op == 'TensorSliceDataset':
      raise replayer.NotReplayableError(f'{node.op} of unknown shapes')


def _zip(replay, node, inputs):
  del replay
  parts = [_check(node, value) for value in inputs]
  shortest = count = tf.reduce_min(tf.stack([part.count for part in parts]))
  for part in parts:
    # tf.data finds the end only when it requests one more element.
    count = part.passing(shortest, tf.minimum(shortest + 1, part.count), count)
  zipped = _sequence(
    count,
    lambda i: [leaf for part in parts for leaf in part.element(i)],
    *parts,
  )
  return [
    dataclasses.replace(
      zipped,
      is_long=all(part.is_long for part in parts),
      takes_many=all(part.takes_many for part in parts),
      passes=tuple(own.cut_off() for own in zipped.passes),
    )
  ]


def _concatenate(replay, node, inputs):
  del replay
  first, second = (_check(node, value) for value in inputs)
  # An endless sequence has the largest count.
  count = first.count + tf.minimum(second.count, tf.int64.max - first.count)

  def element(i: tf.Tensor) -> list[tf.Tensor]:
    return tf.nest.flatten(
      tf.cond(
        i < first.count,
        lambda: first.element(i),
        lambda: second.element(i - first.count),
      )
    )

  joined = _sequence(count, element, first, second)
  return [dataclasses.replace(joined, unrolls=True)]


def _filter(replay, node, inputs):
  """Replays FilterDataset: one pass finds the elements to keep."""
  sequence, arguments = _check(node, inputs[0]), inputs[1:]
  predicate = node.attr['predicate'].func.name
  if any(isinstance(a, replayer.Variable) for a in arguments):
    raise replayer.NotReplayableError(f'{node.op} that reads a variable')
  if sequence.is_drawn or replay.graph.draws(predicate):
    # The kept elements would differ from the tested ones.
    raise replayer.NotReplayableError(f'{node.op} of random elements')
  if sequence.is_long:
    # A later `take` may need only a few of its elements.
    raise replayer.NotReplayableError(f'{node.op} of a repeated dataset')

  def stays(i: tf.Tensor) -> tf.Tensor:
    with replay.losing_notes(node.op):
      parts = sequence.element(i)
      results = replay.call(predicate, [*parts, *arguments])
    return sequence.after_unread(replay.unread(predicate, parts), results)[0]

  is_kept = tf.map_fn(
    stays,
    tf.range(sequence.count),
    fn_output_signature=tf.TensorSpec([], tf.bool),
  )
  positions = tf.reshape(tf.where(is_kept), [-1])
  count = tf.size(positions, tf.int64)
  return [sequence.reindexed(count, lambda i: tf.gather(positions, i))]


def _rewrite(replay, node, inputs):
  """Replays RewriteDataset: hints for tf.data's own optimiser."""
  del replay
  return [_check(node, inputs[0])]


def _batch(replay, node, inputs):
  """Replays BatchDataset: element i stacks `size` elements."""
  # ParallelBatchDataset has its number of calls between these two.
  size, drop_remainder = inputs[1], inputs[-1]
  sequence = _check(node, inputs[0])
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
      raise replayer.NotReplayableError(
        f'{node.op} of elements of unknown shape'
      )

  def element(i: tf.Tensor) -> list[tf.Tensor]:
    with replay.losing_notes(node.op):
      return sequence.element(i)

  def batch(i: tf.Tensor) -> list[tf.Tensor]:
    start = i * size
    rows = tf.range(start, start + tf.minimum(size, sequence.count - start))
    if sequence.takes_many:
      return sequence.element(rows)
    return tf.map_fn(element, rows, fn_output_signature=specs)

  whole = sequence.count // size
  num_batches = tf.where(drop_remainder, whole, -(-sequence.count // size))
  # A dropped remainder is read, too. Otherwise the end is the sequence's count,
  # since the next multiple of the size may exceed the largest integer.
  end = tf.where(drop_remainder, whole * size, sequence.count)
  num_batches = sequence.passing(end, sequence.count, num_batches)
  batches = _sequence(num_batches, batch, sequence)
  # To gather a batch takes longer than to start a step.
  return [dataclasses.replace(batches, unrolls=False)]


def _shuffle(replay, node, inputs):
  """Replays ShuffleDataset: tf.data shuffles the numbers of the elements."""
  sequence, (size, seed, seed2) = _check(node, inputs[0]), inputs[1:4]
  if sequence.is_computed or sequence.is_drawn or sequence.is_long:
    # The buffer also computes, draws and keeps elements that are never taken.
    raise replayer.NotReplayableError(f'{node.op} of other than rows')
  if replay.use_xla:
    raise replayer.NotReplayableError(node.op)
  # An empty dataset would have no batch.
  count = tf.maximum(sequence.count, 1)
  numbers = tf.raw_ops.ShuffleDataset(
    input_dataset=tf.data.experimental.to_variant(tf.data.Dataset.range(count)),
    buffer_size=size,
    seed=seed,
    seed2=seed2,
    reshuffle_each_iteration=node.attr['reshuffle_each_iteration'].b,
    output_types=[tf.int64],
    output_shapes=[[]],
  )
  numbers = tf.data.experimental.from_variant(
    numbers, tf.TensorSpec([], tf.int64)
  )
  order = numbers.batch(count).get_single_element()
  counter = sequence_replay.PassCounter(tf.compat.v1.get_default_graph())

  def check() -> None:
    if counter.count > 1:
      # Each pass has an order of its own.
      raise replayer.NotReplayableError(f'{node.op} that is read again')

  replay.at_end.append(check)
  shuffled = sequence.reindexed(sequence.count, lambda i: tf.gather(order, i))
  return [
    dataclasses.replace(
      shuffled, is_drawn=True, passes=(*sequence.passes, counter.of_reader())
    )
  ]


def _no_seed_generator(replay, node, inputs):
  del replay, node, inputs
  # The generator continues from pass to pass; here there is only one pass.
  return [None]


def _rebatch(replay, node, inputs):
  """Replays RebatchDatasetV2: cuts rows anew, whatever their batches were."""
  del replay
  sizes, drop_remainder = map(tf.get_static_value, inputs[1:])
  sequence = _check(node, inputs[0])
  rows = sequence.rows
  if rows is None or sizes is None or np.size(sizes) != 1 or drop_remainder:
    raise replayer.NotReplayableError(f'{node.op} of other than a batch size')
  size = np.int64(np.reshape(sizes, []))
  bound = size if rows.bound is None else min(size, rows.bound)

  def batch(i: tf.Tensor) -> list[tf.Tensor]:
    start = i * size
    return rows.cut(start, tf.minimum(size, rows.count - start), int(bound))

  return [
    sequence_replay.Sequence(
      -(-rows.count // size), batch, passes=sequence.passes
    )
  ]


HANDLERS: Mapping[str, replayer.Handler] = {
  'BatchDatasetV2': _batch,
  'ConcatenateDataset': _concatenate,
  'DummySeedGenerator': _no_seed_generator,
  'FilterDataset': _filter,
  'ParallelBatchDataset': _batch,
  'RangeDataset': _range,
  REBATCH: _rebatch,
  'RewriteDataset': _rewrite,
  'ShuffleDataset': _shuffle,
  'ShuffleDatasetV3': _shuffle,
  'TensorDataset': _tensors,
  'TensorSliceDataset': _slices,
  'ZipDataset': _zip,
}
