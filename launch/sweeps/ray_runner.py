# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A runner of jobs on the actors of a Ray cluster.

Ray decides where and when an actor runs, by processors and memory.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
from concurrent import futures
from importlib import metadata
import os
import socket
from typing import Any

import fedfish_tff
from fedfish_tff.execution.ray import ray_cluster
from launch.sweeps import resources
from launch.sweeps import runner
from launch.sweeps import worker

# The packages that results depend on, beside this one.
_DISTRIBUTIONS = ('tensorflow', 'tensorflow_federated', 'numpy')


class RayRunner(runner.Runner):
  """A runner of jobs on the actors of a cluster."""

  def __init__(
    self,
    address: str | None,
    *,
    count: Callable[[int], int],
    limits_memory: bool,
  ) -> None:
    """Connects to a cluster or starts one.

    Args:
      address: The address of the cluster; see `ray_cluster.RayCluster`.
      count: A function from the number of processors to the most actors at a
        time.
      limits_memory: Whether an actor also waits for memory.

    Raises:
      ray_cluster.RayError: See `ray_cluster.RayCluster`.
    """
    self._cluster = ray_cluster.RayCluster(address)
    self._ray = self._cluster.ray
    num_cpus = self._cluster.count('CPU')
    super().__init__(count(num_cpus))
    # An actor that fits no node would wait forever.
    nodes = [n['Resources'] for n in self._ray.nodes() if n['Alive']]
    nodes = [node for node in nodes if node.get('CPU', 0) >= 1]
    smallest = min((int(node['CPU']) for node in nodes), default=1)
    self._num_cpus = max(1, min(num_cpus // self.num_processes, smallest))
    self._most_memory = min((n.get('memory', 0) for n in nodes), default=0)
    self._limits_memory = limits_memory

  def start(self, peaks: Sequence[int]) -> _Actor:
    """See `runner.Runner.start`; Ray starts the actor when there is room."""
    options = dict(num_cpus=self._num_cpus)
    if self._limits_memory:
      need = max(peaks, default=resources.FIRST_GUESS_BYTES)
      options['memory'] = int(min(need, self._most_memory))
    actor = self._ray.remote(JobActor).options(**options)
    return _Actor(actor.remote(self._num_cpus))

  def describe_death(self, process: _Actor, error: Exception) -> str:
    """See `runner.Runner.describe_death`."""
    # The last line has the reason, followed by Ray's guesses.
    reason = str(error).strip().rpartition('\n')[-1]
    reason = reason.partition(' Some common causes')[0]
    return f'its process or node died: {reason}'

  def stop(self) -> None:
    """See `runner.Runner.stop`."""
    try:
      for process in self.processes:
        self._ray.kill(process.handle)
    finally:
      self._cluster.stop()


class _Actor(futures.Executor):
  """An actor as an executor.

  Attributes:
    handle: The handle of a `JobActor`.
  """

  def __init__(self, handle: Any) -> None:
    self.handle = handle

  def submit(
    self, do: Callable[..., worker.Outcome], job: worker.Job
  ) -> futures.Future[worker.Outcome]:
    return self.handle.run.remote(do, job, versions()).future()

  def shutdown(
    self, wait: bool = True, *, cancel_futures: bool = False
  ) -> None:
    del wait, cancel_futures
    self.handle.__ray_terminate__.remote()


def versions() -> dict[str, str]:
  """Returns the versions of the packages that results depend on."""
  return {
    'fedfish_tff': fedfish_tff.__version__,
    **{name: metadata.version(name) for name in _DISTRIBUTIONS},
  }


class JobActor:
  """Runs one job after another in its own process."""

  def __init__(self, num_cpus: int) -> None:
    """Takes its share of the cores before TensorFlow makes threads.

    Args:
      num_cpus: The number of cores.
    """
    self._locks = _take_cores(num_cpus)

  def run(
    self,
    do: Callable[..., worker.Outcome],
    job: worker.Job,
    versions_there: dict[str, str],
  ) -> worker.Outcome:
    """Returns `do(job)` if this node has what the job needs.

    Args:
      do: The function.
      job: The job.
      versions_there: The result of `versions` in the sweep's own process.
    """
    node = f'The node {socket.gethostname()}'
    folder = job.log_path.parent
    if versions() != versions_there:
      return worker.Outcome(
        f'{node} has {versions()}, but the sweep has {versions_there}.'
      )
    if not folder.is_dir():
      return worker.Outcome(
        f'{node} has no {folder}: all nodes need the folder of the sweep.'
      )
    return do(job)


def _take_cores(number: int) -> list[socket.socket]:
  """Binds this process to cores that no other actor on the machine has.

  Ray counts processors, but does not assign particular ones.

  Args:
    number: The number of cores.

  Returns:
    The sockets that hold the cores until this process ends; they have names,
    not ports.
  """
  locks, cores = [], []
  for core in resources.usable_cores():
    lock = socket.socket(socket.AF_UNIX)
    try:
      lock.bind(f'\0fedfish_tff_sweep_core_{core}')
    except OSError:
      lock.close()
      continue
    locks.append(lock)
    cores.append(core)
    if len(cores) == number:
      os.sched_setaffinity(0, cores)
      break
  return locks
