# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What client work costs on devices of PJRT that need not be here.

`CostContext` runs computations as other contexts do, but for the clients: their
stages are compiled in the cost process (`cost_process`), which tells what each
loop of a program costs, and leave zeros. How often loops run is not known to
XLA. It follows from the clients' data: what counts, of a client's work, is a
program of its own, from which XLA drops all the rest.
"""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import json
import math
import multiprocessing
import os
import pathlib
import time
from typing import Any
from typing import TypeAlias

from fedfish_tff import errors
from fedfish_tff.execution import cohort_context
from fedfish_tff.execution import interruption
from fedfish_tff.execution import threads
from fedfish_tff.execution.packing import packed_cache
from fedfish_tff.execution.packing import structures
from fedfish_tff.execution.pjrt import device_client
from fedfish_tff.execution.pjrt import stage_programs
from fedfish_tff.execution.reading import federated_plan
from fedfish_tff.execution.replay import sequence_replay
from fedfish_tff.execution.replay import tracing
from fedfish_tff.execution.running import cohort_graph
from fedfish_tff.execution.running import cohort_stages
from fedfish_tff.execution.running import stage_runs
from fedfish_tff.execution.worker import worker_process

import numpy as np
import tensorflow as tf

_ValueId: TypeAlias = federated_plan.ValueId

# How often a waiting call looks whether it was told to stop.
_POLL_SECONDS = 0.2
# Over elements, in the work of a client; no method has half as many.
_MOST_LOOPS = 64


@dataclasses.dataclass(frozen=True, kw_only=True)
class LoopCost:
  """What a loop's body costs, without loops in it, as XLA counts.

  Attributes:
    name: The loop's in the graph; empty for a program outside of its loops.
    trips: How often it runs for a client of the cohort, on average.
    is_counted: Whether trips are known. Where not, the loop is taken for one
      over the rows of a batch.
    flops: Floating-point operations of a run.
    num_bytes: Read and written in a run, wherever they lie.
    cycles: That the compiler expects a run to take; 0 where it tells none.
  """

  name: str
  trips: float
  is_counted: bool
  flops: float
  num_bytes: float
  cycles: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class StageCost:
  """What a client stage costs on one chip.

  Attributes:
    problem: Why it is no program of the device; None if it is one. If it is
      none, all else is 0.
    compile_seconds: What it took to compile.
    arguments: Bytes of the device's memory.
    results: The same.
    temporaries: The same.
    code: The same.
    loops: The costs, the whole program first.
  """

  problem: str | None = None
  compile_seconds: float = 0.0
  arguments: int = 0
  results: int = 0
  temporaries: int = 0
  code: int = 0
  loops: Sequence[LoopCost] = ()

  @property
  def num_bytes(self) -> int:
    """The device's memory that a run takes."""
    return self.arguments + self.results + self.temporaries + self.code

  def per_client(self, cost: Callable[[LoopCost], float]) -> float:
    """Returns a cost of loops, summed over all that a client runs."""
    return sum(loop.trips * cost(loop) for loop in self.loops)


