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
from collections.abc import Callable
import functools
import os
from typing import Any

from fedfish_tff.execution import cohort_stages
from fedfish_tff.execution import federated_interpreter
from fedfish_tff.execution import federated_plan
from fedfish_tff.execution import interruption
from fedfish_tff.execution import values

import tensorflow_federated as tff


def _num_cores() -> int:
  """Returns how many cores this process may use."""
  if hasattr(os, 'sched_getaffinity'):
    return len(os.sched_getaffinity(0))
  return os.cpu_count() or 1


class _CohortRunner:
  """Runs computations."""

  def __init__(
    self, default_num_clients: int, max_concurrent_computation_calls: int
  ):
    self._default_num_clients = default_num_clients
    self._run_stage = cohort_stages.CohortStageRunner(
      parallelism=max_concurrent_computation_calls
      if max_concurrent_computation_calls > 0
      else _num_cores(),
    )

  @property
  def general_path_reasons(self) -> tuple[str, ...]:
    """Why client work ran client by client instead of as a graph."""
    return self._run_stage.general_path_reasons

  def prepare(self, comp: tff.Computation, arg: Any) -> Callable[[], Any]:
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
    plan = federated_plan.compile_plan(comp)
    cardinalities = {tff.CLIENTS: self._default_num_clients}
    if arg is not None:
      cardinalities.update(values.infer_cardinalities(arg, plan.parameter_type))
      arg = values.to_local_value(arg, plan.parameter_type)
    result = federated_interpreter.run_plan(
      plan, arg, cardinalities, self._run_stage
    )
    # Compilation loses the containers.
    return values.from_local_value(result, comp.type_signature.result)


class SyncCohortExecutionContext(tff.framework.SyncContext):
  """A synchronous context that runs a whole cohort in this process."""

  # `fedfish_tff.datasets.ClientBatches` may stand for clients' datasets.
  takes_client_batches = True

  def __init__(
    self,
    default_num_clients: int = 0,
    max_concurrent_computation_calls: int = -1,
  ):
    """See `create_sync_cohort_execution_context`."""
    self._runner = _CohortRunner(
      default_num_clients, max_concurrent_computation_calls
    )

  @property
  def general_path_reasons(self) -> tuple[str, ...]:
    """Why client work ran client by client instead of as a graph, if it did."""
    return self._runner.general_path_reasons

  def invoke(self, comp: tff.Computation, arg: Any) -> Any:
    """Runs a computation and returns its result."""
    return interruption.run(self._runner.prepare(comp, arg))


class AsyncCohortExecutionContext(tff.framework.AsyncContext):
  """An asynchronous context that runs a whole cohort in this process."""

  # `fedfish_tff.datasets.ClientBatches` may stand for clients' datasets.
  takes_client_batches = True

  def __init__(
    self,
    default_num_clients: int = 0,
    max_concurrent_computation_calls: int = -1,
  ):
    """See `create_async_cohort_execution_context`."""
    self._runner = _CohortRunner(
      default_num_clients, max_concurrent_computation_calls
    )

  @property
  def general_path_reasons(self) -> tuple[str, ...]:
    """Why client work ran client by client instead of as a graph, if it did."""
    return self._runner.general_path_reasons

  async def invoke(self, comp: tff.Computation, arg: Any) -> Any:
    """Runs a computation and returns its result."""
    if asyncio.iscoroutine(arg):
      arg = await arg  # The result of another call.
    return await interruption.run_async(self._runner.prepare(comp, arg))


def create_sync_cohort_execution_context(
  default_num_clients: int = 0,
  max_concurrent_computation_calls: int = -1,
) -> SyncCohortExecutionContext:
  """Creates a synchronous context that runs computations in this process.

  Args:
    default_num_clients: The number of clients where the arguments of a
      computation do not tell it.
    max_concurrent_computation_calls: How many clients compute at a time; as
      many as there are cores if not positive.

  Returns:
    A `tff.framework.SyncContext`, to be installed or made the default.
  """
  return SyncCohortExecutionContext(
    default_num_clients, max_concurrent_computation_calls
  )


def set_sync_cohort_execution_context(
  default_num_clients: int = 0,
  max_concurrent_computation_calls: int = -1,
) -> None:
  """Makes a new synchronous cohort context TFF's default.

  Args:
    default_num_clients: See `create_sync_cohort_execution_context`.
    max_concurrent_computation_calls: See the same.
  """
  tff.framework.set_default_context(
    create_sync_cohort_execution_context(
      default_num_clients, max_concurrent_computation_calls
    )
  )


def create_async_cohort_execution_context(
  default_num_clients: int = 0,
  max_concurrent_computation_calls: int = -1,
) -> AsyncCohortExecutionContext:
  """Creates a context whose computations are coroutines, in this process.

  Args:
    default_num_clients: See `create_sync_cohort_execution_context`.
    max_concurrent_computation_calls: See the same.

  Returns:
    A `tff.framework.AsyncContext`, to be installed or made the default.
  """
  return AsyncCohortExecutionContext(
    default_num_clients, max_concurrent_computation_calls
  )


def set_async_cohort_execution_context(
  default_num_clients: int = 0,
  max_concurrent_computation_calls: int = -1,
) -> None:
  """Makes a new asynchronous cohort context TFF's default.

  Args:
    default_num_clients: See `create_sync_cohort_execution_context`.
    max_concurrent_computation_calls: See the same.
  """
  tff.framework.set_default_context(
    create_async_cohort_execution_context(
      default_num_clients, max_concurrent_computation_calls
    )
  )
