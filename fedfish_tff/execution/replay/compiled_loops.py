# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Loops over batches that XLA compiles within a graph of TensorFlow.

TensorFlow starts each operation of a step by itself. In a small model that takes
longer than to compute it. XLA compiles a loop to few kernels, in a time in which
TensorFlow runs some ten thousand steps; so only the loops of `check_worth` and
of `StageGraph` are compiled.

XLA computes all batches as full ones, and masks the rows that others lack.
A loop is traced for two numbers of rows, and compiled only if `ragged_modules`
shows that all its operations are exact for any fewer rows.
"""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import contextvars
import functools
from typing import Any

from fedfish_tff import private_apis
from fedfish_tff.execution.replay import loop_steps
from fedfish_tff.execution.replay import replayer

from absl import logging
import tensorflow as tf

# Perceptrons of 17,000 weights took 0.4 of the processor time of TensorFlow's
# loops, those of 34,000 took 0.6 and those of 240,000 took 0.9.
_MOST_NUMBERS = 40_000
# The length of axes of unknown length in programs that are checked and never run.
_ANY_LENGTH = 2**15
_RANDOM = frozenset(('rng', 'rng-bit-generator'))

# The rows by which the bound on a batch's rows is larger than needed, in a loop
# that is being compiled; None elsewhere.
_spare_rows: contextvars.ContextVar[int | None] = contextvars.ContextVar(
  'spare_rows', default=None
)
spare_rows = _spare_rows.get

# A function of the HLO modules of a loop for its bounds and for larger bounds. It
# raises NotReplayableError unless they are exact for fewer rows than the bounds.
Check = Callable[[Any, Any], None]


def check_worth(
  operations: Mapping[str, int], state: Sequence[tf.Tensor]
) -> None:
  """Raises NotReplayableError if a loop is not worth compiling.

  Args:
    operations: The number of nodes of each operation in a step.
    state: The tensors that a step passes on, variables too.
  """
  heavy = sorted(loop_steps.HEAVY & operations.keys())
  if heavy:
    raise replayer.NotReplayableError(f'{heavy[0]}, which takes longer by XLA')
  if 'MatMul' not in operations:
    raise replayer.NotReplayableError('a loop without dense layers')
  shapes = [tensor.shape for tensor in state]
  if not all(shape.is_fully_defined() for shape in shapes):
    raise replayer.NotReplayableError('a state of unknown shape')
  numbers = sum(shape.num_elements() for shape in shapes)
  if numbers > _MOST_NUMBERS:
    raise replayer.NotReplayableError(
      f'a state of {numbers:,} numbers, more than the {_MOST_NUMBERS:,} up to '
      'which XLA takes far less time'
    )


@functools.cache
def log_refusal(reason: str) -> None:
  """Logs, once for each reason, why a loop is not compiled."""
  logging.warning('XLA does not compile a loop over batches: %s.', reason)


def call(
  loop: Callable[..., list[tf.Tensor]],
  tensors: Sequence[tf.Tensor],
  check: Check,
) -> list[tf.Tensor]:
  """Calls a loop that XLA compiles, in the graph being built.

  Args:
    loop: The function of tensors that creates the loop. It may also read tensors
      of the graph; XLA compiles it anew for each of their shapes.
    tensors: The tensors to begin with.
    check: The check of its program.

  Raises:
    NotReplayableError: If XLA may compute something else.
  """
  function, larger = (_trace(loop, tensors, spare) for spare in (0, 1))
  module = _compile(function)
  for computation in module.computations:
    if any(i.opcode in _RANDOM for i in computation.instructions):
      raise replayer.NotReplayableError(
        'random numbers, of which XLA draws others'
      )
  check(module, _compile(larger))
  return function(*tensors)


def _trace(
  loop: Callable[..., list[tf.Tensor]],
  tensors: Sequence[tf.Tensor],
  spare: int,
) -> Any:
  token = _spare_rows.set(spare)
  try:
    return tf.function(
      loop,
      autograph=False,
      jit_compile=True,
      input_signature=[tf.TensorSpec(t.shape, t.dtype) for t in tensors],
    ).get_concrete_function()
  finally:
    _spare_rows.reset(token)


def _compile(function: Any) -> Any:
  """Returns the HLO module of a function, for data of some length."""
  specs = [
    tf.TensorSpec([_ANY_LENGTH if n is None else n for n in t.shape], t.dtype)
    for t in function.inputs
  ]
  try:
    return private_apis.compile_to_hlo(function, specs)
  except (ValueError, tf.errors.OpError) as error:
    raise replayer.NotReplayableError(str(error).partition('\n')[0]) from error
