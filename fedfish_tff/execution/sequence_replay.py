# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What stands in for datasets in a replayed graph: sequences of packed arrays.

A sequence knows its length and how to cut out its element i, so that `take`,
`skip`, `repeat` and `map` are arithmetic on i, and `reduce` is a loop.
"""

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses

from fedfish_tff.execution import graph_replay
from fedfish_tff.execution import loop_steps

import tensorflow as tf

_NodeDef = tf.compat.v1.NodeDef


@dataclasses.dataclass(frozen=True, eq=False)
class Sequence:
  """A dataset's stand-in.

  Attributes:
    count: int64 scalar.
    element: From an int64 scalar in [0, count) to the element's tensors.
  """

  count: tf.Tensor
  element: Callable[[tf.Tensor], list[tf.Tensor]]


def _check(node: _NodeDef, value: graph_replay.Value) -> Sequence:
  if not isinstance(value, Sequence):
    raise graph_replay.NotReplayableError(
      f'{node.op} of a dataset that the graph makes itself'
    )
  return value


def _pass_on(replay, node, inputs):
  del replay
  return [_check(node, inputs[0])]


def _take(replay, node, inputs):
  del replay
  sequence, limit = _check(node, inputs[0]), inputs[1]
  count = tf.where(limit < 0, sequence.count, tf.minimum(limit, sequence.count))
  return [Sequence(count, sequence.element)]


def _skip(replay, node, inputs):
  del replay
  sequence, number = _check(node, inputs[0]), inputs[1]
  # A negative number skips everything.
  skipped = tf.where(
    number < 0, sequence.count, tf.minimum(number, sequence.count)
  )
  return [
    Sequence(sequence.count - skipped, lambda i: sequence.element(i + skipped))
  ]


def _repeat(replay, node, inputs):
  del replay
  sequence, times = _check(node, inputs[0]), inputs[1]
  # Without end if negative; a sequence of none stays empty.
  times = tf.where(
    times < 0, tf.int64.max // tf.maximum(sequence.count, 1), times
  )
  return [
    Sequence(
      sequence.count * times, lambda i: sequence.element(i % sequence.count)
    )
  ]


def _map(replay, node, inputs):
  sequence, arguments = _check(node, inputs[0]), inputs[1:]
  if node.op == 'ParallelMapDatasetV2' or node.op == 'ParallelMapDataset':
    arguments = arguments[:-1]
  name = node.attr['f'].func.name
  if any(isinstance(a, graph_replay.Variable) for a in arguments):
    raise graph_replay.NotReplayableError(f'{node.op} that reads a variable')
  return [
    Sequence(
      sequence.count,
      lambda i: replay.call(name, [*sequence.element(i), *arguments]),
    )
  ]


def _reduce(replay, node, inputs):
  """Replays ReduceDataset as a loop over the sequence's elements."""
  sequence = _check(node, inputs[0])
  num_state = len(node.attr['Tstate'].list.type)
  state, others = inputs[1 : 1 + num_state], inputs[1 + num_state :]
  name = node.attr['f'].func.name
  variables = replay.assigned_variables(node, inputs)
  shapes = [tf.TensorShape(s) for s in node.attr['output_shapes'].list.shape]

  def step(state, held, element):
    with replay.holding(variables, held):
      state = replay.call(name, [*state, *element, *others])
      held = [replay.value_of(variable) for variable in variables]
    return state, held

  def body(i, state, held):
    state, held = loop_steps.call_step(step, state, held, sequence.element(i))
    return i + 1, state, held

  _, state, held = tf.while_loop(
    lambda i, *_: i < sequence.count,
    body,
    (
      tf.constant(0, tf.int64),
      state,
      [replay.value_of(variable) for variable in variables],
    ),
    shape_invariants=(
      tf.TensorShape([]),
      shapes,
      [variable.shape for variable in variables],
    ),
    parallel_iterations=1,
  )
  for variable, value in zip(variables, held):
    replay.assign(variable, value)
  return state


HANDLERS: Mapping[str, graph_replay.Handler] = {
  'FinalizeDataset': _pass_on,
  'MapDataset': _map,
  'ModelDataset': _pass_on,
  'OptionsDataset': _pass_on,
  'ParallelMapDataset': _map,
  'ParallelMapDatasetV2': _map,
  'PrefetchDataset': _pass_on,
  'ReduceDataset': _reduce,
  'RepeatDataset': _repeat,
  'SkipDataset': _skip,
  'TakeDataset': _take,
}
