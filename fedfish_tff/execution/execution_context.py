# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Execution contexts, synchronous and asynchronous, of any runner.

A runner (`contexts`) is a backend: this process, devices, a Ray cluster, or
TFF's own runtime. A call can be stopped while it computes.
"""

import asyncio
import functools
from typing import Any
from typing import Self

from fedfish_tff.execution import interruption
from fedfish_tff.execution import runner as runner_lib

import tensorflow_federated as tff


class _Context:
  """The part that both kinds of context share.

  Attributes:
    runner: The backend that computes.
  """

  def __init__(self, runner: runner_lib.Runner):
    """Makes a context.

    Args:
      runner: The backend, which belongs to this context.
    """
    self.runner = runner

  def close(self) -> None:
    """Ends the processes that the runner has started, if any."""
    self.runner.close()

  def __enter__(self) -> Self:
    return self

  def __exit__(self, *unused_exc_info: object) -> None:
    self.close()


class SyncExecutionContext(_Context, tff.framework.SyncContext):
  """A synchronous context."""

  def invoke(self, comp: tff.Computation, arg: Any) -> Any:
    """Runs a computation and returns its result."""
    return interruption.run(functools.partial(self.runner.run, comp, arg))


class AsyncExecutionContext(_Context, tff.framework.AsyncContext):
  """An asynchronous context, in which calls are coroutines."""

  async def invoke(self, comp: tff.Computation, arg: Any) -> Any:
    """Runs a computation and returns its result."""
    if asyncio.iscoroutine(arg):
      arg = await arg  # The result of another call.
    return await interruption.run_async(
      functools.partial(self.runner.run, comp, arg)
    )
