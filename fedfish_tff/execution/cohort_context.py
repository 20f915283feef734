# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Execution contexts that run a whole cohort in this process.

TFF computations run in this process's TensorFlow, unchanged: no worker is
started and no port is opened. See `federated_plan` for how a computation is
taken apart. What follows TFF's own contexts: arguments, results, the number of
clients, and the messages about mistakes.

Secure sums run in the clear, behind their clipping and quantisation.
"""

import asyncio
import collections
from collections.abc import Callable
from collections.abc import Sequence
import functools
from typing import Any

from fedfish_tff import private_apis
from fedfish_tff.execution import devices as devices_lib
from fedfish_tff.execution import interruption
from fedfish_tff.execution import runtime_errors
from fedfish_tff.execution import setters
from fedfish_tff.execution import threads
from fedfish_tff.execution.packing import sequence_values
from fedfish_tff.execution.packing import values
from fedfish_tff.execution.reading import federated_plan
from fedfish_tff.execution.reading import function_arguments
from fedfish_tff.execution.running import cohort_stages
from fedfish_tff.execution.running import federated_interpreter

import tensorflow_federated as tff

# Of computations that may be gone already.
_NUM_RECENT_PLANS = 8


class _CohortContext:
  """What both kinds of context have beside TFF's."""

  # `fedfish_tff.datasets.ClientBatches` may stand for clients' datasets.
  takes_client_batches = True

  def __init__(
    self,
    default_num_clients: int = 0,
    max_concurrent_computation_calls: int = -1,
    *,
    devices: str | Sequence[str] | None = None,
    use_xla: bool | None = None,
  ):
    """See `create_sync_cohort_execution_context`."""
    threads.use_one_intra_op_thread()
    private_apis.start_runtime()
    devices = devices_lib.resolve_devices(devices)
    are_accelerators = devices_lib.are_accelerators(devices)
    if max_concurrent_computation_calls <= 0:
      max_concurrent_computation_calls = (
        len(devices) if are_accelerators else threads.num_cores()
      )
    self._set_up(
      default_num_clients,
      cohort_stages.CohortStageRunner(
        parallelism=max_concurrent_computation_calls,
        devices=devices,
        use_xla=are_accelerators if use_xla is None else use_xla,
      ),
    )

  def _set_up(
    self, default_num_clients: int, run_stage: cohort_stages.CohortStageRunner
  ) -> None:
    self._default_num_clients = default_num_clients
    self._run_stage = run_stage
    # So that a program that builds a computation anew for every call does not
    # compile it anew.
    self._recent_plans = collections.deque(maxlen=_NUM_RECENT_PLANS)

  @property
  def devices(self) -> tuple[str, ...]:
    """The logical devices that share a cohort."""
    return self._run_stage.devices

  @property
  def general_path_reasons(self) -> tuple[str, ...]:
    """Why client work ran client by client instead of as a graph, if it did."""
    return self._run_stage.general_path_reasons

  def _prepare(self, comp: tff.Computation, arg: Any) -> Callable[[], Any]:
    """Returns the work of a call: a function that returns its result.

    Args:
      comp: The computation.
      arg: Its argument, as TFF passes it to `invoke`.
    """
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
      cardinalities.update(values.infer_cardinalities(arg, plan.parameter_type))
      arg = values.to_local_value(arg, plan.parameter_type)
    with runtime_errors.as_rpc_errors():
      result = federated_interpreter.run_plan(
        plan, arg, cardinalities, self._runner_of(comp, plan)
      )
    # Compilation loses the containers.
    return values.from_local_value(result, result_type)

  def _runner_of(
    self, comp: tff.Computation, plan: federated_plan.Plan
  ) -> federated_interpreter.RunStage:
    """Returns what runs the client stages of a computation's plan."""
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


def create_sync_cohort_execution_context(
  default_num_clients: int = 0,
  max_concurrent_computation_calls: int = -1,
  *,
  devices: str | Sequence[str] | None = None,
  use_xla: bool | None = None,
) -> SyncCohortExecutionContext:
  """Creates a synchronous context that runs computations in this process.

  Args:
    default_num_clients: The number of clients where the arguments of a
      computation do not tell it.
    max_concurrent_computation_calls: How many clients compute at a time, over
      all devices; if not positive, as many as there are cores, or one on each
      accelerator.
    devices: Names of logical devices ('CPU:0') or kinds ('GPU') that share the
      cohort: client i goes to device i modulo their number, and the devices'
      sums are merged in order, so results depend on how many there are. None
      for all GPUs if TensorFlow sees any, else the CPU. 'TPU' initialises the
      TPU cores of this machine.
    use_xla: Whether XLA compiles client work, which must hold nothing that XLA
      does not know, such as strings; it drops assertions. None for yes on
      accelerators and no on CPUs, where XLA is slow at convolutions.

  Returns:
    A `tff.framework.SyncContext`, to be installed or made the default.
  """
  return SyncCohortExecutionContext(
    default_num_clients,
    max_concurrent_computation_calls,
    devices=devices,
    use_xla=use_xla,
  )


set_sync_cohort_execution_context = setters.default_setter(
  create_sync_cohort_execution_context
)


def create_async_cohort_execution_context(
  default_num_clients: int = 0,
  max_concurrent_computation_calls: int = -1,
  *,
  devices: str | Sequence[str] | None = None,
  use_xla: bool | None = None,
) -> AsyncCohortExecutionContext:
  """Creates a context whose computations are coroutines, in this process.

  Args:
    default_num_clients: See `create_sync_cohort_execution_context`.
    max_concurrent_computation_calls: See the same.
    devices: See the same.
    use_xla: See the same.

  Returns:
    A `tff.framework.AsyncContext`, to be installed or made the default.
  """
  return AsyncCohortExecutionContext(
    default_num_clients,
    max_concurrent_computation_calls,
    devices=devices,
    use_xla=use_xla,
  )


set_async_cohort_execution_context = setters.default_setter(
  create_async_cohort_execution_context
)
