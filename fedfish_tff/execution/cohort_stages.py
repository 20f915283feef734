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

from absl import logging
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_ValueId: TypeAlias = federated_plan.ValueId

# Of packed data in one call of a graph: large enough that the call costs
# nothing beside the work, small beside a model's memory.
_CHUNK_BYTES = 16 * 2**20
_CHUNK_CLIENTS = 512


class CohortStageRunner:
  """Runs the client stages of plans; keeps their graphs."""

  def __init__(
    self,
    *,
    parallelism: int,
    cache: packed_cache.PackedSequenceCache | None = None,
  ):
    """Makes a runner.

    Args:
      parallelism: How many clients compute at a time.
      cache: Keeps packed datasets; a new one by default.
    """
    self._parallelism = parallelism
    self._cache = cache or packed_cache.PackedSequenceCache()
    self._graphs: weakref.WeakKeyDictionary[
      federated_plan.ClientStage, cohort_graph.StageGraph | None
    ] = weakref.WeakKeyDictionary()
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
    graph = self._graph(stage)
    if graph is not None and num_clients:
      try:
        return _GraphRun(
          stage, graph, self._cache, server_values, client_values, num_clients
        ).run()
      except graph_tracing.NotReplayableError as error:
        self._graphs[stage] = None
        self._note_general_path(stage, str(error))
      except packed_sequences.PackingError as error:
        self._note_general_path(stage, str(error))
      except tf.errors.OpError as error:
        interruption.check()
        # The graph does not tell which client failed; one by one, they do.
        logging.info(
          'Running the clients one by one to find the one that failed: %s',
          type(error).__name__,
        )
    return client_stages.run_stage_generally(
      stage,
      server_values,
      client_values,
      num_clients,
      parallelism=self._parallelism,
    )

  def _graph(
    self, stage: federated_plan.ClientStage
  ) -> cohort_graph.StageGraph | None:
    if stage not in self._graphs:
      graph = None
      try:
        graph = cohort_graph.StageGraph(stage, parallelism=self._parallelism)
      except graph_tracing.NotReplayableError as error:
        self._note_general_path(stage, str(error))
      self._graphs[stage] = graph
    return self._graphs[stage]

  def _note_general_path(
    self, stage: federated_plan.ClientStage, reason: str
  ) -> None:
    types = ', '.join(str(stage.types[i]) for i in stage.client_inputs)
    reason = f'{reason} (client work on {types})'
    if reason not in self._reasons:
      self._reasons[reason] = None
      logging.info(
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

  def run(self) -> client_stages.StageResult:
    """Runs the stage."""
    accumulators = [
      graph_tracing.flatten(self._server_values[a.zero])
      for a in self._stage.aggregates
    ]
    outputs: dict[_ValueId, list[Any]] = {o: [] for o in self._stage.outputs}
    for inputs in self._chunks():
      accumulators, results = self._graph.run(
        accumulators, self._server_values, inputs
      )
      for out, leaves in zip(self._stage.outputs, results, strict=True):
        outputs[out].extend(self._split(out, leaves, inputs.num_clients))
    aggregates = {}
    for aggregate, leaves in zip(
      self._stage.aggregates, accumulators, strict=True
    ):
      accumulator = graph_tracing.unflatten(
        iter(leaves), aggregate.accumulate.type_signature.result
      )
      aggregates[aggregate.out] = aggregate.report(accumulator)
    return aggregates, outputs

  def _split(
    self, out: _ValueId, leaves: Sequence[tf.Tensor], num_clients: int
  ) -> Iterator[Any]:
    columns = [tf.unstack(leaf, num_clients) for leaf in leaves]
    for i in range(num_clients):
      yield graph_tracing.unflatten(
        iter([column[i] for column in columns]), self._stage.types[out]
      )

  def _chunks(self) -> Iterator[cohort_graph.ClientInputs]:
    """Yields the inputs of the cohort, packing one chunk ahead."""
    with concurrent.futures.ThreadPoolExecutor(
      1, thread_name_prefix='cohort_packing'
    ) as pool:
      start = 0
      ahead = self._pack_from(start)
      while ahead is not None:
        inputs = ahead
        following = start + inputs.num_clients
        future = None
        if following < self._num_clients:
          future = pool.submit(self._pack_from, following)
        yield inputs
        start = following
        ahead = None if future is None else future.result()

  def _pack_from(self, start: int) -> cohort_graph.ClientInputs:
    """Packs clients from one on, up to the size of a chunk."""
    num_bytes = 0
    positions = []
    sequences = []
    for position in range(start, self._num_clients):
      packed = self._sequences_of(position)
      positions.append(position)
      sequences.append(packed)
      num_bytes += sum(sequence.nbytes for sequence in packed)
      if num_bytes >= _CHUNK_BYTES or len(positions) >= _CHUNK_CLIENTS:
        break
    return self._pack(positions, sequences)

  def _leaves_of(self, position: int) -> Iterator[tuple[Any, Any]]:
    """Yields the types and the leaves of a client's inputs."""
    for value_id, types in zip(
      self._stage.client_inputs, self._graph.client_leaf_types, strict=True
    ):
      value = self._client_values[value_id][position]
      yield from zip(types, graph_tracing.flatten(value), strict=True)

  def _sequences_of(
    self, position: int
  ) -> list[packed_sequences.PackedSequence]:
    return [
      self._cache.pack(leaf, leaf_type.element)
      for leaf_type, leaf in self._leaves_of(position)
      if isinstance(leaf_type, tff.SequenceType)
    ]

  def _pack(
    self,
    positions: Sequence[int],
    sequences: Sequence[Sequence[packed_sequences.PackedSequence]]
    | None = None,
  ) -> cohort_graph.ClientInputs:
    if sequences is None:
      sequences = [self._sequences_of(position) for position in positions]
    tensors = [
      [
        leaf.numpy()
        for leaf_type, leaf in self._leaves_of(position)
        if isinstance(leaf_type, tff.TensorType)
      ]
      for position in positions
    ]
    return cohort_graph.ClientInputs(
      num_clients=len(positions),
      tensors=[np.stack(column) for column in zip(*tensors, strict=True)],
      sequences=[
        packed_sequences.concatenate_sequences(column)
        for column in zip(*sequences, strict=True)
      ],
    )
