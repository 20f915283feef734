# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""AutoGraph's loops over a dataset, in a replayed graph.

`for batch in dataset` in a `tf.function` becomes a `scan` that is reduced to
its last state; with a `break`, to the last state that `take_while` lets pass.
"""

from collections.abc import Mapping
import dataclasses

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
    results = before.sequence.also(unread, results)
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


HANDLERS: Mapping[str, replayer.Handler] = {
  'ScanDataset': _scan,
  'TakeWhileDataset': _take_while,
}
