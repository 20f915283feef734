# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Workers of a sweep, which run its jobs, several at a time.

A worker is a process that runs `launch.sweeps.worker`. Jobs of one group follow
one another in it as long as they succeed. It has cores of its own, and ends with
the sweep, however that ends.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
from concurrent import futures
import contextlib
import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from typing import Any

from fedfish_tff import errors
from launch import cli
from launch.sweeps import resources
from launch.sweeps import worker as worker_lib

MODULE = 'launch.sweeps.worker'
# A stopped worker is killed after this time, even in mid-round: checkpoints are
# written whole or not at all.
_STOP_SECONDS = 10.0
# The signals that others than the sweep may send to a worker.
_SIGNALS = {signal.SIGINT, *cli.SIGNALS} - {signal.SIGTERM}


class Worker:
  """A worker on this machine.

  Attributes:
    process: The process that runs the jobs.
  """

  def __init__(self, module: str, num_cores: int) -> None:
    """Starts the process.

    Args:
      module: The program, run by the Python of this process.
      num_cores: The number of cores of the process.

    Raises:
      OSError: If the system starts no process.
    """
    self._locks, cores = resources.take_cores(num_cores)
    paths = os.pathsep.join(filter(None, sys.path))
    # The sweep handles these signals and stops its workers by SIGTERM.
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
      self.process = subprocess.Popen(
        (sys.executable, '-m', module),
        bufsize=0,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, 'PYTHONPATH': paths},
      )
    finally:
      signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    # The first job imports TensorFlow, which counts these cores.
    os.sched_setaffinity(self.process.pid, cores)

  def run(self, job: worker_lib.Job) -> worker_lib.Outcome:
    """Returns the outcome of a job; the worker's death is one, too."""
    began, line = time.monotonic(), b''
    with contextlib.suppress(BrokenPipeError):
      text = json.dumps(dataclasses.asdict(job))
      self.process.stdin.write(f'{text}\n'.encode())
      line = self.process.stdout.readline()
    if line.endswith(b'\n'):
      return worker_lib.Outcome(**json.loads(line))
    return worker_lib.Outcome(self._describe_end(), time.monotonic() - began)

  def close(self) -> None:
    """Ends the process after its last job."""
    self.process.communicate(b'\n')
    for lock in self._locks:
      lock.close()

  def _describe_end(self) -> str:
    code = self.process.wait()
    if code >= 0:
      return f'its process ended with exit code {code}'
    advice = ' (out of memory?)' if code == -signal.SIGKILL else ''
    return f'its process has died: {signal.strsignal(-code)}{advice}'


class Workers:
  """The workers of a sweep on this machine.

  It is a context manager, which ends running workers at its end.

  Attributes:
    num_workers: The most workers at a time.
    workers: The workers, each with a job.
  """

  def __init__(
    self, *, num_workers: int, num_cores: int, limits_memory: bool
  ) -> None:
    """Starts no worker yet.

    Args:
      num_workers: The most workers at a time.
      num_cores: The number of cores that they share.
      limits_memory: Whether there are only as many workers as memory allows.
    """
    self.num_workers = num_workers
    self.workers: list[Any] = []
    self._num_cores = max(1, num_cores // num_workers)
    self._limits_memory = limits_memory
    self._memory = resources.available_bytes()
    self._threads = futures.ThreadPoolExecutor(num_workers)

  def __enter__(self) -> Workers:
    return self

  def __exit__(self, *unused_error) -> None:
    self.stop()

  def start(self, peaks: Sequence[int]) -> Any:
    """Returns a new worker; None if there must be more memory first.

    Args:
      peaks: The peak memory of earlier jobs, in bytes.
    """
    count = len(self.workers) + 1
    if (
      self._limits_memory
      and count > 1
      and not resources.has_room(self._memory, count, peaks)
    ):
      return None
    return Worker(MODULE, self._num_cores)

  def submit(
    self, worker: Any, job: worker_lib.Job
  ) -> futures.Future[worker_lib.Outcome]:
    """Begins a job on a worker."""
    return self._threads.submit(worker.run, job)

  def close(self, worker: Any) -> None:
    """Ends a worker without a job."""
    worker.close()

  def stop(self) -> None:
    """Ends all workers, whatever they are doing."""
    processes = [worker.process for worker in self.workers]
    try:
      for process in processes:
        process.terminate()
      deadline = time.monotonic() + _STOP_SECONDS
      for process in processes:
        with contextlib.suppress(subprocess.TimeoutExpired):
          process.wait(max(0.0, deadline - time.monotonic()))
    finally:
      # This also runs after a second Ctrl-C, which cuts the waiting short.
      for process in processes:
        process.kill()
      for process in processes:
        process.wait()

  def run(
    self,
    jobs: Sequence[worker_lib.Job],
    on_end: Callable[[worker_lib.Job, worker_lib.Outcome], None],
    *,
    known_peaks: Sequence[int] = (),
  ) -> None:
    """Runs jobs to their ends, started in the given order as groups allow.

    Args:
      jobs: All jobs, each after those that it waits for.
      on_end: A function that is called with each job that has ended.
      known_peaks: The peak memory of earlier jobs like these, in bytes.
    """
    waiting = list(jobs)
    peaks = [peak for peak in known_peaks if peak]
    # The running jobs with their workers and start times.
    running = {}

    def submit(job: worker_lib.Job, worker: Any) -> None:
      running[self.submit(worker, job)] = job, worker, time.monotonic()
      waiting.remove(job)

    while waiting or running:
      while len(self.workers) < self.num_workers:
        job = choose(waiting, [job for job, *_ in running.values()])
        try:
          worker = job and self.start(peaks)
        except OSError as error:  # A limit of the system is reached.
          raise errors.InputError(
            f'No process can be started for run {job.name} ({error}); memory '
            'and limits (ulimit) must leave room for one. The same command '
            'continues the sweep.'
          ) from error
        if worker is None:
          break
        self.workers.append(worker)
        submit(job, worker)
      done, _ = futures.wait(running, return_when=futures.FIRST_COMPLETED)
      for future in done:
        job, worker, began = running.pop(future)
        following = None
        try:
          outcome = future.result()
        except Exception as error:  # Ray has lost the worker.
          outcome = worker_lib.Outcome(
            _describe_loss(error), time.monotonic() - began
          )
        # A process in which a job has failed may be in any state.
        if not outcome.error:
          if outcome.peak_bytes:
            peaks.append(outcome.peak_bytes)
          group = (j for j in waiting if j.group == job.group)
          following = next(group, None) if job.group else None
        if following is None:
          self.close(worker)
          self.workers.remove(worker)
        else:
          submit(following, worker)
        on_end(job, outcome)


def _describe_loss(error: Exception) -> str:
  # The last line has the reason, followed by Ray's guesses.
  reason = str(error).strip().rpartition('\n')[-1]
  return (
    f'its process or node died: {reason.partition(" Some common causes")[0]}'
  )


def choose(
  waiting: Sequence[worker_lib.Job], running: Sequence[worker_lib.Job]
) -> worker_lib.Job | None:
  """Returns the job for a new worker, of a group not running if possible.

  It is None if all wait for others.
  """
  open_names = {job.name for job in (*waiting, *running)}
  ready = [job for job in waiting if open_names.isdisjoint(job.after)]
  groups = {job.group for job in running}
  new = (job for job in ready if job.group is None or job.group not in groups)
  return next(new, ready[0] if ready else None)
