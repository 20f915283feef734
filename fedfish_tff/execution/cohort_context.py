# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Execution contexts that run a whole cohort in this process.

TFF computations run unchanged in this process's TensorFlow: no worker is
started and no port is opened. `federated_plan` takes a computation apart.
Arguments, results, the number of clients, and the messages about mistakes are
the same as in TFF's own contexts.

Secure sums run in the clear, after their clipping and quantisation.
"""

import asyncio
import collections
from collections.abc import Callable
import functools
from typing import Any
from typing import Literal

from fedfish_tff import errors
from fedfish_tff import private_apis
from fedfish_tff.execution import interruption
from fedfish_tff.execution import runtime_errors
from fedfish_tff.execution import threads
from fedfish_tff.execution.packing import local_values
from fedfish_tff.execution.packing import sequence_values
from fedfish_tff.execution.reading import federated_plan
from fedfish_tff.execution.reading import function_arguments
from fedfish_tff.execution.running import cohort_stages
from fedfish_tff.execution.running import federated_interpreter

import tensorflow as tf
import tensorflow_federated as tff

# Plans kept beyond the life of their computations, see `_set_up`.
_NUM_RECENT_PLANS = 8


def _devices(kind: str) -> list[str]:
  """Returns the names of TensorFlow's devices of client work.

  Raises:
    errors.InputError: If there is none.
  """
  if kind == 'cpu':
    return ['CPU:0']
  if kind != 'gpu':
    raise errors.InputError(f'device must be cpu or gpu, got {kind!r}.')
  number = len(tf.config.list_logical_devices('GPU'))
  if not number:
    raise errors.InputError(
      'device=gpu needs a GPU that TensorFlow finds, got none: pip install '
      f"'tensorflow[and-cuda]=={tf.__version__}' installs what TensorFlow needs "
      'beside the driver, or run client work by --context=pjrt.'
    )
  return [f'GPU:{i}' for i in range(number)]


class _CohortContext:
  """The part that both kinds of context share."""

  # A client's dataset may be a `fedfish_tff.datasets.ClientBatches`.
  takes_client_batches = True

  def __init__(
    self,
    default_num_clients: int = 0,
    max_concurrent_computation_calls: int = -1,
    *,
    device: Literal['cpu', 'gpu'] = 'cpu',
  ):
    """Creates a context.

    Args:
      default_num_clients: The number of clients if the arguments of a
        computation do not determine it.
      max_concurrent_computation_calls: The number of clients that compute at a
        time; the number of cores if it is not positive.
      device: The device of client work. The GPUs that TensorFlow finds share a
        cohort: client i goes to GPU i modulo their number, and sums are merged
        in order. The server's steps stay on the processor.

    Raises:
      errors.InputError: If there is no such device.
    """
    threads.use_one_intra_op_thread()
    private_apis.start_runtime()
    if max_concurrent_computation_calls <= 0:
      max_concurrent_computation_calls = threads.num_cores()
    self._set_up(
      default_num_clients,
      cohort_stages.CohortStageRunner(
        parallelism=max_concurrent_computation_calls, devices=_devices(device)
      ),
    )

  def _set_up(
    self, default_num_clients: int, run_stage: cohort_stages.CohortStageRunner
  ) -> None:
    self._default_num_clients = default_num_clients
    self._run_stage = run_stage
    # A program that builds a computation anew for every call finds its plan.
    self._recent_plans = collections.deque(maxlen=_NUM_RECENT_PLANS)

  @property
  def general_path_reasons(self) -> tuple[str, ...]:
    """The reasons why client work ran client by client, not as a graph."""
    return self._run_stage.general_path_reasons

  def _prepare(self, comp: tff.Computation, arg: Any) -> Callable[[], Any]:
    """Returns a call's work, a function that returns the call's result."""
    if not isinstance(comp.type_signature, tff.FunctionType):
      raise ValueError(
        f'Expected a `tff.FunctionType`, found {comp.type_signature}.'
      )
    return functools.partial(self._run, comp, arg)

  def _run(self, comp: tff.Computation, arg: Any) -> Any:
    sequence_values.check_order(comp.type_signature)
    result_type = comp.type_signature.result
    comp, arg = function_arguments.bind_functions(comp, arg)
    plan = federated_plan.compile_plan(comp)
    if plan not in self._recent_plans:
      self._recent_plans.append(plan)
    cardinalities = {tff.CLIENTS: self._default_num_clients}
    if plan.parameter_type is not None:
      if arg is None:
        raise TypeError(
          f'Expected an argument of type {plan.parameter_type}, found None.'
        )
      cardinalities.update(
        local_values.infer_cardinalities(arg, plan.parameter_type)
      )
      arg = local_values.to_local_value(arg, plan.parameter_type)
    # Client work has its own devices; TensorFlow would put the rest on a GPU.
    with tf.device('CPU:0'), runtime_errors.as_rpc_errors():
      result = federated_interpreter.run_plan(
        plan, arg, cardinalities, self._runner_of(comp, plan)
      )
    # Compilation loses the containers, so they come from the original type.
    return local_values.from_local_value(result, result_type)

  def _runner_of(
    self, comp: tff.Computation, plan: federated_plan.Plan
  ) -> federated_interpreter.RunStage:
    """Returns the runner of the client stages of a computation's plan."""
    del comp, plan
    return self._run_stage


class SyncCohortExecutionContext(_CohortContext, tff.framework.SyncContext):
  """A synchronous context that runs a whole cohort in this process."""

  def invoke(self, comp: tff.Computation, arg: Any) -> Any:
    """Runs a computation and returns its result."""
    return interruption.run(self._prepare(comp, arg))


class AsyncCohortExecutionContext(_CohortContext, tff.framework.AsyncContext):
  """An asynchronous context that runs a whole cohort in this process."""

  async def invoke(self, comp: tff.Computation, arg: Any) -> Any:
    """Runs a computation and returns its result."""
    if asyncio.iscoroutine(arg):
      arg = await arg  # The result of another call.
    return await interruption.run_async(self._prepare(comp, arg))
