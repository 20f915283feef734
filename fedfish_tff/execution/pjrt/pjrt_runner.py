# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The runner of client work on PJRT devices, and its options.

TensorFlow traces the client work, and today's XLA compiles and runs it on the
devices that JAX drives: CPUs, GPUs, TPUs. All else is the same as in
`cohort_stages`: the server's steps run in this process. So does client work
that XLA cannot compile, such as work on strings, which is logged.
"""

from collections.abc import Mapping
import dataclasses
import functools
import os
import threading
from typing import Any
from typing import TypeAlias
import weakref

from fedfish_tff import errors
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
    """Starts a `device_client.DeviceProcess` with these options."""
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


@dataclasses.dataclass(frozen=True, kw_only=True)
class PjrtOptions:
  """Options of a runner on devices.

  Attributes:
    platform: 'cpu', 'cuda' or 'tpu'. All its devices on this machine share a
      cohort: client i goes to device i modulo their number, and the devices'
      sums are merged in order.
    precision: The precision of matrix products: 'float32', or a faster one of
      this platform, 'tensorfloat32' (cuda) or 'bfloat16' (tpu).
    vectorized_clients: The number of clients that compute side by side, each
      operation for all of them at once, if they have the same number of
      batches, all full. Other clients compute one after the other. The number
      is lowered for programs that are too large or impossible.
    default_num_clients: The number of clients if the arguments of a computation
      do not determine it.
    python: The Python of an environment with JAX; None for .venv-accelerator,
      which `make accelerator` makes.
    cache: The folder of compiled programs; None for fedfish_tff/programs in the
      user's cache folder.
  """

  platform: str = 'cpu'
  precision: str = 'float32'
  vectorized_clients: int = 1
  default_num_clients: int = 0
  python: str | os.PathLike[str] | None = None
  cache: str | os.PathLike[str] | None = None

  def __post_init__(self) -> None:
    errors.check_member('precision', self.precision, _PLATFORMS_OF)
    # The device process reports unknown platforms.
    if self.platform in set(device_client.PLATFORMS).difference(
      _PLATFORMS_OF[self.precision]
    ):
      raise errors.InputError(
        f'The platform {self.platform!r} has no precision {self.precision!r}; '
        'float32 is everywhere, tensorfloat32 on cuda and bfloat16 on tpu.'
      )
    errors.check_positive_integer('vectorized_clients', self.vectorized_clients)

  def create_runner(self) -> 'PjrtStageRunner':
    """Starts the device process."""
    threads.use_one_intra_op_thread()
    return PjrtStageRunner(self)


class PjrtStageRunner(cohort_stages.CohortStageRunner):
  """Runs the client stages of plans as programs on devices.

  Attributes:
    process: The devices, and their process.
  """

  def __init__(self, options: PjrtOptions):
    """Starts the device process."""
    devices = Devices(
      options.platform, python=options.python, cache=options.cache
    )
    weakref.finalize(self, devices.stop)
    super().__init__(
      parallelism=threads.num_cores(),
      devices=devices.names,
      use_xla=True,
      default_num_clients=options.default_num_clients,
    )
    self.process = devices
    self._is_exact = options.precision == 'float32'
    self._width = options.vectorized_clients

  def close(self) -> None:
    self.process.stop()

  def create_graph(
    self,
    stage: federated_plan.ClientStage,
    *,
    use_xla: bool,
    compiles_loops: bool,
  ) -> cohort_graph.StageGraph:
    if use_xla:
      return stage_programs.StagePrograms(
        stage,
        is_exact=self._is_exact,
        for_cpu=self.devices[0].startswith('cpu:'),
        width=self._width,
      )
    return super().create_graph(
      stage, use_xla=use_xla, compiles_loops=compiles_loops
    )

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
