# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The runner of TFF's own worker on this machine, and its options.

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

import dataclasses
from typing import Any

from fedfish_tff.datasets import batches
from fedfish_tff.execution import runner as runner_lib
from fedfish_tff.execution.worker import local_worker_executors

import tensorflow as tf
import tensorflow_federated as tff


@dataclasses.dataclass(frozen=True, kw_only=True)
class LocalWorkerOptions:
  """Options of a runner in TFF's own runtime.

  Attributes:
    default_num_clients: The number of clients if the arguments of a computation
      do not determine it.
    max_concurrent_computation_calls: The number of clients' calls of one
      computation that run at a time; unlimited if not positive.
  """

  default_num_clients: int = 0
  max_concurrent_computation_calls: int = -1

  def create_runner(self) -> 'LocalWorkerRunner':
    """Creates the runner, whose worker starts with the first computation."""
    return LocalWorkerRunner(self)


class LocalWorkerRunner(runner_lib.Runner):
  """A runner with its own worker, which starts with the first computation.

  The worker ends with `close`, with the runner itself, or with this process.
  """

  def __init__(self, options: LocalWorkerOptions):
    """Makes a runner without a worker."""
    self._executors = local_worker_executors.LocalWorkerExecutorFactory(
      default_num_clients=options.default_num_clients,
      max_concurrent_computation_calls=options.max_concurrent_computation_calls,
    )
    self._context = tff.framework.SyncExecutionContext(
      executor_fn=self._executors,
      compiler_fn=_compile,
      transform_args=_transform_arguments,
      transform_result=tff.tensorflow.transform_result,
    )

  @property
  def worker_pid(self) -> int | None:
    """The worker's process id; `None` while no worker runs."""
    return self._executors.worker_pid

  def run(self, comp: tff.Computation, arg: Any) -> Any:
    # Checked before TFF gives the call to a thread, which a fork lacks.
    self._executors.check_owner()
    return self._context.invoke(comp, arg)

  def close(self) -> None:
    """Ends the worker; calls then raise `LocalWorkerError`."""
    self._executors.close()


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
