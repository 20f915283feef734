# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Branches and loops of a replayed graph.

Each becomes a new branch or loop of the graph being built. It takes and returns
the variables that its functions may assign, as tensors.
"""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence

from fedfish_tff.execution.replay import loop_steps
from fedfish_tff.execution.replay import replayer

import tensorflow as tf

_NodeDef = tf.compat.v1.NodeDef


def _branch(
  replay: replayer.Replay, node: _NodeDef, inputs: list[replayer.Value]
) -> list[replayer.Value]:
  """Replays If and Case."""
  index, arguments = inputs[0], inputs[1:]
  variables = replay.assigned_variables(node, inputs)
  held = [replay.value_of(variable) for variable in variables]

  def branch(name: str) -> Callable[[], list[tf.Tensor]]:
    def run() -> list[tf.Tensor]:
      with replay.holding(variables, held):
        results = replay.call(name, arguments)
        if not all(isinstance(result, tf.Tensor) for result in results):
          raise replayer.NotReplayableError(f'{node.op} that returns a dataset')
        return [
          tf.identity(tensor)
          for tensor in (*results, *map(replay.value_of, variables))
        ]

    return run

  if node.op in ('If', 'StatelessIf'):
    if index.dtype != tf.bool:
      index = tf.cast(index, tf.bool)
    results = tf.cond(
      index,
      branch(node.attr['then_branch'].func.name),
      branch(node.attr['else_branch'].func.name),
    )
  else:
    branches = node.attr['branches'].list.func
    results = tf.switch_case(index, [branch(f.name) for f in branches])
  results = list(results) if isinstance(results, (list, tuple)) else [results]
  num_results = len(results) - len(variables)
  for variable, value in zip(variables, results[num_results:]):
    replay.assign(variable, value)
  return results[:num_results]


def _while(
  replay: replayer.Replay, node: _NodeDef, inputs: list[replayer.Value]
) -> list[replayer.Value]:
  """Replays While."""
  condition = node.attr['cond'].func.name
  body = node.attr['body'].func.name
  variables = replay.assigned_variables(node, inputs)
  positions = [
    i for i, value in enumerate(inputs) if isinstance(value, tf.Tensor)
  ]
  shapes = node.attr['output_shapes'].list.shape
  invariants = [
    tf.TensorShape(shapes[i]) if shapes else inputs[i].shape for i in positions
  ]

  def arguments(tensors: Sequence[tf.Tensor]) -> list[replayer.Value]:
    values = list(inputs)
    for i, tensor in zip(positions, tensors):
      values[i] = tensor
    return values

  def run_condition(
    tensors: Sequence[tf.Tensor], held: Sequence[tf.Tensor]
  ) -> tf.Tensor:
    with replay.holding(variables, held):
      result = replay.call(condition, arguments(tensors))[0]
      after = map(replay.value_of, variables)
      if any(a is not b for a, b in zip(after, held, strict=True)):
        raise replayer.NotReplayableError(
          f'{node.op} of a condition that writes or may fail'
        )
      return result if result.dtype == tf.bool else tf.cast(result, tf.bool)

  def step(
    tensors: Sequence[tf.Tensor], held: Sequence[tf.Tensor]
  ) -> tuple[list[tf.Tensor], list[tf.Tensor]]:
    with replay.holding(variables, held):
      before = arguments(tensors)
      results = replay.call(body, before)
      for i, (value, result) in enumerate(zip(before, results, strict=True)):
        if i not in positions and result is not value:
          raise replayer.NotReplayableError(
            f'{node.op} that changes a dataset or a variable that it carries'
          )
      for i, shape in zip(positions, invariants):
        # A replay may know less about shapes than the original loop.
        results[i].set_shape(shape)
      return (
        [results[i] for i in positions],
        [replay.value_of(variable) for variable in variables],
      )

  call_step = loop_steps.caller_of(
    replay.graph.operations(body),
    use_xla=replay.use_xla,
    over_batches=False,
  )
  tensors, held = tf.while_loop(
    run_condition,
    lambda tensors, held: call_step(step, tensors, held),
    (
      [inputs[i] for i in positions],
      [replay.value_of(variable) for variable in variables],
    ),
    shape_invariants=(invariants, [variable.shape for variable in variables]),
    parallel_iterations=max(1, node.attr['parallel_iterations'].i),
  )
  for variable, value in zip(variables, held):
    replay.assign(variable, value)
  return arguments(tensors)


HANDLERS: Mapping[str, replayer.Handler] = {
  'Case': _branch,
  'If': _branch,
  'StatelessCase': _branch,
  'StatelessIf': _branch,
  'StatelessWhile': _while,
  'While': _while,
}
