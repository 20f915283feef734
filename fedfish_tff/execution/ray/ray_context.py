# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Execution contexts that run client work on the actors of a Ray cluster.

The clients of a round are divided into splits by the sizes of their data. An
actor computes the sums of a split, as `cohort_context` does, and the splits' sums
are merged in order: results depend on how many splits there are, and not on the
actors, or on which of them had to be replaced. The server's steps run here.
"""

from collections.abc import Mapping
from collections.abc import Sequence
import functools
import heapq
from typing import Any
from typing import TypeAlias
import weakref

from fedfish_tff import errors
from fedfish_tff.execution import cohort_context
from fedfish_tff.execution import interruption
from fedfish_tff.execution import setters
from fedfish_tff.execution import threads
from fedfish_tff.execution.packing import packed_cache
from fedfish_tff.execution.packing import packed_sequences
from fedfish_tff.execution.ray import ray_cluster
from fedfish_tff.execution.ray import stage_actor
from fedfish_tff.execution.ray import stage_values
from fedfish_tff.execution.reading import federated_plan
from fedfish_tff.execution.running import cohort_stages
from fedfish_tff.execution.running import federated_interpreter
from fedfish_tff.execution.running import stage_runs

import tensorflow as tf
import tensorflow_federated as tff

_ValueId: TypeAlias = federated_plan.ValueId

# How often a waiting call looks whether it was told to stop.
_POLL_SECONDS = 0.2
# A split that ends so many actors more will end the next one, too.
_MOST_RETRIES = 3
# TensorFlow and TFF are imported then, on a node that may be busy.
_START_SECONDS = 300.0


class _RayStageRunner(cohort_stages.CohortStageRunner):
  """Runs client stages on actors; what cannot travel, in this process."""

  def __init__(
    self,
    cluster: ray_cluster.RayCluster,
    *,
    num_actors: int | None,
    num_splits: int | None,
  ):
    """Starts actors; see `create_sync_ray_execution_context`."""
    super().__init__(parallelism=threads.num_cores())
    self._cluster = cluster
    self._ray = cluster.ray
    self._packed = packed_cache.PackedSequenceCache()
    self._computations: weakref.WeakKeyDictionary[federated_plan.Plan, Any] = (
      weakref.WeakKeyDictionary()
    )
    num_actors = num_actors or max(1, cluster.num_cpus)
    self._num_splits = num_splits or num_actors
    actor = self._ray.remote(stage_actor.StageActor).options(
      num_cpus=1, max_restarts=-1, max_task_retries=_MOST_RETRIES
    )
    self._actors = [actor.remote(1) for _ in range(num_actors)]
    self._check_versions()

  def of(
    self, comp: tff.Computation, plan: federated_plan.Plan
  ) -> federated_interpreter.RunStage:
    """Returns what runs the stages of a computation's plan."""
    if plan not in self._computations:
      proto = tff.framework.serialize_computation(comp)
      self._computations[plan] = self._ray.put(
        proto.SerializeToString(deterministic=True)
      )
    return functools.partial(self._run_stage, plan)

  def _run_stage(
    self,
    plan: federated_plan.Plan,
    stage: federated_plan.ClientStage,
    server_values: Mapping[_ValueId, Any],
    client_values: Mapping[_ValueId, Sequence[Any]],
    num_clients: int,
  ) -> stage_runs.StageResult:
    """Runs a stage; see `stage_runs.run_stage`."""
    if not num_clients:
      return self(stage, server_values, client_values, num_clients)
    types = stage.types
    needed = {*stage.server_inputs, *(a.zero for a in stage.aggregates)}
    try:
      server = {
        i: stage_values.to_arrays(server_values[i], types[i], self._packed)
        for i in sorted(needed)
      }
      clients = {
        i: [
          stage_values.to_arrays(value, types[i], self._packed)
          for value in client_values[i]
        ]
        for i in stage.client_inputs
      }
    except packed_sequences.PackingError as error:
      self._note_general_path(stage, str(error))
      return self(stage, server_values, client_values, num_clients)
    sizes = [
      stage_values.num_rows([column[i] for column in clients.values()])
      for i in range(num_clients)
    ]
    splits = split_by_size(sizes, self._num_splits)
    number = stage_actor.stages_of(plan).index(stage)
    works = [
      stage_actor.StageWork(
        number,
        stage_actor.signature_of(stage),
        {i: [column[p] for p in positions] for i, column in clients.items()},
        positions,
        num_clients,
      )
      for positions in splits
    ]
    found = self._run_works(self._computations[plan], server, works)
    partials = [
      stage_runs.Partial(
        [
          stage_values.to_value(arrays, a.accumulate.type_signature.result)
          for arrays, a in zip(
            arrays_of.accumulators, stage.aggregates, strict=True
          )
        ],
        {
          out: [stage_values.to_value(arrays, types[out]) for arrays in column]
          for out, column in arrays_of.outputs.items()
        },
      )
      for arrays_of in found
    ]
    return stage_runs.merge(stage, splits, partials, num_clients)

  def _run_works(
    self,
    computation: Any,
    server: Mapping[_ValueId, stage_values.Arrays],
    works: Sequence[stage_actor.StageWork],
  ) -> list[stage_actor.StageArrays]:
    """Returns what the works come to, in their order."""
    # Once for all of them.
    server = self._ray.put(server)
    running = {
      self._actors[i % len(self._actors)].run.remote(
        computation, server, work
      ): i
      for i, work in enumerate(works)
    }
    results = {}
    try:
      while running:
        done, _ = self._ray.wait(list(running), timeout=_POLL_SECONDS)
        interruption.check()
        for reference in done:
          results[running.pop(reference)] = self._get(reference)
    finally:
      if running:
        # They compute for nobody. Ray starts them again.
        for actor in self._actors:
          self._ray.kill(actor, no_restart=False)
    return [results[i] for i in range(len(works))]

  def _get(self, reference: Any) -> stage_actor.StageArrays:
    try:
      result = self._ray.get(reference)
    except self._ray.exceptions.RayTaskError as error:
      raise error.cause from error
    except self._ray.exceptions.RayError as error:
      reason = str(error).strip().split('\n', 1)[0]
      raise ray_cluster.RayError(
        f'Client work on Ray has ended for good: {reason}'
      ) from error
    if isinstance(result, stage_actor.StageFailure):
      # As TensorFlow raises it here.
      kind = tf.compat.v1.errors.exception_type_from_error_code(result.code)
      raise kind(None, None, result.message)
    for reason in result.reasons:
      self.note_reason(reason)
    return result

  def _check_versions(self) -> None:
    """Raises if an actor does not start, or runs other versions."""
    own = stage_actor.versions()
    try:
      described = self._ray.get(
        [actor.describe.remote() for actor in self._actors],
        timeout=_START_SECONDS,
      )
    except self._ray.exceptions.RayError as error:
      reason = str(error).strip().split('\n', 1)[0]
      raise ray_cluster.RayError(
        f'{len(self._actors)} actors, of one processor each, do not start on Ray: '
        f'{reason}'
      ) from error
    for node, versions in described:
      if versions != own:
        raise ray_cluster.RayError(
          f'The node {node} has {versions}, but this process has {own}.'
        )


