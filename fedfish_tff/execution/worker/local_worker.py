# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Execution contexts backed by TFF's own worker on this machine.

TFF computations run in TFF's C++ runtime, as in
`tff.backends.native.create_sync_local_cpp_execution_context`, but

*   the worker ends with the process that started it, however that ends, leaves
    no zombie (see `worker_process`), and its output is logged at level INFO;
*   client work runs with one intra-op thread, so that results are the same bit
    for bit on any number of cores;
*   secure sums, which TFF's native context refuses, run in the clear, after
    their clipping and quantisation;
*   client data may be the package's own `ClientBatches`;
*   a worker that dies gives one clear error in the call that needed it, and the
    next call starts a new worker. TFF would repeat the call for ever.

Known limit: the worker listens on all network interfaces, without credentials,
and runs any computation sent to it, because TFF offers no other address. It
runs only on Linux and only on the CPU.
"""

from typing import Any
from typing import Self

from fedfish_tff.datasets import batches
from fedfish_tff.execution.worker import local_worker_executors

import tensorflow as tf
import tensorflow_federated as tff


class _LocalWorkerContext:
  """The part that both kinds of context add to TFF's: a worker of their own.

  The worker starts with the first computation. It ends with the context's
  `close` (or `with` block), with the context itself, or with this process.

  Attributes:
    executor_factory: The factory that starts the worker and ends it.
    takes_client_batches: Whether arguments may hold `ClientBatches`.
  """

  executor_factory: local_worker_executors.LocalWorkerExecutorFactory
  takes_client_batches = True

  def __init__(
    self,
    default_num_clients: int = 0,
    max_concurrent_computation_calls: int = -1,
    *,
    stream_structs: bool = False,
  ):
    """Creates a context.

    Args:
      default_num_clients: The number of clients if the arguments of a
        computation do not determine it.
      max_concurrent_computation_calls: The number of clients' calls of one
        computation that run at a time; unlimited if not positive.
      stream_structs: Whether structures are sent element by element.
    """
    super().__init__(
      executor_fn=local_worker_executors.LocalWorkerExecutorFactory(
        default_num_clients=default_num_clients,
        max_concurrent_computation_calls=max_concurrent_computation_calls,
        stream_structs=stream_structs,
      ),
      compiler_fn=_compile,
      transform_args=_transform_arguments,
      transform_result=tff.tensorflow.transform_result,
    )

  @property
  def worker_pid(self) -> int | None:
    """The worker's process id; `None` while no worker runs."""
    return self.executor_factory.worker_pid

  def close(self) -> None:
    """Ends the worker; calls then raise `LocalWorkerError`."""
    self.executor_factory.close()

  def __enter__(self) -> Self:
    return self

  def __exit__(self, *unused_exc_info: object) -> None:
    self.close()


class SyncLocalWorkerExecutionContext(
  _LocalWorkerContext, tff.framework.SyncExecutionContext
):
  """A synchronous context with its own worker, which `close` ends."""

  def invoke(self, comp: tff.Computation, arg: Any) -> Any:
    """Runs a computation and returns its result."""
    # Checked before TFF gives the call to a thread, which a fork lacks.
    self.executor_factory.check_owner()
    return super().invoke(comp, arg)


class AsyncLocalWorkerExecutionContext(
  _LocalWorkerContext, tff.framework.AsyncExecutionContext
):
  """An asynchronous context with its own worker, which `close` ends."""


def _compile(comp: tff.Computation) -> tff.Computation:
  """Compiles for the native backend, with bodies for secure intrinsics."""
  return tff.backends.native.desugar_and_transform_to_native(
    tff.backends.test.replace_secure_intrinsics_with_bodies(comp)
  )


def _transform_arguments(arguments: Any) -> Any:
  """Turns `ClientBatches` into datasets, then applies TFF's transformation."""
  return tff.tensorflow.transform_args(
    tf.nest.map_structure(
      lambda value: (
        value.to_dataset()
        if isinstance(value, batches.ClientBatches)
        else value
      ),
      arguments,
    )
  )
