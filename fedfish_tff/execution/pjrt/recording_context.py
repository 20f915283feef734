# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Records client work as programs, with what they take and come to."""

from collections.abc import Mapping
from typing import Any
from typing import NamedTuple
from typing import TypeAlias

from fedfish_tff import errors
from fedfish_tff.execution import cohort_context
from fedfish_tff.execution import threads
from fedfish_tff.execution.packing import packed_cache
from fedfish_tff.execution.packing import structures
from fedfish_tff.execution.pjrt import stage_programs
from fedfish_tff.execution.reading import federated_plan
from fedfish_tff.execution.running import cohort_graph
from fedfish_tff.execution.running import cohort_stages
from fedfish_tff.execution.running import stage_runs

import numpy as np
import tensorflow as tf

_ValueId: TypeAlias = federated_plan.ValueId


class Record(NamedTuple):
  """A client stage that has run in this process.

  Attributes:
    hlo: The same as one program, a serialized HLO module.
    arguments: What it takes.
    results: The accumulators that this process came to.
  """

  hlo: bytes
  arguments: list[np.ndarray]
  results: list[np.ndarray]


class _Recorder(stage_programs.StagePrograms):
  """Keeps programs and what they take, instead of running them."""

  def __init__(self, stage: federated_plan.ClientStage, **options: Any):
    super().__init__(stage, **options)
    self.calls: list[tuple[bytes, list[np.ndarray]]] = []

  def run(
    self,
    accumulators: Any,
    server_values: Mapping[_ValueId, Any],
    inputs: cohort_graph.ClientInputs,
  ) -> tuple[Any, list[Any]]:
    arrays = [
      *map(structures.to_array, tf.nest.flatten(accumulators)),
      *self.server_arrays(server_values),
      *self.data_arrays(inputs),
    ]
    self.calls.append((self.hlo(inputs)[0], arrays))
    return accumulators, []


class _RecordingRunner(cohort_stages.CohortStageRunner):
  """Runs client stages in this process; keeps a record of each."""

  def __init__(self, **options: Any):
    super().__init__(parallelism=threads.num_cores())
    self._options = options
    self.records: list[Record] = []

  def run_graph(
    self,
    device: str,
    stage: federated_plan.ClientStage,
    graph: cohort_graph.StageGraph,
    server_values: Mapping[_ValueId, Any],
    clients: stage_runs.Clients,
  ) -> stage_runs.Partial:
    partial = super().run_graph(device, stage, graph, server_values, clients)
    if stage.outputs:
      raise errors.InputError(
        'Client work is recorded if it ends in sums only.'
      )
    recorder = _Recorder(stage, **self._options)
    cohort_stages.GraphRun(
      stage,
      recorder,
      packed_cache.PackedSequenceCache(),
      server_values,
      clients,
    ).run()
    if len(recorder.calls) != 1:
      raise errors.InputError(
        f'{len(clients)} clients are {len(recorder.calls)} chunks of data; so few '
        'that they are one were expected.'
      )
    ((hlo, arguments),) = recorder.calls
    results = [
      structures.to_array(leaf)
      for accumulator in partial.accumulators
      for leaf in structures.flatten(accumulator)
    ]
    self.records.append(Record(hlo, arguments, results))
    return partial


class RecordingContext(cohort_context.SyncCohortExecutionContext):
  """Runs computations in this process, and records their client work."""

  def __init__(self, *, for_cpu: bool = False, vectorized_clients: int = 1):
    """Makes a context without records.

    Args:
      for_cpu: Whether the programs will run on CPUs.
      vectorized_clients: See `pjrt_context`.
    """
    threads.use_one_intra_op_thread()
    self._runner = _RecordingRunner(for_cpu=for_cpu, width=vectorized_clients)
    self._set_up(0, self._runner)

  @property
  def records(self) -> list[Record]:
    """What has run, in order."""
    return self._runner.records
