# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The body of a loop as a function of its own within the graph.

TensorFlow turns a loop into a cycle of its graph. That has two disadvantages,
which a function called in the cycle as the body avoids:

*   A body without loops or branches can run in a fixed order on one thread.
    For a small model that takes a fifth less time than to check for each
    operation whether it is ready.
*   A pass chooses oneDNN's kernels by visiting operations in order, but a cycle
    has no order. Addresses in memory decided whether the gradient of a pooling
    got oneDNN's kernel or one that takes ten times as long, so speed and the
    last bits of results differed between processes.

A call takes some 20 microseconds. A loop over the batches of a client can afford
it, but not a loop over time steps within a batch.
"""

from collections.abc import Callable
from collections.abc import Mapping
import contextvars
from typing import Any

from fedfish_tff import private_apis

import tensorflow as tf

# Operations that take so long that the start of a step does not matter.
HEAVY = frozenset(
  (
    'Conv2D',
    'Conv3D',
    'DepthwiseConv2dNative',
    'ReduceDataset',
    'StatelessWhile',
    'While',
  )
)

# Operations with parts that do not run in a fixed order.
_CONTROL_FLOW = frozenset(
  ('Case', 'If', 'StatelessCase', 'StatelessIf', 'StatelessWhile', 'While')
)

# Operations that share a kernel's memory with the operation of their gradient,
# if both are oneDNN's.
_PAIRED = frozenset(('LRNGrad', 'MaxPool3DGrad', 'MaxPoolGrad'))

# Whether a step is being traced.
_in_step = contextvars.ContextVar('in_step', default=False)

# A step with fewer nodes gets no function of its own, since the tracing of one
# takes longer than some thousands of such steps.
_TRIVIAL = 32


class Step:
  """A part of a loop's body, traced once and called any number of times."""

  def __init__(
    self, step: Callable[..., Any], *arguments: Any, inlined: bool
  ) -> None:
    """Traces a step within a graph.

    Args:
      step: A function from nests of tensors to a nest of tensors.
      *arguments: Its arguments, nests of tensors or specs.
      inlined: Whether TensorFlow replaces a call by its operations.
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
    """Returns the result of the step; to be called within the same graph."""
    flat = self._function(*tf.nest.flatten(arguments))
    return tf.nest.pack_sequence_as(self._results, flat)

  def operations(self) -> set[str]:
    """Returns the step's operations, including those of called functions."""
    graph_def = self._function.graph.as_graph_def()
    bodies = [function.node_def for function in graph_def.library.function]
    return {node.op for nodes in (graph_def.node, *bodies) for node in nodes}


def call_step(step: Callable[..., Any], *arguments: Any) -> Any:
  """Calls a loop's body, of nests of tensors, as a function within a graph."""
  token = _in_step.set(True)
  try:
    function = Step(step, *arguments, inlined=False)
  finally:
    _in_step.reset(token)
  has_control_flow = not _CONTROL_FLOW.isdisjoint(function.operations())
  executor = '' if has_control_flow else 'SINGLE_THREADED_EXECUTOR'
  with private_apis.function_executor_type(executor):
    return function(*arguments)


def is_trivial(operations: Mapping[str, int]) -> bool:
  """Returns whether a loop's body is too small to be worth a call.

  Args:
    operations: The number of its nodes of each operation.
  """
  return sum(operations.values()) < _TRIVIAL


def caller_of(
  operations: Mapping[str, int], *, use_xla: bool, over_batches: bool = True
) -> Callable[..., Any]:
  """Returns the function (body, *arguments) -> result for a loop's body.

  Args:
    operations: The number of the body's nodes of each operation.
    use_xla: Whether the graph being built is compiled by XLA, which compiles a
      loop as a loop.
    over_batches: Whether the loop is one over a dataset's elements. The body of
      another within such a loop's body is no function of its own.
  """
  is_inner = (
    not over_batches and _in_step.get() and _PAIRED.isdisjoint(operations)
  )
  if use_xla or is_inner or is_trivial(operations):
    return lambda step, *arguments: step(*arguments)
  return call_step
