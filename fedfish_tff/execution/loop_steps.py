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
from typing import Any

import tensorflow as tf
from tensorflow.python.eager import context as eager_context

# Operations with parts that do not run in a fixed order.
_CONTROL_FLOW = frozenset(
  (
    'Case',
    'If',
    'PartitionedCall',
    'StatefulPartitionedCall',
    'StatelessCase',
    'StatelessIf',
    'StatelessWhile',
    'While',
  )
)


def call_step(step: Callable[..., Any], *arguments: Any) -> Any:
  """Calls a loop's body as a function; to be called within a graph.

  Args:
    step: From nests of tensors to a nest of tensors.
    *arguments: Nests of tensors.

  Returns:
    What `step` returns.
  """
  results = None

  def run(*tensors: tf.Tensor) -> list[tf.Tensor]:
    nonlocal results
    results = step(*tf.nest.pack_sequence_as(arguments, tensors))
    return tf.nest.flatten(results)

  tensors = tf.nest.flatten(arguments)
  function = tf.function(
    run, autograph=False, experimental_attributes={'_noinline': True}
  ).get_concrete_function(*(tf.TensorSpec(t.shape, t.dtype) for t in tensors))
  types = {operation.type for operation in function.graph.get_operations()}
  executor = '' if types & _CONTROL_FLOW else 'SINGLE_THREADED_EXECUTOR'
  with eager_context.function_executor_type(executor):
    flat = function(*tensors)
  return tf.nest.pack_sequence_as(results, flat)
