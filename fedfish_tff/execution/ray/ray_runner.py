# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The runner of client work on the actors of a Ray cluster, and its options.

The clients of a round are divided into splits by the sizes of their data. An
actor computes the sums of a split in the same way as `cohort_stages`, and the
splits' sums are merged in order. So results depend on the number of splits, but
not on the actors or on the replacement of actors. The server's steps run here.
"""

import collections
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools
import heapq
import itertools
import time
from typing import Any
from typing import TypeAlias
import weakref

from fedfish_tff import errors
from fedfish_tff import parameters
from fedfish_tff.execution import interruption
from fedfish_tff.execution import threads
from fedfish_tff.execution.packing import packed_sequences
from fedfish_tff.execution.pjrt import pjrt_runner
from fedfish_tff.execution.ray import ray_cluster
from fedfish_tff.execution.ray import round_meter
from fedfish_tff.execution.ray import stage_actor
from fedfish_tff.execution.ray import stage_values
from fedfish_tff.execution.reading import federated_plan
from fedfish_tff.execution.running import cohort_stages
from fedfish_tff.execution.running import federated_interpreter
from fedfish_tff.execution.running import stage_runs

import tensorflow as tf
import tensorflow_federated as tff

_ValueId: TypeAlias = federated_plan.ValueId

# The interval at which a waiting call checks whether it was told to stop.
_POLL_SECONDS = 0.2
# Ray's name of the resource of which an actor needs one, by platform.
_RESOURCES = {None: 'CPU', 'cpu': 'CPU', 'cuda': 'GPU', 'tpu': 'TPU'}
# The retries of a split that ends its actors; further ones would end, too.
_MOST_RETRIES = 3
# The wait after an actor's death, for its restart and for further deaths.
_RESTART_SECONDS = 1.0
# An actor's start imports TensorFlow and TFF, on a node that may be busy.
_START_SECONDS = 300.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class RayOptions:
  """Options of a runner on Ray.

  Attributes:
    ray_address: The address of a cluster, as `ray_cluster.RayCluster` takes it;
      None for this machine's own cluster, which listens on loopback only and
      ends with the runner.
    ray_actors: The number of actors; None for as many as the cluster's
      processors or devices allow.
    ray_splits: The number of splits of a cohort, on which the last digits of
      results depend; None for the number of actors.
    ray_actor_cpus: The number of processors of each actor. An actor with all
      processors of a machine returns one sum instead of one per processor.
    platform: The platform on which actors compute, by `pjrt_runner`: 'cuda' or
      'tpu' for one device each, or 'cpu'; None for processors, without XLA.
    precision: With a platform, the precision of matrix products, as in
      `PjrtOptions`.
    vectorized_clients: With a platform, the number of clients that compute side
      by side, as in `PjrtOptions`.
    default_num_clients: The number of clients if the arguments of a computation
      do not determine it.
  """

  ray_address: str | None = None
  ray_actors: int | None = None
  ray_splits: int | None = None
  ray_actor_cpus: int = 1
  platform: str | None = None
  precision: str = 'float32'
  vectorized_clients: int = 1
  default_num_clients: int = 0

  def __post_init__(self) -> None:
    for name in ('ray_actors', 'ray_splits', 'ray_actor_cpus'):
      value = getattr(self, name)
      if value is not None:
        errors.check_positive_integer(name, value)
    _ = self.device_options  # Checks them.

  @property
  def device_options(self) -> pjrt_runner.PjrtOptions | None:
    """The options of each actor's device; None for processors."""
    if self.platform is None:
      return None
    return pjrt_runner.PjrtOptions(
      platform=self.platform,
      precision=self.precision,
      vectorized_clients=self.vectorized_clients,
    )

  def create_runner(self) -> 'RayStageRunner':
    """Connects to the cluster, or starts one, and starts the actors.

    The cluster's nodes must have the same versions as this process.
    """
    threads.use_one_intra_op_thread()
    return RayStageRunner(self)


