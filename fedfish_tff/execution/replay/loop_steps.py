# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The body of a loop as a function of its own within the graph.

TensorFlow turns a loop into a cycle of its graph. Two things are lost by that,
and come back where the body is a function that is called in the cycle:

*   Without loops or branches of its own the body can run in a fixed order on
    one thread, which takes a small model a fifth less time than asking for
    every operation whether it is ready.
*   oneDNN's kernels are chosen by a pass that visits operations in order, but
    a cycle has none: whether the gradient of a pooling got oneDNN's kernel or
    one that takes ten times as long was up to addresses in memory, so that
    speed, and the last bits of results, differed from process to process.
"""

from collections.abc import Callable
from collections.abc import Mapping
from typing import Any

from fedfish_tff import private_apis

import tensorflow as tf

# Operations with parts that do not run in a fixed order.
_CONTROL_FLOW = frozenset(
  ('Case', 'If', 'StatelessCase', 'StatelessIf', 'StatelessWhile', 'While')
)

# With fewer nodes a step is not worth a function of its own, whose tracing takes
# longer than some thousands of steps.
_TRIVIAL = 32


class Step:
  """A part of a loop's body, traced once to be called any number of times."""

  def __init__(
    self, step: Callable[..., Any], *arguments: Any, inlined: bool
  ) -> None:
    """Traces a step; to be called within a graph.

    Args:
      step: From nests of tensors to a nest of tensors.
      *arguments: Nests of tensors, or specs, such as it is called with.
      inlined: Whether TensorFlow puts the operations in the place of a call.
    """

    def run(*tensors: tf.Tensor) -> list[tf.Tensor]:
      self._results = step(*tf.nest.pack_sequence_as(arguments, tensors))
      return tf.nest.flatten(self._results)

    self._function = tf.function(
      run,
      autograph=False,
      experimental_attributes=None if inlined else {'_noinline': True},
    ).get_concrete_function(
      *(tf.TensorSpec(t.shape, t.dtype) for t in tf.nest.flatten(arguments))
    )

  def __call__(self, *arguments: Any) -> Any:
    """Returns what the step returns; to be called within the same graph."""
    flat = self._function(*tf.nest.flatten(arguments))
    return tf.nest.pack_sequence_as(self._results, flat)

  def operations(self) -> set[str]:
    """Returns the operations, with those of the functions it calls."""
    graph_def = self._function.graph.as_graph_def()
    bodies = [function.node_def for function in graph_def.library.function]
    return {node.op for nodes in (graph_def.node, *bodies) for node in nodes}


def call_step(step: Callable[..., Any], *arguments: Any) -> Any:
  """Calls a loop's body as a function; to be called within a graph.

  Args:
    step: From nests of tensors to a nest of tensors.
    *arguments: Nests of tensors.

  Returns:
    What `step` returns.
  """
  function = Step(step, *arguments, inlined=False)
  has_control_flow = not _CONTROL_FLOW.isdisjoint(function.operations())
  executor = '' if has_control_flow else 'SINGLE_THREADED_EXECUTOR'
  with private_apis.function_executor_type(executor):
    return function(*arguments)


def call_inlined(step: Callable[..., Any], *arguments: Any) -> Any:
  """Returns what a loop's body returns; it remains a part of the loop."""
  return step(*arguments)


def is_trivial(operations: Mapping[str, int]) -> bool:
  """Whether a loop's body has so few operations that a call is not worth it.

  Args:
    operations: How many nodes of each operation it has.
  """
  return sum(operations.values()) < _TRIVIAL
