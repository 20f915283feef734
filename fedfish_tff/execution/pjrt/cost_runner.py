# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A runner that compiles client work for devices instead of running it."""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import TypeAlias

from fedfish_tff.execution import threads
from fedfish_tff.execution.packing import packed_cache
from fedfish_tff.execution.packing import type_leaves
from fedfish_tff.execution.pjrt import device_client
from fedfish_tff.execution.pjrt import stage_programs
from fedfish_tff.execution.reading import federated_plan
from fedfish_tff.execution.replay import tracing
from fedfish_tff.execution.running import cohort_stages
from fedfish_tff.execution.running import plan_runner
from fedfish_tff.execution.running import stage_runs

_ValueId: TypeAlias = federated_plan.ValueId


class CostRunner(plan_runner.PlanRunner):
  """Runs computations except for client stages, which give zeros.

  Attributes:
    analyses: The analyses of the stages' programs.
    problems: The reasons why other stages have no program for the device.
  """

  def __init__(
    self,
    process: device_client.DeviceProcess,
    on_program: Callable[[int], None],
  ):
    """Makes a runner.

    Args:
      process: The device process that compiles.
      on_program: A callback that takes a program's size in bytes before it is
        compiled.
    """
    super().__init__()
    threads.use_one_intra_op_thread()
    self.analyses: list[device_client.Analysis] = []
    self.problems: list[str] = []
    self._process = process
    self._device = process.device(0)
    self._on_program = on_program
    self._cache = packed_cache.PackedSequenceCache()

  def __call__(
    self,
    stage: federated_plan.ClientStage,
    server_values: Mapping[_ValueId, Any],
    client_values: Mapping[_ValueId, Sequence[Any]],
    num_clients: int,
  ) -> stage_runs.StageResult:
    """Compiles a stage; returns the reports of empty sums, and zero outputs."""
    if num_clients:
      # The program takes the first chunk of one device's clients.
      step = self._process.num_devices
      clients = stage_runs.Clients(
        {i: client_values[i][::step] for i in stage.client_inputs},
        range(0, num_clients, step),
        num_clients,
      )
      try:
        self.analyses.append(self._analyze(stage, server_values, clients))
      except (tracing.NotReplayableError, device_client.ProgramError) as error:
        self.problems.append(str(error))
    aggregates = {
      a.out: a.report(server_values[a.zero]) for a in stage.aggregates
    }
    outputs = {
      out: [type_leaves.zeros(stage.types[out])] * num_clients
      for out in stage.outputs
    }
    return aggregates, outputs

  def _analyze(
    self,
    stage: federated_plan.ClientStage,
    server_values: Mapping[_ValueId, Any],
    clients: stage_runs.Clients,
  ) -> device_client.Analysis:
    programs = stage_programs.StagePrograms(
      stage, for_cpu=self._process.platform == 'cpu'
    )
    run = cohort_stages.GraphRun(programs, self._cache, server_values, clients)
    hlo, _ = programs.hlo(next(run.chunks()))
    self._on_program(len(hlo))
    return self._device.analyze(hlo)
