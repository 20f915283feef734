# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Execution contexts that run client work on PJRT devices.

TensorFlow traces the client work, and today's XLA compiles and runs it on the
devices that JAX drives: CPUs, GPUs, TPUs. All else is the same as in
`cohort_context`: the server's steps run in this process. So does client work
that XLA cannot compile, such as work on strings, which is logged.
"""

from collections.abc import Mapping
from collections.abc import Sequence
import functools
import os
import threading
from typing import Any
from typing import TypeAlias
import weakref

from fedfish_tff import errors
from fedfish_tff.execution import cohort_context
from fedfish_tff.execution import threads
from fedfish_tff.execution.pjrt import device_client
from fedfish_tff.execution.pjrt import stage_programs
from fedfish_tff.execution.reading import federated_plan
from fedfish_tff.execution.replay import tracing
from fedfish_tff.execution.running import cohort_graph
from fedfish_tff.execution.running import cohort_stages
from fedfish_tff.execution.running import stage_runs

from absl import logging

_ValueId: TypeAlias = federated_plan.ValueId

# The platforms that have each precision of matrix products. All add products in
# float32.
_PLATFORMS_OF = {
  'float32': device_client.PLATFORMS,
  'tensorfloat32': ('cuda',),
  'bfloat16': ('tpu',),
}


class Devices:
  """The devices of a device process, which is restarted if it died."""

  def __init__(self, platform: str, **options: Any):
    """Starts the process; see `device_client.DeviceProcess`."""
    self._start = functools.partial(
      device_client.DeviceProcess, platform, **options
    )
    self._lock = threading.Lock()
    self._process = self._start()
    self._devices: dict[int, device_client.Device] = {}
    self.names = tuple(
      f'{platform}:{i}' for i in range(self._process.num_devices)
    )

  @property
  def pid(self) -> int:
    """The process id of the device process."""
    return self._process.pid

  def get(self, name: str) -> device_client.Device:
    """Returns a device of `names`."""
    with self._lock:
      if not self._process.is_running:
        logging.warning('%s; it is started again.', self._process.describe())
        self._devices.clear()
        self._process = self._start()
      number = self.names.index(name)
      if number not in self._devices:
        self._devices[number] = self._process.device(number)
      return self._devices[number]

  def stop(self) -> None:
    """Ends the process."""
    self._process.stop()


class PjrtStageRunner(cohort_stages.CohortStageRunner):
  """Runs the client stages of plans as programs on devices."""

  def __init__(
    self,
    platform: str,
    *,
    precision: str = 'float32',
    vectorized_clients: int = 1,
    python: str | os.PathLike[str] | None = None,
    cache: str | os.PathLike[str] | None = None,
  ):
    """Starts the device process; see `SyncPjrtExecutionContext`."""
    check_options(platform, precision, vectorized_clients)
    devices = Devices(platform, python=python, cache=cache)
    weakref.finalize(self, devices.stop)
    super().__init__(
      parallelism=threads.num_cores(), devices=devices.names, use_xla=True
    )
    self.process = devices
    self._is_exact = precision == 'float32'
    self._width = vectorized_clients

  def create_graph(
    self, stage: federated_plan.ClientStage, use_xla: bool
  ) -> cohort_graph.StageGraph:
    if use_xla:
      return stage_programs.StagePrograms(
        stage,
        is_exact=self._is_exact,
        for_cpu=self.devices[0].startswith('cpu:'),
        width=self._width,
      )
    return super().create_graph(stage, use_xla)

  def run_graph(
    self,
    device: str,
    graph: cohort_graph.StageGraph,
    server_values: Mapping[_ValueId, Any],
    clients: stage_runs.Clients,
  ) -> stage_runs.Partial:
    if not isinstance(graph, stage_programs.StagePrograms):
      return super().run_graph('/device:CPU:0', graph, server_values, clients)
    try:
      return self._run_programs(device, graph, server_values, clients)
    except device_client.DeviceProcessError:
      # Only time is lost: these clients compute again.
      return self._run_programs(device, graph, server_values, clients)

  def _run_programs(
    self,
    name: str,
    programs: stage_programs.StagePrograms,
    server_values: Mapping[_ValueId, Any],
    clients: stage_runs.Clients,
  ) -> stage_runs.Partial:
    device = self.process.get(name)
    # Several computations may run at a time.
    with device.lock:
      run = stage_programs.ProgramRun(programs, device)
      try:
        return cohort_stages.GraphRun(
          run, self._cache, server_values, clients
        ).run()
      except (
        device_client.ProgramError,
        stage_programs.DeviceMemoryError,
        tracing.NotReplayableError,
      ) as error:
        if run.width > 1:
          is_large = isinstance(error, stage_programs.DeviceMemoryError)
          programs.width = run.width // 2 if is_large else 1
          logging.warning(
            '%d clients side by side, not %d: %s',
            programs.width,
            run.width,
            error,
          )
        elif isinstance(error, device_client.ProgramError):
          raise tracing.NotReplayableError(str(error)) from error
        else:
          raise
    return self._run_programs(name, programs, server_values, clients)


def check_options(
  platform: str, precision: str, vectorized_clients: int
) -> None:
  """Raises InputError unless the options are valid; see `_PjrtContext`."""
  if precision not in _PLATFORMS_OF:
    raise errors.InputError(
      f'precision must be one of {", ".join(_PLATFORMS_OF)}, got {precision!r}.'
    )
  # The device process reports unknown platforms.
  if platform in set(device_client.PLATFORMS).difference(
    _PLATFORMS_OF[precision]
  ):
    raise errors.InputError(
      f'The platform {platform!r} has no precision {precision!r}; float32 is '
      'everywhere, tensorfloat32 on cuda and bfloat16 on tpu.'
    )
  if vectorized_clients < 1:
    raise errors.InputError(
      f'vectorized_clients must be at least 1, not {vectorized_clients}.'
    )


class _PjrtContext:
  """The part that both kinds of context add to those of `cohort_context`."""

  def __init__(
    self,
    platform: str = 'cpu',
    *,
    precision: str = 'float32',
    vectorized_clients: int = 1,
    default_num_clients: int = 0,
    python: str | os.PathLike[str] | None = None,
    cache: str | os.PathLike[str] | None = None,
  ):
    """Creates a context.

    Args:
      platform: 'cpu', 'cuda' or 'tpu'. All its devices on this machine share a
        cohort: client i goes to device i modulo their number, and the devices'
        sums are merged in order.
      precision: The precision of matrix products: 'float32', or a faster one of
        this platform, 'tensorfloat32' (cuda) or 'bfloat16' (tpu).
      vectorized_clients: The number of clients that compute side by side, each
        operation for all of them at once, if they have the same number of
        batches, all full. Other clients compute one after the other. The number
        is lowered for programs that are too large or impossible.
      default_num_clients: The number of clients if the arguments of a
        computation do not determine it.
      python: The Python of an environment with JAX; None for .venv-accelerator,
        which `make accelerator` makes.
      cache: The folder of compiled programs; None for fedfish_tff/programs in
        the user's cache folder.

    Raises:
      errors.InputError: If the environment, platform or device does not exist.
    """
    threads.use_one_intra_op_thread()
    self._set_up(
      default_num_clients,
      PjrtStageRunner(
        platform,
        precision=precision,
        vectorized_clients=vectorized_clients,
        python=python,
        cache=cache,
      ),
    )

  @property
  def process_id(self) -> int:
    """The process id of the device process."""
    return self._run_stage.process.pid

  @property
  def devices(self) -> Sequence[str]:
    """The names of the devices that share a cohort."""
    return self._run_stage.process.names


class SyncPjrtExecutionContext(
  _PjrtContext, cohort_context.SyncCohortExecutionContext
):
  """A synchronous context that runs client work on PJRT devices."""


class AsyncPjrtExecutionContext(
  _PjrtContext, cohort_context.AsyncCohortExecutionContext
):
  """An asynchronous context that runs client work on PJRT devices."""