class _RayContext:
  """What both kinds of context have beside `cohort_context`'s."""

  def __init__(
    self,
    ray_address: str | None = None,
    *,
    ray_actors: int | None = None,
    ray_splits: int | None = None,
    default_num_clients: int = 0,
  ):
    """See `create_sync_ray_execution_context`."""
    for name, value in (('ray_actors', ray_actors), ('ray_splits', ray_splits)):
      if value is not None and value < 1:
        raise errors.InputError(f'{name} must be at least 1, not {value}.')
    threads.use_one_intra_op_thread()
    cluster = ray_cluster.RayCluster(ray_address)
    # Ends the actors, and a cluster that was started; at the latest with this.
    self.stop = weakref.finalize(self, cluster.stop)
    self._set_up(
      default_num_clients,
      _RayStageRunner(cluster, num_actors=ray_actors, num_splits=ray_splits),
    )

  def _runner_of(
    self, comp: tff.Computation, plan: federated_plan.Plan
  ) -> federated_interpreter.RunStage:
    return self._run_stage.of(comp, plan)


class SyncRayExecutionContext(
  _RayContext, cohort_context.SyncCohortExecutionContext
):
  """A synchronous context that runs client work on Ray."""


class AsyncRayExecutionContext(
  _RayContext, cohort_context.AsyncCohortExecutionContext
):
  """An asynchronous context that runs client work on Ray."""


def create_sync_ray_execution_context(
  ray_address: str | None = None,
  *,
  ray_actors: int | None = None,
  ray_splits: int | None = None,
  default_num_clients: int = 0,
) -> SyncRayExecutionContext:
  """Creates a synchronous context that runs client work on Ray.

  Args:
    ray_address: Of a cluster, see `ray_cluster.RayCluster`; None for one of this
      machine's own, which listens on loopback only and ends with the context.
    ray_actors: How many actors there are, of one processor each; None for as
      many as the cluster has processors.
    ray_splits: Into how many parts a cohort is divided, on which the last digits
      of results depend; None for as many as there are actors.
    default_num_clients: The number of clients where the arguments of a
      computation do not tell it.

  Returns:
    A `tff.framework.SyncContext`, to be installed or made the default.

  Raises:
    errors.InputError: If there is no such cluster, or its nodes have other
      versions than this process.
  """
  return SyncRayExecutionContext(
    ray_address,
    ray_actors=ray_actors,
    ray_splits=ray_splits,
    default_num_clients=default_num_clients,
  )


set_sync_ray_execution_context = setters.default_setter(
  create_sync_ray_execution_context
)


def create_async_ray_execution_context(
  ray_address: str | None = None,
  *,
  ray_actors: int | None = None,
  ray_splits: int | None = None,
  default_num_clients: int = 0,
) -> AsyncRayExecutionContext:
  """Creates a context whose computations are coroutines, on Ray.

  Args:
    ray_address: See `create_sync_ray_execution_context`.
    ray_actors: See the same.
    ray_splits: See the same.
    default_num_clients: See the same.

  Returns:
    A `tff.framework.AsyncContext`, to be installed or made the default.

  Raises:
    errors.InputError: See the same.
  """
  return AsyncRayExecutionContext(
    ray_address,
    ray_actors=ray_actors,
    ray_splits=ray_splits,
    default_num_clients=default_num_clients,
  )


set_async_ray_execution_context = setters.default_setter(
  create_async_ray_execution_context
)


def split_by_size(sizes: Sequence[int], number: int) -> list[list[int]]:
  """Divides clients so that no split has far more to do than another.

  The largest go first, each to the split that has least.

  Args:
    sizes: Of each client's data.
    number: How many splits there are at most; each has a client.

  Returns:
    The positions of the clients of each split, in order.
  """
  splits = [[] for _ in range(min(number, len(sizes)))]
  loads = [(0, i) for i in range(len(splits))]
  for position in sorted(range(len(sizes)), key=lambda p: (-sizes[p], p)):
    load, i = heapq.heappop(loads)
    splits[i].append(position)
    # Clients without data cost something, too.
    heapq.heappush(loads, (load + sizes[position] + 1, i))
  return [sorted(split) for split in splits]