class RayStageRunner(cohort_stages.CohortStageRunner):
  """Runs client stages on actors, or here if their data cannot be sent."""

  # Actors read clients that have a `datasets.ClientSource`.
  takes_client_references = True

  def __init__(self, options: RayOptions):
    """Starts actors."""
    super().__init__(
      parallelism=threads.num_cores(),
      default_num_clients=options.default_num_clients,
    )
    cluster = ray_cluster.RayCluster(options.ray_address)
    # Ends the actors and the cluster that was started, at the latest with this
    # runner.
    self._stop = weakref.finalize(self, cluster.stop)
    self._ray = cluster.ray
    self._computations: weakref.WeakKeyDictionary[federated_plan.Plan, Any] = (
      weakref.WeakKeyDictionary()
    )
    # The passes over each of a stage's sequences, where one does not suffice.
    self._roots: weakref.WeakKeyDictionary[
      federated_plan.ClientStage, Mapping[int, packed_sequences.Roots | None]
    ] = weakref.WeakKeyDictionary()
    # Ray's name of the resource of which an actor needs one.
    self._resource = _RESOURCES[options.platform]
    num_actors = options.ray_actors or max(
      1,
      cluster.count(self._resource)
      // (options.ray_actor_cpus if self._resource == 'CPU' else 1),
    )
    self._num_splits = options.ray_splits or num_actors
    self.compiles_loops = options.platform is None
    actor = self._ray.remote(stage_actor.StageActor).options(
      num_cpus=options.ray_actor_cpus,
      num_gpus=int(self._resource == 'GPU'),
      resources={'TPU': 1} if self._resource == 'TPU' else {},
      max_restarts=-1,
    )
    self._actors = [
      actor.remote(options.ray_actor_cpus, options.device_options)
      for _ in range(num_actors)
    ]
    # The actors that have died, each with a call that returns once it is back.
    self._away: dict[int, Any] = {}
    self._meter = round_meter.RoundMeter(self._ray)
    self._report_clients: Callable[[int, int], None] | None = None
    self._check_versions()

  def close(self) -> None:
    self._stop()

  def set_report_clients(
    self, report: Callable[[int, int], None] | None
  ) -> None:
    """Sets the callback for progress within a round.

    Args:
      report: A callback that takes, in another thread, a stage's number of
        finished clients and its number of all clients; None for no reports.
    """
    self._report_clients = report

  def take_columns(self) -> Mapping[str, float]:
    """Returns the costs of client work since the last call, as columns."""
    return self._meter.take()

  def stage_runner(
    self, comp: tff.Computation, plan: federated_plan.Plan
  ) -> federated_interpreter.RunStage:
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
    """Runs a stage on the actors, or here if its data cannot be sent."""
    if not num_clients:
      return self(stage, server_values, client_values, num_clients)
    for _ in range(2):
      try:
        return self._run_on_actors(
          plan, stage, server_values, client_values, num_clients
        )
      except packed_sequences.FewPassesError as error:
        # An actor has traced the stage and knows the passes to send.
        self._roots[stage] = error.roots
      except packed_sequences.PackingError:
        break
    # Only this process has the datasets and can pass over them again.
    return self(stage, server_values, client_values, num_clients)

  def _run_on_actors(
    self,
    plan: federated_plan.Plan,
    stage: federated_plan.ClientStage,
    server_values: Mapping[_ValueId, Any],
    client_values: Mapping[_ValueId, Sequence[Any]],
    num_clients: int,
  ) -> stage_runs.StageResult:
    """Runs a stage on actors.

    Raises:
      packed_sequences.FewPassesError: If the actors need other passes over
        sequences than those that `_roots` has.
      packed_sequences.PackingError: If the data cannot be sent.
    """
    types = stage.types
    needed = {*stage.server_inputs, *(a.zero for a in stage.aggregates)}
    server = {
      i: stage_values.to_arrays(server_values[i], types[i], self._cache.pack)
      for i in sorted(needed)
    }
    clients: dict[_ValueId, list[stage_values.Arrays]] = {
      i: [] for i in stage.client_inputs
    }
    roots = self._roots.get(stage, {})
    for position in range(num_clients):
      # They are numbered through all inputs.
      of_sequences = (roots.get(number) or () for number in itertools.count())
      for i, column in clients.items():
        column.append(
          stage_values.to_arrays(
            client_values[i][position], types[i], self._cache.pack, of_sequences
          )
        )
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
        parameters.values(),
      )
      for positions in splits
    ]
    found = self._run_works(self._computations[plan], server, works)
    for work, arrays_of in zip(works, found, strict=True):
      stored = stage_values.stored_batches(work.clients.values())
      for batches, number in zip(stored, arrays_of.num_examples, strict=True):
        batches.num_examples = number
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
    """Runs works on actors and returns their results, in order."""
    sent = [server.values(), *(c for w in works for c in w.clients.values())]
    self._meter.add_sent(sum(map(stage_values.num_bytes, sent)))
    # The values are sent once for all works.
    server = self._ray.put(server)
    found = self._find_actors()
    actors = {i: found[i % len(found)] for i in range(len(works))}
    retries = collections.Counter()

    def start(i: int) -> Any:
      actor = self._actors[actors[i]]
      return actor.run.remote(computation, server, works[i])

    running = {start(i): i for i in actors}
    results, refusal = {}, None
    num_done = 0
    try:
      while running:
        done, _ = self._ray.wait(list(running), timeout=_POLL_SECONDS)
        interruption.check()
        for reference in done:
          i = running.pop(reference)
          try:
            results[i] = self._get(reference)
          except packed_sequences.PackingError as error:
            refusal = error
            continue
          except self._ray.exceptions.RayActorError as error:
            retries[i] += 1
            if retries[i] > _MOST_RETRIES:
              raise _ended_error(error) from error
            # The actor may find no place to restart, and others may have died.
            self._away[actors[i]] = self._actors[actors[i]].describe.remote()
            time.sleep(_RESTART_SECONDS)
            found = self._find_actors()
            actors[i] = found[i % len(found)]
            running[start(i)] = i
            continue
          self._count(actors[i], results[i])
          num_done += len(works[i].positions)
          if self._report_clients is not None:
            self._report_clients(num_done, works[i].cohort_size)
    finally:
      if running:
        # The results are no longer needed. Ray restarts the actors.
        for actor in self._actors:
          self._ray.kill(actor, no_restart=False)
    if refusal is not None:
      raise refusal
    return [results[i] for i in range(len(works))]

  def _find_actors(self) -> list[int]:
    """Returns the numbers of the living actors; waits until there is one."""
    deadline = time.monotonic() + _START_SECONDS
    while True:
      failure = None
      for i, question in list(self._away.items()):
        done, _ = self._ray.wait([question], timeout=0)
        if done:
          try:
            self._ray.get(question)
            # Another call may have seen it, too.
            self._away.pop(i, None)
          except self._ray.exceptions.RayActorError as error:
            failure = error
            self._away[i] = self._actors[i].describe.remote()
      found = [i for i in range(len(self._actors)) if i not in self._away]
      if found:
        return found
      interruption.check()
      if time.monotonic() > deadline:
        raise ray_cluster.RayError(
          f'None of {len(self._actors)} actors on Ray has started again within '
          f'{_START_SECONDS:.0f} seconds.'
        ) from failure
      time.sleep(_RESTART_SECONDS)

  def _get(self, reference: Any) -> stage_actor.StageArrays:
    try:
      result = self._ray.get(reference)
    except self._ray.exceptions.RayTaskError as error:
      raise error.cause from error
    except self._ray.exceptions.RayActorError:
      raise
    except self._ray.exceptions.RayError as error:
      raise _ended_error(error) from error
    if isinstance(result, stage_actor.StageFailure):
      # The same error is raised as by TensorFlow in this process.
      kind = tf.compat.v1.errors.exception_type_from_error_code(result.code)
      raise kind(None, None, result.message)
    for reason in result.reasons:
      self.note_reason(reason)
    return result

  def _count(self, actor: int, result: stage_actor.StageArrays) -> None:
    received = [result.accumulators, *result.outputs.values()]
    self._meter.add_share(
      actor,
      result.cost,
      sum(map(stage_values.num_bytes, received)),
    )

  def _check_versions(self) -> None:
    """Raises if an actor does not start or has other versions."""
    own = stage_actor.versions()
    try:
      described = self._ray.get(
        [actor.describe.remote() for actor in self._actors],
        timeout=_START_SECONDS,
      )
    except self._ray.exceptions.RayError as error:
      raise ray_cluster.RayError(
        f'{len(self._actors)} actors, of one {self._resource} each, do not start '
        f'on Ray: {errors.first_line(error)}'
      ) from error
    for node, versions in described:
      if versions != own:
        raise ray_cluster.RayError(
          f'The node {node} has {versions}, but this process has {own}.'
        )


def _ended_error(error: Exception) -> ray_cluster.RayError:
  return ray_cluster.RayError(
    f'Client work on Ray has ended for good: {errors.first_line(error)}'
  )


def split_by_size(sizes: Sequence[int], number: int) -> list[list[int]]:
  """Divides clients into splits of similar amounts of work.

  The largest clients are placed first, each in the split with the least work.

  Args:
    sizes: The size of each client's data.
    number: The largest number of splits; each has a client.

  Returns:
    The positions of the clients of each split, in order.
  """
  splits = [[] for _ in range(min(number, len(sizes)))]
  loads = [(0, i) for i in range(len(splits))]
  for position in sorted(range(len(sizes)), key=lambda p: (-sizes[p], p)):
    load, i = heapq.heappop(loads)
    splits[i].append(position)
    # Clients without data take some time, too.
    heapq.heappush(loads, (load + sizes[position] + 1, i))
  return [sorted(split) for split in splits]
