# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Workers of a sweep on a Ray cluster.

Ray decides where and when an actor runs, by processors and memory; its worker
ends with it.
"""

from collections.abc import Callable
from collections.abc import Sequence
from concurrent import futures
from typing import Any

from fedfish_tff.execution.ray import ray_cluster
from launch.sweeps import resources
from launch.sweeps import worker as worker_lib
from launch.sweeps import workers


class RayWorkers(workers.Workers):
  """The workers of a sweep, each of an actor of a cluster."""

  def __init__(
    self,
    address: str | None,
    *,
    count: Callable[[int], int],
    limits_memory: bool,
  ) -> None:
    """Connects to a cluster or starts one.

    Args:
      address: The address of the cluster, as for `ray_cluster.RayCluster`.
      count: A function from the number of processors to the most workers at a
        time.
      limits_memory: Whether a worker also waits for memory.

    Raises:
      ray_cluster.RayError: If Ray is not installed, or no cluster answers.
    """
    self._cluster = ray_cluster.RayCluster(address)
    self._ray = self._cluster.ray
    # An actor that fits no node would wait forever.
    nodes = [n['Resources'] for n in self._ray.nodes() if n['Alive']]
    nodes = [node for node in nodes if node.get('CPU', 0) >= 1]
    num_cpus = self._cluster.count('CPU')
    super().__init__(
      num_workers=count(num_cpus),
      num_cores=num_cpus,
      limits_memory=limits_memory,
    )
    smallest = min((int(node['CPU']) for node in nodes), default=1)
    self._num_cores = min(self._num_cores, smallest)
    self._most_memory = min((n.get('memory', 0) for n in nodes), default=0)

  def start(self, peaks: Sequence[int]) -> Any:
    """Returns a new worker; Ray starts its actor when there is room."""
    options = dict(num_cpus=self._num_cores)
    if self._limits_memory:
      need = max(peaks, default=resources.FIRST_GUESS_BYTES)
      options['memory'] = int(min(need, self._most_memory))
    actor = self._ray.remote(workers.Worker).options(**options)
    return actor.remote(workers.MODULE, self._num_cores)

  def submit(
    self, worker: Any, job: worker_lib.Job
  ) -> futures.Future[worker_lib.Outcome]:
    """Gives an actor a job, and returns the future of its outcome."""
    return worker.run.remote(job).future()

  def close(self, worker: Any) -> None:
    """Ends an actor that has no job."""
    worker.__ray_terminate__.remote()

  def stop(self) -> None:
    """Ends all actors and the connection to the cluster."""
    try:
      for worker in self.workers:
        self._ray.kill(worker)
    finally:
      self._cluster.stop()
