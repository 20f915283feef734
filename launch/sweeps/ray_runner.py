# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A runner of jobs on the actors of a Ray cluster.

Jobs follow one another on an actor as in a process of `runner.Runner`. Ray
decides where and when an actor runs, by processors and memory.
"""

from collections.abc import Callable
from collections.abc import Sequence
from importlib import metadata
import os
import socket
import time
from typing import Any

import fedfish_tff
from fedfish_tff.execution.ray import ray_cluster
from launch.sweeps import resources
from launch.sweeps import runner as runner_lib

_POLL_SECONDS = 0.5
# The packages that results depend on, beside this one.
_DISTRIBUTIONS = ('tensorflow', 'tensorflow_federated', 'numpy')


class RayRunner:
  """A runner of jobs, as many at a time as there are actors.

  It is a context manager, which kills running jobs at its end.

  Attributes:
    num_processes: The most actors at a time.
  """

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
    self.num_processes = count(num_cpus)
    # An actor that fits no node would wait forever.
    nodes = [n['Resources'] for n in self._ray.nodes() if n['Alive']]
    nodes = [node for node in nodes if node.get('CPU', 0) >= 1]
    smallest = min((int(node['CPU']) for node in nodes), default=1)
    self._num_cpus = max(1, min(num_cpus // self.num_processes, smallest))
    self._most_memory = min((n.get('memory', 0) for n in nodes), default=0)
    self._limits_memory = limits_memory
    # The running jobs, with their actors and start times.
    self._running: dict[Any, tuple[runner_lib.Job, Any, float]] = {}

  def __enter__(self) -> 'RayRunner':
    return self

  def __exit__(self, *unused_error) -> None:
    try:
      for _, actor, _ in self._running.values():
        self._ray.kill(actor)
    finally:
      self._cluster.stop()

  def run(
    self,
    jobs: Sequence[runner_lib.Job],
    on_end: Callable[[runner_lib.Job, runner_lib.Outcome], None],
    *,
    known_peaks: Sequence[float] = (),
  ) -> None:
    """Runs jobs to their ends; see `runner.Runner.run`."""
    waiting = list(jobs)
    peaks = [peak for peak in known_peaks if peak]
    while waiting or self._running:
      while waiting and len(self._running) < self.num_processes:
        running = [job for job, _, _ in self._running.values()]
        job = runner_lib.take(waiting, running)
        self._start(job, self._create_actor(peaks))
      done, _ = self._ray.wait(list(self._running), timeout=_POLL_SECONDS)
      for reference in done:
        job, actor, began = self._running.pop(reference)
        outcome = self._outcome(reference, began)
        if outcome.peak_bytes and not outcome.error:
          peaks.append(outcome.peak_bytes)
        following = runner_lib.take_following(waiting, job, outcome)
        if following is not None:
          self._start(following, actor)
        else:
          actor.__ray_terminate__.remote()
        on_end(job, outcome)

  def _create_actor(self, peaks: Sequence[float]) -> Any:
    options = dict(num_cpus=self._num_cpus)
    if self._limits_memory:
      need = max(peaks, default=resources.FIRST_GUESS_BYTES)
      options['memory'] = int(min(need, self._most_memory))
    actor = self._ray.remote(JobActor).options(**options)
    return actor.remote(self._num_cpus)

  def _start(self, job: runner_lib.Job, actor: Any) -> None:
    reference = actor.do.remote(job, versions())
    self._running[reference] = job, actor, time.monotonic()

  def _outcome(self, reference: Any, began: float) -> runner_lib.Outcome:
    try:
      return self._ray.get(reference)
    except self._ray.exceptions.RayError as error:
      # The last line has the reason, followed by Ray's guesses.
      reason = str(error).strip().rpartition('\n')[-1]
      reason = reason.partition(' Some common causes')[0]
      return runner_lib.Outcome(
        error=f'its process or node died: {reason}',
        seconds=time.monotonic() - began,
        peak_bytes=0,
      )


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

  def do(
    self, job: runner_lib.Job, versions_there: dict[str, str]
  ) -> runner_lib.Outcome:
    """Runs a job and returns its outcome.

    Args:
      job: The job.
      versions_there: The result of `versions` in the sweep's own process.
    """
    began = time.monotonic()
    node = f'The node {socket.gethostname()}'
    folder = job.log_path.parent
    if versions() != versions_there:
      error = f'{node} has {versions()}, but the sweep has {versions_there}.'
    elif not folder.is_dir():
      error = f'{node} has no {folder}: all nodes need the folder of the sweep.'
    else:
      runner_lib.redirect_output(job)
      error = runner_lib.do(job)
    return runner_lib.Outcome(
      error=error,
      seconds=time.monotonic() - began,
      peak_bytes=runner_lib.peak_bytes(),
    )


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
