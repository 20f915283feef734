# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs client stages: as a graph over the cohort, or client by client.

The cohort goes through the graph in chunks of a few megabytes of data; the next
chunk is packed while one computes. A stage that cannot be a graph, or with data
that cannot be packed, runs on the general path (`client_stages`), which is
logged once for each reason.
"""

import collections
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import concurrent.futures
import contextvars
import functools
import threading
from typing import Any
from typing import TypeAlias
import weakref

from fedfish_tff import errors
from fedfish_tff.execution import interruption
from fedfish_tff.execution.packing import packed_cache
from fedfish_tff.execution.packing import packed_sequences
from fedfish_tff.execution.packing import sequence_packing
from fedfish_tff.execution.packing import type_leaves
from fedfish_tff.execution.reading import federated_plan
from fedfish_tff.execution.replay import compiled_loops
from fedfish_tff.execution.replay import sequence_arrays
from fedfish_tff.execution.replay import tracing
from fedfish_tff.execution.running import client_stages
from fedfish_tff.execution.running import cohort_graph
from fedfish_tff.execution.running import plan_runner
from fedfish_tff.execution.running import stage_runs

from absl import logging
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_ValueId: TypeAlias = federated_plan.ValueId

# The bytes of clients' inputs and outputs in one call of a graph: large enough
# that the call itself costs little, and small beside a model's memory. The
# clients that fill them up are as many as compute at a time, or a multiple.
_CHUNK_BYTES = 16 * 2**20
_CHUNK_CLIENTS = 512

# Errors after which the graph may well run next time.
_TRANSIENT = (
  tf.errors.AbortedError,
  tf.errors.ResourceExhaustedError,
  tf.errors.UnavailableError,
)


class CohortStageRunner(plan_runner.PlanRunner):
  """Runs the client stages of plans and keeps their graphs."""

  def __init__(
    self,
    *,
    parallelism: int,
    devices: Sequence[str] = ('CPU:0',),
    use_xla: bool = False,
    default_num_clients: int = 0,
  ):
    """Makes a runner.

    Args:
      parallelism: The number of clients that compute at a time, on all devices
        together.
      devices: The logical devices that share the cohort. Client i goes to
        device i modulo their number; the devices' sums are merged in order.
      use_xla: Whether XLA compiles client work.
      default_num_clients: The number of clients if the arguments of a
        computation do not determine it.
    """
    super().__init__(default_num_clients=default_num_clients)
    self._parallelism = parallelism
    self.devices = tuple(devices)
    self._use_xla = use_xla
    self.compiles_loops = not use_xla
    self._cache = packed_cache.PackedSequenceCache()
    self._graphs: weakref.WeakKeyDictionary[
      federated_plan.ClientStage, cohort_graph.StageGraph | None
    ] = weakref.WeakKeyDictionary()
    self._lock = threading.Lock()
    self._reasons: dict[str, None] = {}

  @property
  def general_path_reasons(self) -> tuple[str, ...]:
    """The reasons why stages ran client by client instead of as a graph."""
    return tuple(self._reasons)

  def __call__(
    self,
    stage: federated_plan.ClientStage,
    server_values: Mapping[_ValueId, Any],
    client_values: Mapping[_ValueId, Sequence[Any]],
    num_clients: int,
  ) -> stage_runs.StageResult:
    """Runs a stage on all devices, by `stage_runs.run_stage`."""
    return stage_runs.run_stage(
      stage,
      server_values,
      client_values,
      num_clients,
      runners=[
        functools.partial(self.run_clients, device=device)
        for device in self.devices
      ],
    )

  def run_clients(
    self,
    stage: federated_plan.ClientStage,
    server_values: Mapping[_ValueId, Any],
    clients: stage_runs.Clients,
    *,
    device: str,
  ) -> stage_runs.Partial:
    """Runs a stage for some clients of a cohort on a device of `devices`."""
    graph = self._graph(stage) if clients else None
    failure = None
    if graph is not None:
      try:
        return self.run_graph(device, graph, server_values, clients)
      except tracing.NotReplayableError as error:
        self._give_up_graph(stage, graph, str(error))
        return self.run_clients(stage, server_values, clients, device=device)
      except packed_sequences.FewPassesError:
        # Of packed clients, which only the process that has packed them can
        # pass over again.
        raise
      except packed_sequences.PackingError as error:
        self._note_general_path(stage, str(error))
      except tf.errors.OpError as error:
        interruption.check()
        failure = error
        # Only a run client by client tells which one failed. One at a time, so
        # that no client after it has its side effects twice.
        logging.info(
          'Client work failed (%s); running the clients one by one to find the '
          'one that failed.',
          type(error).__name__,
        )
    partial = client_stages.run_clients_generally(
      stage,
      server_values,
      clients,
      parallelism=1 if failure else self._parallelism // len(self.devices),
    )
    if failure is not None:
      # The graph failed, not a client, for example if XLA has no kernel.
      reason = errors.first_line(failure)
      if isinstance(failure, _TRANSIENT):
        self._note_general_path(stage, reason)
      else:
        self._give_up_graph(stage, graph, reason)
    return partial

  def run_graph(
    self,
    device: str,
    graph: cohort_graph.StageGraph,
    server_values: Mapping[_ValueId, Any],
    clients: stage_runs.Clients,
  ) -> stage_runs.Partial:
    """Runs a graph of `create_graph` for some clients on a device."""
    with tf.device(device):
      return GraphRun(graph, self._cache, server_values, clients).run()

  def _graph(
    self, stage: federated_plan.ClientStage
  ) -> cohort_graph.StageGraph | None:
    with self._lock:
      if stage not in self._graphs:
        self._make_graph(stage, use_xla=self._use_xla)
      return self._graphs[stage]

  def _make_graph(
    self,
    stage: federated_plan.ClientStage,
    *,
    use_xla: bool,
    compiles_loops: bool = True,
  ) -> None:
    try:
      self._graphs[stage] = self.create_graph(
        stage, use_xla=use_xla, compiles_loops=compiles_loops
      )
    except tracing.NotReplayableError as error:
      if use_xla:
        self._give_up_xla(stage, str(error))
      else:
        self._graphs[stage] = None
        self._note_general_path(stage, str(error))

  def create_graph(
    self,
    stage: federated_plan.ClientStage,
    *,
    use_xla: bool,
    compiles_loops: bool,
  ) -> cohort_graph.StageGraph:
    """Returns a stage's graph; raises NotReplayableError if it has none."""
    if any(device.startswith('GPU') for device in self.devices):
      # XLA's kernels for the processor are those that have been measured.
      compiles_loops = False
      if cohort_graph.has_marked_loops(stage):
        compiled_loops.log_refusal('client work on GPUs')
    return cohort_graph.StageGraph(
      stage,
      parallelism=max(1, self._parallelism // len(self.devices)),
      use_xla=use_xla,
      compiles_loops=compiles_loops,
    )

  def _give_up_graph(
    self,
    stage: federated_plan.ClientStage,
    graph: cohort_graph.StageGraph,
    reason: str,
  ) -> None:
    """Falls back to a graph without XLA, or to none."""
    if graph.use_xla or graph.compiles_loops:
      self._give_up_xla(stage, reason)
    else:
      self._graphs[stage] = None
      self._note_general_path(stage, reason)

  def _give_up_xla(
    self, stage: federated_plan.ClientStage, reason: str
  ) -> None:
    logging.warning('XLA does not compile this client work: %s', reason)
    self._make_graph(stage, use_xla=False, compiles_loops=False)

  def _note_general_path(
    self, stage: federated_plan.ClientStage, reason: str
  ) -> None:
    types = ', '.join(str(stage.types[i]) for i in stage.client_inputs)
    self.note_reason(f'{reason} (client work on {types})')

  def note_reason(self, reason: str) -> None:
    """Logs, once for each reason, why client work is no graph."""
    if reason not in self._reasons:
      self._reasons[reason] = None
      logging.warning(
        'The cohort context runs a computation client by client, which is '
        'slower than as one graph, because of %s.',
        reason,
      )


class GraphRun:
  """One run of a stage as a graph, for some clients."""

  def __init__(
    self,
    graph: cohort_graph.StageGraph,
    cache: packed_cache.PackedSequenceCache,
    server_values: Mapping[_ValueId, Any],
    clients: stage_runs.Clients,
  ):
    self._stage = graph.stage
    self._graph = graph
    self._cache = cache
    self._server_values = server_values
    self._clients = clients
    # Of all clients, since the clients of a chunk depend on the machine.
    self._batch_sizes = (
      [
        sequence_packing.common_batch_size(column)
        for column in zip(*map(self._sequences_of, range(len(clients))))
      ]
      if graph.compiles_loops
      else []
    )

  def run(self) -> stage_runs.Partial:
    """Runs the stage; returns the clients' partial results."""
    accumulators = [
      type_leaves.flatten(self._server_values[a.zero])
      for a in self._stage.aggregates
    ]
    outputs: dict[_ValueId, list[Any]] = {o: [] for o in self._stage.outputs}
    done = 0
    for inputs in self.chunks():
      clients = range(done, done + inputs.num_clients)
      done = clients.stop
      try:
        accumulators, results = self._graph.run(
          accumulators, self._server_values, inputs
        )
      except packed_sequences.FewPassesError:
        # The passes were not known before the graph was traced.
        inputs = self._pack_chunk(clients, is_whole=True)
        accumulators, results = self._graph.run(
          accumulators, self._server_values, inputs
        )
      for out, leaves in zip(self._stage.outputs, results, strict=True):
        outputs[out].extend(self._split(out, leaves, inputs.num_clients))
    accumulators = self._graph.fetch(accumulators)
    return stage_runs.Partial(
      [
        type_leaves.unflatten(
          iter(leaves), aggregate.accumulate.type_signature.result
        )
        for leaves, aggregate in zip(
          accumulators, self._stage.aggregates, strict=True
        )
      ],
      outputs,
    )

  def _split(
    self, out: _ValueId, leaves: Sequence[tf.Tensor], num_clients: int
  ) -> Iterator[Any]:
    """Yields each client's value of an output."""
    columns = [
      # Only XLA's results have more rows; a slice is a copy.
      tf.unstack(leaf if len(leaf) == num_clients else leaf[:num_clients])
      for leaf in leaves
    ]
    for i in range(num_clients):
      yield type_leaves.unflatten(
        iter([column[i] for column in columns]), self._stage.types[out]
      )

  def chunks(self) -> Iterator[cohort_graph.ClientInputs]:
    """Yields the inputs of the clients and packs one chunk ahead."""
    left = range(len(self._clients))
    inputs = self._pack_chunk(left)
    left = left[inputs.num_clients :]
    if not left:
      yield inputs
      return
    with concurrent.futures.ThreadPoolExecutor(
      1, thread_name_prefix='cohort_packing'
    ) as pool:
      while left:
        ahead = pool.submit(
          # The context allows an interruption of an endless dataset here, too.
          contextvars.copy_context().run,
          self._pack_chunk,
          left,
        )
        yield inputs
        inputs = ahead.result()
        left = left[inputs.num_clients :]
      yield inputs

  def _pack_chunk(
    self, left: range, *, is_whole: bool = False
  ) -> cohort_graph.ClientInputs:
    """Packs the first remaining clients, up to the size of a chunk.

    Args:
      left: The numbers of the remaining clients.
      is_whole: Whether these clients are a chunk, of any size.
    """
    num_bytes = 0
    at_a_time = self._graph.parallelism * self._graph.width
    tensors, sequences = [], []
    roots = dict(self._graph.roots)
    for number in left[:_CHUNK_CLIENTS]:
      leaves = list(self._leaves_of(number))
      given = [
        (leaf, leaf_type.element)
        for leaf_type, leaf in leaves
        if isinstance(leaf_type, tff.SequenceType)
      ]
      packed = [
        self._cache.pack(leaf, element_type, roots.get(i) or ())
        for i, (leaf, element_type) in enumerate(given)
      ]
      sequences.append(packed)
      arrays = [
        type_leaves.to_array(leaf)
        for leaf_type, leaf in leaves
        if isinstance(leaf_type, tff.TensorType)
      ]
      tensors.append(arrays)
      num_bytes += sum(part.nbytes for part in (*packed, *arrays))
      num_bytes += self._graph.output_bytes
      is_full = num_bytes >= _CHUNK_BYTES and not is_whole
      if is_full and len(sequences) % at_a_time == 0:
        break
    use_xla = self._graph.use_xla
    num_clients = len(sequences)
    in_graph = [
      sequence_arrays.to_graph_arrays(
        column,
        use_xla=use_xla,
        rebatches=self._graph.rebatches,
        compiles_loops=self._graph.compiles_loops,
        batch_size=self._batch_sizes[i] if self._batch_sizes else None,
      )
      for i, column in enumerate(zip(*sequences, strict=True))
    ]
    columns = list(map(_stack, zip(*tensors, strict=True)))
    if use_xla:
      columns = list(map(sequence_arrays.pad_rows, columns))
    return cohort_graph.ClientInputs(
      num_clients=num_clients,
      tensors=columns,
      forms=tuple(form for form, _ in in_graph),
      sequences=[arrays for _, arrays in in_graph],
      roots=tuple(
        frozenset(s.roots for s in column if s.roots is not None)
        for column in zip(*sequences, strict=True)
      ),
      most_clients=sequence_arrays.padded_length(num_clients)
      if use_xla
      else None,
      grouping=_group_clients(
        sequences, [form for form, _ in in_graph], self._graph.width
      )
      if self._graph.width > 1
      else None,
    )

  def _sequences_of(self, number: int) -> list[Any]:
    """Returns the sequences of a client's inputs."""
    return [
      leaf
      for leaf_type, leaf in self._leaves_of(number)
      if isinstance(leaf_type, tff.SequenceType)
    ]

  def _leaves_of(self, number: int) -> Iterator[tuple[Any, Any]]:
    """Yields the types and the leaves of a client's inputs."""
    for value_id, types in zip(
      self._stage.client_inputs, self._graph.client_leaf_types, strict=True
    ):
      value = self._clients.values[value_id][number]
      yield from zip(types, type_leaves.flatten(value), strict=True)


def _stack(column: Sequence[np.ndarray]) -> np.ndarray:
  """Returns the clients' arrays of a tensor as one array."""
  shape = (len(column), *column[0].shape)
  stacked = packed_sequences.empty_for_tensor(shape, column[0].dtype)
  return np.stack(column, out=stacked)


def _group_clients(
  sequences: Sequence[Sequence[packed_sequences.PackedSequence]],
  forms: Sequence[sequence_arrays.SequenceForm],
  width: int,
) -> cohort_graph.Grouping:
  """Puts clients with data of the same shapes side by side, `width` at a time.

  Batches of different sizes do not fit in one array. So only clients compute
  side by side that have the most rows in all of their batches.
  """
  alike = collections.defaultdict(list)
  others = []
  for client, own in enumerate(sequences):
    is_full = all(
      np.all(layout.bounds[:, 1] == form.bounds[i])
      for sequence, form in zip(own, forms, strict=True)
      for layout, i in set(
        zip(sequence.layouts, form.leaf_layouts, strict=True)
      )
      if form.bounds[i] is not None
    )
    counts = tuple(sequence.num_elements for sequence in own)
    (alike[counts] if is_full else others).append(client)
  groups = []
  for clients in alike.values():
    number = len(clients) // width * width
    groups.extend(clients[:number])
    others.extend(clients[number:])
  # The arrays have one shape for any number of groups.
  most = sequence_arrays.padded_length(len(sequences))
  rows = max(1, most // width)
  return cohort_graph.Grouping(
    groups=np.resize(np.int32(groups or [0]), [rows, width]),
    num_groups=np.int32(len(groups) // width),
    others=np.resize(np.int32(others or [0]), [most]),
    num_others=np.int32(len(others)),
  )