class CostProcess:
  """A running cost process."""

  def __init__(
    self,
    platform: str,
    topology: str,
    *,
    python: str | os.PathLike[str] | None = None,
  ):
    """Starts the process.

    Args:
      platform: 'tpu' or 'cpu'.
      topology: The chips, such as 'v5e:2x2'; of no meaning on 'cpu'.
      python: See `device_client.DeviceProcess`.

    Raises:
      errors.InputError: If there is no such environment or topology.
    """
    python = pathlib.Path(python or device_client.default_python())
    if not python.exists():
      raise errors.InputError(
        f'There is no accelerator environment at {python}; `make accelerator '
        f'PLATFORM={platform}` makes one.'
      )
    self._pipe, other = multiprocessing.Pipe()
    with other:
      self._process = worker_process.WorkerProcess(
        [
          os.fspath(python),
          '-I',
          os.fspath(pathlib.Path(__file__).with_name('cost_process.py')),
          str(other.fileno()),
          platform,
          topology,
        ],
        pass_fds=[other.fileno()],
      )
    answer = self._receive()
    if 'error' in answer:
      self.stop()
      raise errors.InputError(
        f'{python.parent.parent} cannot compile for {platform} {topology!r}; '
        f'`make accelerator PLATFORM={platform}` makes one that can: '
        f'{_first_line(answer["error"])}'
      )
    self.kind: str = answer['kind']
    self.num_chips: int = answer['chips']

  def compile(
    self, hlo: bytes, on_minute: Callable[[int], None] = lambda _: None
  ) -> dict[str, Any]:
    """Compiles a program; returns what `cost_process` answers.

    Args:
      hlo: A serialized HLO module.
      on_minute: Called with the number of each minute that it takes.

    Raises:
      ProgramError: If it does not compile, or the process ends of it.
    """
    try:
      self._pipe.send_bytes(hlo)
    except OSError as error:
      raise device_client.ProgramError(self._describe_end()) from error
    answer = self._receive(on_minute)
    if 'error' in answer:
      raise device_client.ProgramError(_first_line(answer['error']))
    return answer

  def stop(self) -> None:
    """Ends the process."""
    self._process.stop()
    self._pipe.close()

  def _receive(
    self, on_minute: Callable[[int], None] = lambda _: None
  ) -> dict[str, Any]:
    start, minutes = time.monotonic(), 0
    try:
      # Large programs take a quarter of an hour: there is no limit.
      while not self._pipe.poll(_POLL_SECONDS):
        if time.monotonic() - start >= 60 * (minutes + 1):
          minutes += 1
          on_minute(minutes)
        interruption.check()
        if not self._process.is_running:
          raise EOFError
      return json.loads(self._pipe.recv_bytes())
    except (EOFError, OSError) as error:
      raise device_client.ProgramError(self._describe_end()) from error
    except BaseException:
      self.stop()
      raise

  def _describe_end(self) -> str:
    self._process.stop()
    last = self._process.output_tail.strip().rpartition('\n')[2]
    return f'the compiler {self._process.describe_end()}; {last}'


class CostContext(cohort_context.SyncCohortExecutionContext):
  """Runs computations, but for the clients' stages, which it compiles.

  Attributes:
    stages: What those cost that ran.
  """

  def __init__(
    self,
    process: CostProcess,
    on_program: Callable[[int], None],
    on_minute: Callable[[int], None] = lambda _: None,
  ):
    """Makes a context.

    Args:
      process: Compiles.
      on_program: Called with a program's size in bytes before it is compiled.
      on_minute: See `CostProcess.compile`.
    """
    threads.use_one_intra_op_thread()
    self.stages: list[StageCost] = []
    self._process = process
    self._on_program = on_program
    self._on_minute = on_minute
    self._cache = packed_cache.PackedSequenceCache()
    self._set_up(0, self._run_zeros)

  def _run_zeros(
    self,
    stage: federated_plan.ClientStage,
    server_values: Mapping[_ValueId, Any],
    client_values: Mapping[_ValueId, Sequence[Any]],
    num_clients: int,
  ) -> stage_runs.StageResult:
    """Compiles a stage; returns what a cohort would leave that does nothing."""
    if num_clients:
      try:
        cost = self._cost(stage, server_values, client_values, num_clients)
      except (tracing.NotReplayableError, device_client.ProgramError) as error:
        cost = StageCost(problem=str(error))
      self.stages.append(cost)
    aggregates = {
      a.out: a.report(server_values[a.zero]) for a in stage.aggregates
    }
    outputs = {
      out: [
        structures.unflatten(
          iter(
            [
              tf.zeros(structures.tensor_spec(leaf).shape, leaf.dtype)
              for leaf in structures.leaf_types(stage.types[out])
            ]
          ),
          stage.types[out],
        )
      ]
      * num_clients
      for out in stage.outputs
    }
    return aggregates, outputs

  def _cost(
    self,
    stage: federated_plan.ClientStage,
    server_values: Mapping[_ValueId, Any],
    client_values: Mapping[_ValueId, Sequence[Any]],
    num_clients: int,
  ) -> StageCost:
    programs = stage_programs.StagePrograms(stage)

    def chunks(step: int) -> Any:
      clients = stage_runs.Clients(
        {i: client_values[i][::step] for i in stage.client_inputs},
        range(0, num_clients, step),
        num_clients,
      )
      return cohort_stages.GraphRun(
        stage, programs, self._cache, server_values, clients
      ).chunks()

    own = list(chunks(self._process.num_chips))
    hlo, _ = programs.hlo(own[0])
    self._on_program(len(hlo))
    answer = self._process.compile(hlo, self._on_minute)
    counts = TripCounts(stage)
    trips: dict[str, float] = {}
    for inputs in chunks(1):
      for name, count in counts.count(server_values, inputs).items():
        name = _within_client(name)
        trips[name] = trips.get(name, 0.0) + count / num_clients
    num_own = sum(inputs.num_clients for inputs in own)
    rows = _mean_rows(own)
    loops: list[LoopCost] = []
    for loop in answer.pop('loops'):
      parent = None if loop['parent'] is None else loops[loop['parent']]
      name = _within_client(loop['name'])
      is_counted = True
      if parent is None:
        number = len(own) / num_own
      elif name == cohort_graph.LOOP_NAME:
        number = 1.0
      elif name in trips:
        number = trips[name]
      else:
        is_counted = loop['trips'] is not None
        number = parent.trips * (loop['trips'] if is_counted else rows)
      loops.append(
        LoopCost(
          name=name,
          trips=number,
          is_counted=is_counted,
          flops=loop['flops'],
          num_bytes=loop['bytes'],
          cycles=loop['cycles'],
        )
      )
    answer['compile_seconds'] = answer.pop('seconds')
    return StageCost(loops=loops, **answer)


