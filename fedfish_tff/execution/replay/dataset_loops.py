# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Loops over the sequences of a replayed graph, as AutoGraph makes them.

`for batch in dataset` in a `tf.function` becomes a `scan` that is reduced to
its last state; with a `break`, to the last state that `take_while` lets pass.

`for batch in iter(dataset)` requests optional elements of an iterator until
there is none. Here the iterator is a variable that holds the number of its next
element. So it passes through loops and branches like other variables.
"""

from collections.abc import Mapping
import dataclasses
import functools
import itertools

from fedfish_tff.execution.replay import replayer
from fedfish_tff.execution.replay import sequence_replay

import tensorflow as tf


def _check_scan(node, value) -> sequence_replay.Scan:
  scan = sequence_replay.check_scan(node, value)
  if scan.stops:
    # The scan would see an element that `take_while` does not pass on.
    raise replayer.NotReplayableError(f'{node.op} behind TakeWhileDataset')
  return scan


def _scan(replay, node, inputs):
  before = _check_scan(node, inputs[0])
  num_before = len(before.state)
  num_state = len(node.attr['Tstate'].list.type)
  state, others = inputs[1 : 1 + num_state], inputs[1 + num_state :]
  if not all(isinstance(value, tf.Tensor) for value in state):
    raise replayer.NotReplayableError(f'{node.op} that carries a dataset')
  name = node.attr['f'].func.name

  def run(state, element):
    outer, own = state[:num_before], state[num_before:]
    outer, element, _ = before.run(outer, element)
    results = replay.call(name, [*own, *element, *others])
    unread = replay.unread(name, element, num_state)
    results = before.sequence.after_unread(unread, results)
    return [*outer, *results[:num_state]], results[num_state:], None

  return [
    sequence_replay.Scan(
      dataclasses.replace(before.sequence, is_computed=True),
      (*before.state, *state),
      (*before.shapes, *replay.graph.argument_shapes(name)[:num_state]),
      run,
      (*before.nodes, (node, inputs)),
    )
  ]


def _take_while(replay, node, inputs):
  before, others = _check_scan(node, inputs[0]), inputs[1:]
  if any(isinstance(value, replayer.Variable) for value in others):
    raise replayer.NotReplayableError(f'{node.op} that reads a variable')
  name = node.attr['predicate'].func.name

  def run(state, element):
    state, element, _ = before.run(state, element)
    (goes_on,) = replay.call(name, [*element, *others])
    return state, element, goes_on

  return [
    sequence_replay.Scan(
      before.sequence, before.state, before.shapes, run, before.nodes, True
    )
  ]


_numbers = itertools.count()


@dataclasses.dataclass(frozen=True)
class _Iterator(replayer.Variable):
  """A variable for the next element's number, with the sequence once known.

  Attributes:
    graph: The graph in which the iterator is made.
    sequences: A list with the sequence, empty until the iterator has one.
  """

  graph: tf.Graph
  sequences: list[sequence_replay.Sequence]


@dataclasses.dataclass(eq=False)
class _Optional:
  """Element `index` of a sequence, if it exists."""

  sequence: sequence_replay.Sequence
  index: tf.Tensor
  is_read: bool = False


def _iterator(replay, node, inputs):
  del replay, inputs
  return [
    _Iterator(
      f'{node.name}:{next(_numbers)}',
      tf.int64,
      tf.TensorShape([]),
      tf.compat.v1.get_default_graph(),
      [],
    )
  ]


def _make(replay, node, inputs):
  sequence = sequence_replay.check_sequence(node, inputs[0])
  iterator = inputs[1]
  if (
    not isinstance(iterator, _Iterator)
    or iterator.sequences
    or iterator.graph is not tf.compat.v1.get_default_graph()
  ):
    raise replayer.NotReplayableError(f'{node.op} for an older iterator')
  iterator.sequences.append(sequence.in_pass(may_stop=True))
  replay.assign(iterator, tf.constant(0, tf.int64))
  return []


def _next_as_optional(replay, node, inputs):
  (iterator,) = inputs
  index = replay.value_of(iterator)
  replay.assign(iterator, index + 1)
  optional = _Optional(iterator.sequences[0], index)
  if optional.sequence.is_computed:
    replay.at_end.append(functools.partial(_check_read, node, optional))
  return [optional]


def _check_read(node, optional):
  if not optional.is_read:
    raise replayer.NotReplayableError(f'{node.op} that nothing reads')


def _has_value(replay, node, inputs):
  del replay
  if not isinstance(inputs[0], _Optional):
    return replayer.create_operation(node, inputs)
  return [inputs[0].index < inputs[0].sequence.count]


def _get_value(replay, node, inputs):
  (optional,) = inputs
  if not isinstance(optional, _Optional):
    # A branch passes its values to its gradient by such optionals.
    return replayer.create_operation(node, inputs)
  if optional.is_read and optional.sequence.is_drawn:
    raise replayer.NotReplayableError(f'{node.op} of one random element')
  optional.is_read = True
  element = optional.sequence.element(optional.index)
  read = replay.graph.read_outputs(node)
  unread = [part for i, part in enumerate(element) if i not in read]
  return optional.sequence.after_unread(unread, element)


HANDLERS: Mapping[str, replayer.Handler] = {
  'AnonymousIteratorV3': _iterator,
  'IteratorGetNextAsOptional': _next_as_optional,
  'MakeIterator': _make,
  'OptionalGetValue': _get_value,
  'OptionalHasValue': _has_value,
  'ScanDataset': _scan,
  'TakeWhileDataset': _take_while,
}
