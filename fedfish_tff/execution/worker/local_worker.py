# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Execution contexts backed by TFF's own worker on this machine.

TFF computations run in TFF's C++ runtime, as in
`tff.backends.native.create_sync_local_cpp_execution_context`, with these
differences:

*   The worker ends with the process that started it, however that ends, leaves
    no zombie and keeps no one's stdout open (see `worker_process`). What it
    writes, such as the output of `tf.print` at the clients, is logged at level
    INFO.
*   Client work runs with one intra-op thread, so that results are the same bit
    for bit whatever the number of cores.
*   Secure sums run too, as sums in the clear behind their clipping and
    quantisation, which is what a simulation can show of them; TFF's native
    context refuses them.
*   Client data may be the package's own `ClientBatches`.
*   A worker that dies is one clear error in the call that needed it, and the
    call after it starts a new worker; TFF would repeat the call for ever.

Known limit: the worker listens on all network interfaces, without credentials,
on a port that is free at its start, and runs any computation sent to it. TFF
offers no other address. On a network shared with others, put a firewall before
it or do not use it.

The worker runs on Linux only, on the CPU only.
"""

from typing import Any
from typing import Self

from fedfish_tff.datasets import batches
from fedfish_tff.execution.worker import local_worker_executors

import tensorflow as tf
import tensorflow_federated as tff


class _LocalWorkerContext:
  """The part that both kinds of context add to TFF's: a worker, and its end.

  The worker starts with the first computation and ends with the context's
  `close` (or `with` block), with the context itself, or with this process.

  Attributes:
    executor_factory: Starts the worker and ends it.
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
      default_num_clients: The number of clients where the arguments of a
        computation do not tell it.
      max_concurrent_computation_calls: The number of clients' calls of one
        computation that run at a time; not limited if not positive.
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
  """A synchronous context with a worker of its own, ended by `close`."""

  def invoke(self, comp: tff.Computation, arg: Any) -> Any:
    """Runs a computation and returns its result."""
    # Before TFF hands the call to a thread, which no fork has.
    self.executor_factory.check_owner()
    return super().invoke(comp, arg)


class AsyncLocalWorkerExecutionContext(
  _LocalWorkerContext, tff.framework.AsyncExecutionContext
):
  """A context whose computations are coroutines, with a worker of its own."""


def _compile(comp: tff.Computation) -> tff.Computation:
  """Compiles as TFF's test backend does: native, but for secure intrinsics."""
  return tff.backends.native.desugar_and_transform_to_native(
    tff.backends.test.replace_secure_intrinsics_with_bodies(comp)
  )


def _transform_arguments(arguments: Any) -> Any:
  """Makes datasets of `ClientBatches`, and NumPy values of tensors, as TFF."""
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
