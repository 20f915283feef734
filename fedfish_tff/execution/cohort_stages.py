# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs client stages: as a graph over the cohort, or client by client.

The cohort goes through the graph in chunks of a few megabytes of data; while
one computes, the next is packed. What cannot be a graph, or has data that
cannot be packed, runs on the general path (`client_stages`), which is logged
once for each reason.
"""

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import concurrent.futures
import contextvars
import threading
from typing import Any
from typing import TypeAlias
import weakref

from fedfish_tff.execution import client_stages
from fedfish_tff.execution import cohort_graph
from fedfish_tff.execution import federated_plan
from fedfish_tff.execution import graph_tracing
from fedfish_tff.execution import interruption
from fedfish_tff.execution import packed_cache
from fedfish_tff.execution import packed_sequences
from fedfish_tff.execution import sequence_arrays

from absl import logging
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_ValueId: TypeAlias = federated_plan.ValueId

# Of what clients take and give in one call of a graph: large enough that the
# call costs nothing beside the work, small beside a model's memory.
_CHUNK_BYTES = 16 * 2**20
_CHUNK_CLIENTS = 512

# Errors that say nothing of the graph: it may well run next time.
_TRANSIENT = (
  tf.errors.AbortedError,
  tf.errors.ResourceExhaustedError,
  tf.errors.UnavailableError,
)


class CohortStageRunner:
  """Runs the client stages of plans; keeps their graphs."""

  def __init__(
    self,
    *,
    parallelism: int,
    devices: Sequence[str] = ('CPU:0',),
    use_xla: bool = False,
    cache: packed_cache.PackedSequenceCache | None = None,
  ):
    """Makes a runner.

    Args:
      parallelism: How many clients compute at a time, over all devices.
      devices: The logical devices that share the cohort. Client i goes to
        device i modulo their number; the devices' sums are merged in order.
      use_xla: Whether XLA compiles client work.
      cache: Keeps packed datasets; a new one by default.
    """
    self._parallelism = parallelism
    self._devices = tuple(devices)
    self._use_xla = use_xla
    self._cache = cache or packed_cache.PackedSequenceCache()
    self._graphs: weakref.WeakKeyDictionary[
      federated_plan.ClientStage, cohort_graph.StageGraph | None
    ] = weakref.WeakKeyDictionary()
    self._lock = threading.Lock()
    self._reasons: dict[str, None] = {}

  @property
  def general_path_reasons(self) -> tuple[str, ...]:
    """Why stages ran client by client instead of as a graph."""
    return tuple(self._reasons)

  def __call__(
    self,
    stage: federated_plan.ClientStage,
    server_values: Mapping[_ValueId, Any],
    client_values: Mapping[_ValueId, Sequence[Any]],
    num_clients: int,
  ) -> client_stages.StageResult:
    """Runs a stage; see `client_stages.run_stage_generally`."""
    graph = self._graph(stage) if num_clients else None
    failure = None
    if graph is not None:
      run = _GraphRun(
        stage, graph, self._cache, server_values, client_values, num_clients
      )
      try:
        return run.on_devices(self._devices)
      except graph_tracing.NotReplayableError as error:
        self._graphs[stage] = None
        self._note_general_path(stage, str(error))
      except packed_sequences.PackingError as error:
        self._note_general_path(stage, str(error))
      except tf.errors.OpError as error:
        interruption.check()
        failure = error
        # The graph does not tell which client failed; one by one, they do.
        logging.info(
          'Client work failed (%s); running the clients one by one to find the '
          'one that failed.',
          type(error).__name__,
        )
    result = client_stages.run_stage_generally(
      stage,
      server_values,
      client_values,
      num_clients,
      parallelism=self._parallelism,
    )
    if failure is not None:
      # It was the graph and not a client, as when XLA knows no kernel.
      self._give_up_graph(stage, graph, failure)
    return result

  def _graph(
    self, stage: federated_plan.ClientStage
  ) -> cohort_graph.StageGraph | None:
    with self._lock:
      if stage not in self._graphs:
        try:
          self._graphs[stage] = self._create_graph(stage, self._use_xla)
        except graph_tracing.NotReplayableError as error:
          self._graphs[stage] = None
          self._note_general_path(stage, str(error))
      return self._graphs[stage]

  def _create_graph(
    self, stage: federated_plan.ClientStage, use_xla: bool
  ) -> cohort_graph.StageGraph:
    return cohort_graph.StageGraph(
      stage,
      parallelism=max(1, self._parallelism // len(self._devices)),
      use_xla=use_xla,
    )

  def _give_up_graph(
    self,
    stage: federated_plan.ClientStage,
    graph: cohort_graph.StageGraph,
    error: tf.errors.OpError,
  ) -> None:
    reason = str(error.message).strip().split('\n', 1)[0]
    if isinstance(error, _TRANSIENT):
      self._note_general_path(stage, reason)
    elif graph.use_xla:
      logging.warning('XLA does not compile this client work: %s', reason)
      self._graphs[stage] = self._create_graph(stage, use_xla=False)
    else:
      self._graphs[stage] = None
      self._note_general_path(stage, reason)

  def _note_general_path(
    self, stage: federated_plan.ClientStage, reason: str
  ) -> None:
    types = ', '.join(str(stage.types[i]) for i in stage.client_inputs)
    reason = f'{reason} (client work on {types})'
    if reason not in self._reasons:
      self._reasons[reason] = None
      logging.warning(
        'The cohort context runs a computation client by client, which is '
        'slower than as one graph, because of %s.',
        reason,
      )


class _GraphRun:
  """One run of a stage as a graph."""

  def __init__(
    self,
    stage: federated_plan.ClientStage,
    graph: cohort_graph.StageGraph,
    cache: packed_cache.PackedSequenceCache,
    server_values: Mapping[_ValueId, Any],
    client_values: Mapping[_ValueId, Sequence[Any]],
    num_clients: int,
  ):
    self._stage = stage
    self._graph = graph
    self._cache = cache
    self._server_values = server_values
    self._client_values = client_values
    self._num_clients = num_clients

  def on_devices(self, devices: Sequence[str]) -> client_stages.StageResult:
    """Runs the stage, each device with its share of the cohort."""
    lanes = min(len(devices), self._num_clients)
    shares = [range(lane, self._num_clients, lanes) for lane in range(lanes)]
    if lanes == 1:
      results = [self._on_device(devices[0], shares[0])]
    else:
      with concurrent.futures.ThreadPoolExecutor(
        lanes, thread_name_prefix='cohort_device'
      ) as pool:
        futures = [
          # So that each thread can be interrupted like this one.
          pool.submit(
            contextvars.copy_context().run, self._on_device, device, share
          )
          for device, share in zip(devices, shares)
        ]
        results = [future.result() for future in futures]
    outputs: dict[_ValueId, list[Any]] = {
      out: [None] * self._num_clients for out in self._stage.outputs
    }
    for share, (_, values) in zip(shares, results, strict=True):
      for out, of_clients in values.items():
        outputs[out][share.start :: lanes] = of_clients
    return self._report([accumulators for accumulators, _ in results]), outputs

  def _on_device(
    self, device: str, share: range
  ) -> tuple[cohort_graph.Accumulators, dict[_ValueId, list[Any]]]:
    """Runs some clients on a device; returns their sums and their outputs."""
    accumulators = [
      graph_tracing.flatten(self._server_values[a.zero])
      for a in self._stage.aggregates
    ]
    outputs: dict[_ValueId, list[Any]] = {o: [] for o in self._stage.outputs}
    with tf.device(device):
      for inputs in self._chunks(share):
        accumulators, results = self._graph.run(
          accumulators, self._server_values, inputs
        )
        for out, leaves in zip(self._stage.outputs, results, strict=True):
          outputs[out].extend(self._split(out, leaves, inputs.num_clients))
    return accumulators, outputs

  def _report(
    self, of_devices: Sequence[cohort_graph.Accumulators]
  ) -> dict[_ValueId, Any]:
    """Merges the devices' accumulators, in order, and returns the results."""
    results = {}
    for number, aggregate in enumerate(self._stage.aggregates):
      type_spec = aggregate.accumulate.type_signature.result
      first, *others = (
        graph_tracing.unflatten(iter(accumulators[number]), type_spec)
        for accumulators in of_devices
      )
      for other in others:
        first = aggregate.merge((first, other))
      results[aggregate.out] = aggregate.report(first)
    return results

  def _split(
    self, out: _ValueId, leaves: Sequence[tf.Tensor], num_clients: int
  ) -> Iterator[Any]:
    """Yields each client's value of an output."""
    columns = [tf.unstack(leaf, num_clients) for leaf in leaves]
    for i in range(num_clients):
      yield graph_tracing.unflatten(
        iter([column[i] for column in columns]), self._stage.types[out]
      )

  def _chunks(self, share: range) -> Iterator[cohort_graph.ClientInputs]:
    """Yields the inputs of some clients, packing one chunk ahead."""
    inputs = self._pack_chunk(share)
    share = share[inputs.num_clients :]
    if not share:
      yield inputs
      return
    with concurrent.futures.ThreadPoolExecutor(
      1, thread_name_prefix='cohort_packing'
    ) as pool:
      while share:
        ahead = pool.submit(
          # An endless dataset can then be interrupted here too.
          contextvars.copy_context().run,
          self._pack_chunk,
          share,
        )
        yield inputs
        inputs = ahead.result()
        share = share[inputs.num_clients :]
      yield inputs

  def _pack_chunk(self, share: range) -> cohort_graph.ClientInputs:
    """Packs the first of some clients, up to the size of a chunk."""
    most = 1 if self._graph.use_xla else _CHUNK_CLIENTS
    num_bytes = 0
    tensors, sequences = [], []
    for position in share[:most]:
      leaves = list(self._leaves_of(position))
      packed = [
        self._cache.pack(leaf, leaf_type.element)
        for leaf_type, leaf in leaves
        if isinstance(leaf_type, tff.SequenceType)
      ]
      sequences.append(packed)
      arrays = [
        # NumPy's own strings would lose NUL bytes at their end.
        np.asarray(leaf, object if leaf.dtype == tf.string else None)
        for leaf_type, leaf in leaves
        if isinstance(leaf_type, tff.TensorType)
      ]
      tensors.append(arrays)
      num_bytes += sum(part.nbytes for part in (*packed, *arrays))
      num_bytes += self._graph.output_bytes
      if num_bytes >= _CHUNK_BYTES:
        break
    in_graph = [
      sequence_arrays.to_graph_arrays(
        packed_sequences.concatenate_sequences(column),
        static_shapes=self._graph.use_xla,
      )
      for column in zip(*sequences, strict=True)
    ]
    return cohort_graph.ClientInputs(
      num_clients=len(sequences),
      tensors=[np.stack(column) for column in zip(*tensors, strict=True)],
      cuts=tuple(cut for cut, _ in in_graph),
      sequences=[arrays for _, arrays in in_graph],
    )

  def _leaves_of(self, position: int) -> Iterator[tuple[Any, Any]]:
    """Yields the types and the leaves of a client's inputs."""
    for value_id, types in zip(
      self._stage.client_inputs, self._graph.client_leaf_types, strict=True
    ):
      value = self._client_values[value_id][position]
      yield from zip(types, graph_tracing.flatten(value), strict=True)