class TripCounts(cohort_graph.StageGraph):
  """How often a stage's loops over elements run, client by client."""

  def __init__(self, stage: federated_plan.ClientStage):
    """Makes the program; see `cohort_graph.StageGraph`."""
    super().__init__(stage, parallelism=1, use_xla=True)
    self.output_specs = [[tf.TensorSpec([_MOST_LOOPS], tf.int64)]]
    self._noted: Mapping[str, tf.Tensor] = {}
    self._names: Sequence[str] = ()

  def count(
    self,
    server_values: Mapping[_ValueId, Any],
    inputs: cohort_graph.ClientInputs,
  ) -> dict[str, float]:
    """Returns the trips of all clients together, by the loops' names.

    Args:
      server_values: See `run`.
      inputs: See `run`.
    """
    zeros = [
      structures.flatten(server_values[a.zero]) for a in self._stage.aggregates
    ]
    with sequence_replay.noting_trips() as self._noted:
      _, [[counts]] = self.run(zeros, server_values, inputs)
    totals = np.sum(counts.numpy()[: inputs.num_clients], axis=0)
    return dict(zip(self._names, map(float, totals)))

  def outputs_of(self, known: Mapping[_ValueId, Any]) -> list[list[tf.Tensor]]:
    """See `cohort_graph.StageGraph`."""
    del known
    # Others are in branches, which may not run.
    graph = tf.compat.v1.get_default_graph()
    own = {n: t for n, t in self._noted.items() if t.graph is graph}
    self._names = tuple(own)
    zeros = [tf.constant(0, tf.int64)] * (_MOST_LOOPS - len(own))
    return [[tf.stack([*own.values(), *zeros])]]

  def build(self, *args: Any, **kwargs: Any) -> Any:
    """See `cohort_graph.StageGraph`."""
    _, outputs = super().build(*args, **kwargs)
    # Without the rest, XLA leaves out what it is made of.
    return [], outputs


def width_that_fits(cost: StageCost, num_bytes: float) -> int:
  """Returns how many clients side by side a memory has room for.

  Args:
    cost: Of a stage, which runs one client at a time on a chip.
    num_bytes: The memory.
  """
  left = num_bytes - (cost.num_bytes - cost.temporaries)
  return max(0, math.floor(left / max(1, cost.temporaries)))


def _within_client(name: str) -> str:
  """Returns a loop's name; TensorFlow puts where it is in front, or not."""
  return name.removeprefix(f'{cohort_graph.LOOP_NAME}/')


def _mean_rows(chunks: Sequence[cohort_graph.ClientInputs]) -> float:
  """Returns how many rows a batch has, on average; 1 without batches."""
  sizes = [
    layout[1][:, 1, 0]
    for inputs in chunks
    for arrays in inputs.sequences
    for layout in arrays['layouts']
    if len(layout) > 1
  ]
  sizes = np.concatenate([*sizes, np.zeros([0], np.int64)])
  sizes = sizes[sizes > 0]
  return float(np.mean(sizes)) if len(sizes) else 1.0


def _first_line(text: str) -> str:
  return text.strip().split('\n', 1)[0]
