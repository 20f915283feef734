# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs the jobs of a sweep, several at a time, wherever their processes are.

A process is an executor of `concurrent.futures` with one worker. Jobs of one
group follow one another in it as long as they succeed.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from collections.abc import Sequence
from concurrent import futures
import time

from fedfish_tff import errors
from launch.sweeps import worker


class Runner(abc.ABC):
  """A runner of jobs, as many at a time as there are processes.

  It is a context manager, which ends running processes at its end.

  Attributes:
    num_processes: The most processes at a time.
    processes: The processes, each with a job.
  """

  def __init__(self, num_processes: int) -> None:
    """Creates a runner, which starts no process yet.

    Args:
      num_processes: The most processes at a time.
    """
    self.num_processes = num_processes
    self.processes: list[futures.Executor] = []

  def __enter__(self) -> Runner:
    return self

  def __exit__(self, *unused_error) -> None:
    self.stop()

  @abc.abstractmethod
  def start(self, peaks: Sequence[int]) -> futures.Executor | None:
    """Returns a new process; None if there must be more memory first.

    Args:
      peaks: The peak memory of earlier jobs, in bytes.
    """

  @abc.abstractmethod
  def describe_death(self, process: futures.Executor, error: Exception) -> str:
    """Returns the reason why a process has died, in one line.

    Args:
      process: The process.
      error: The exception of its job's future.
    """

  @abc.abstractmethod
  def stop(self) -> None:
    """Ends all processes, whatever they are doing."""

  def run(
    self,
    jobs: Sequence[worker.Job],
    on_end: Callable[[worker.Job, worker.Outcome], None],
    *,
    known_peaks: Sequence[int] = (),
  ) -> None:
    """Runs jobs to their ends, started in the given order as groups allow.

    Args:
      jobs: The jobs.
      on_end: A function that is called with each job that has ended.
      known_peaks: The peak memory of earlier jobs like these, in bytes.

    Raises:
      errors.InputError: If the system starts no process.
    """
    waiting = list(jobs)
    peaks = [peak for peak in known_peaks if peak]
    # The running jobs with their processes and start times.
    running = {}

    def submit(job: worker.Job, process: futures.Executor) -> None:
      running[_submit(job, process)] = job, process, time.monotonic()
      waiting.remove(job)

    while waiting or running:
      while len(self.processes) < self.num_processes:
        job = choose(waiting, [job for job, _, _ in running.values()])
        try:
          process = job and self.start(peaks)
          if process is None:
            break
          submit(job, process)
        # The fork server was killed, or a system limit is reached.
        except (EOFError, OSError) as error:
          raise errors.InputError(
            f'No process can be started for run {job.name} ({error}); memory '
            'and limits (ulimit) must leave room for one. The same command '
            'continues the sweep.'
          ) from error
        self.processes.append(process)
      done, _ = futures.wait(running, return_when=futures.FIRST_COMPLETED)
      for future in done:
        job, process, began = running.pop(future)
        following = None
        try:
          outcome = future.result()
        except Exception as error:
          reason = self.describe_death(process, error)
          outcome = worker.Outcome(reason, time.monotonic() - began)
        # A process in which a job has failed may be in any state.
        if not outcome.error:
          peaks.append(outcome.peak_bytes)
          group = (j for j in waiting if j.group == job.group)
          following = next(group, None) if job.group else None
        if following is None:
          process.shutdown()
          self.processes.remove(process)
        else:
          submit(following, process)
        on_end(job, outcome)


def _submit(
  job: worker.Job, process: futures.Executor
) -> futures.Future[worker.Outcome]:
  try:
    return process.submit(worker.do, job)
  except futures.BrokenExecutor as error:  # Killed since its last job.
    future = futures.Future()
    future.set_exception(error)
    return future


def choose(
  waiting: Sequence[worker.Job], running: Sequence[worker.Job]
) -> worker.Job | None:
  """Returns the job for a new process, of a group not running if possible.

  Args:
    waiting: The waiting jobs.
    running: The running jobs.

  Returns:
    The job; None if all wait for others.
  """
  open_names = {job.name for job in (*waiting, *running)}
  ready = [job for job in waiting if open_names.isdisjoint(job.after)]
  groups = {job.group for job in running}
  new = (job for job in ready if job.group is None or job.group not in groups)
  return next(new, ready[0] if ready else None)
