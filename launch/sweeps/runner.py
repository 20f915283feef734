# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A runner of jobs in separate processes, several at a time.

Jobs of one group may follow one another in a process as long as they succeed.
Processes are forked from one that has imported TensorFlow Federated without
running any of it, so that it is imported only once. Each process has its share
of the cores and its own log file, and ends with the sweep, however that ends.
"""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses
import gc
import importlib
import multiprocessing
from multiprocessing import connection as mp_connection
from multiprocessing import forkserver
import os
import pathlib
import signal
import sys
import threading
import time
import traceback
from typing import Any

from fedfish_tff import errors
from launch import terminal
from launch.sweeps import resources

_POLL_SECONDS = 0.5
# A stopped run is killed after this time, even in mid-round: checkpoints are
# written whole or not at all.
_STOP_SECONDS = 10.0
_INTERRUPTED = 130
# The length to which a reason is cut, since a pipe takes at most 64 KiB until
# it is read; the log has the whole reason.
_MAX_ERROR = 1000
_SIGNALS = tuple(
  getattr(signal, name)
  for name in ('SIGINT', 'SIGHUP', 'SIGTERM')
  if hasattr(signal, name)
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Job:
  """Work for one process.

  Attributes:
    name: The name in the sweep.
    target: The function, `<module>:<function>`.
    arguments: The keyword arguments of the function.
    log_path: The file to which output is appended.
    heading: The first line of the log.
    group: The group of jobs that may follow one another in a process, sharing
      what it has made; None for a separate process.
  """

  name: str
  target: str
  arguments: Mapping[str, Any]
  log_path: pathlib.Path
  heading: str = ''
  group: str | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Outcome:
  """The outcome of a job.

  Attributes:
    error: The reason of the failure, in one line; None if the job succeeded.
    seconds: The duration in seconds.
    peak_bytes: The peak memory in bytes, beyond what processes share; 0 if
      unknown.
  """

  error: str | None
  seconds: float
  peak_bytes: int


@dataclasses.dataclass(kw_only=True)
class _Process:
  """A process and its job, which is None once the process is to end."""

  job: Job | None
  process: multiprocessing.process.BaseProcess
  connection: mp_connection.Connection
  slot: int
  started: float
  initial_bytes: int

  def handles(self) -> list[Any]:
    """Returns the handles to wait for."""
    if self.job is None:
      return [self.process.sentinel]
    return [self.process.sentinel, self.connection]

  def measure(self) -> int:
    """Returns the current memory in bytes, beyond what processes share."""
    now = resources.resident_bytes(self.process.pid) - self.initial_bytes
    return max(0, now)

  def outcome(self) -> Outcome | None:
    """Returns the outcome of the job; None while the job runs."""
    error, peak = None, 0
    try:
      if not self.connection.poll() and self.process.is_alive():
        return None
      error, peak = self.connection.recv()
    except (EOFError, OSError):
      # The process has ended without a result.
      self.process.join()
      error = _describe_exit(self.process.exitcode)
    return Outcome(
      error=error,
      seconds=time.monotonic() - self.started,
      peak_bytes=peak,
    )

  def go_on(self, job: Job | None) -> None:
    """Gives the process its next job, or None to end it."""
    self.job = job
    self.started = time.monotonic()
    if job is None:
      self.connection.close()
      return
    # A process that was killed in the meantime fails at this job.
    with contextlib.suppress(OSError):
      self.connection.send(job)


def _describe_exit(code: int) -> str:
  if code >= 0:
    return f'its process ended with exit code {code}'
  try:
    name = signal.Signals(-code).name
  except ValueError:
    name = f'signal {-code}'
  advice = ' (out of memory?)' if name == 'SIGKILL' else ''
  return f'its process was killed by {name}{advice}'


class Runner:
  """A runner of jobs, as many at a time as processes and memory allow.

  It is a context manager, which stops running jobs at its end.

  Attributes:
    num_processes: The most processes at a time.
  """

  def __init__(
    self,
    *,
    num_processes: int,
    cores: Sequence[int],
    memory: resources.MemoryLimit,
    preload: Sequence[str] = (),
  ) -> None:
    """Creates a runner, which starts no process yet.

    Args:
      num_processes: The most processes at a time.
      cores: The cores that the processes share.
      memory: The limit that decides whether there is memory for one more.
      preload: The modules that processes share.
    """
    self.num_processes = num_processes
    self._slots = resources.share_cores(cores, num_processes)
    self._memory = memory
    self._preload = list(preload)
    self._context = multiprocessing.get_context('forkserver')
    self._processes: list[_Process] = []

  def __enter__(self) -> 'Runner':
    return self

  def __exit__(self, *unused_error) -> None:
    self.stop()

  def run(
    self,
    jobs: Sequence[Job],
    on_end: Callable[[Job, Outcome], None],
    *,
    known_peaks: Sequence[float] = (),
  ) -> None:
    """Runs jobs to their ends, started in the given order as groups allow.

    Args:
      jobs: The jobs.
      on_end: A function that is called with each job that has ended.
      known_peaks: The peak memory of earlier jobs like these, in bytes.
    """
    self._start_server()
    waiting = list(jobs)
    peaks = [peak for peak in known_peaks if peak]
    while waiting or self._processes:
      while waiting and self._has_room(peaks):
        self._start(take(waiting, [p.job for p in self._processes if p.job]))
      mp_connection.wait(
        [handle for p in self._processes for handle in p.handles()],
        timeout=_POLL_SECONDS,
      )
      for process in list(self._processes):
        job = process.job
        outcome = None if job is None else process.outcome()
        if outcome is not None:
          if outcome.peak_bytes and not outcome.error:
            peaks.append(outcome.peak_bytes)
          process.go_on(take_following(waiting, job, outcome))
          on_end(job, outcome)
        elif job is None and not process.process.is_alive():
          self._processes.remove(process)
          process.process.join()

  def stop(self) -> None:
    """Ends all processes and kills those that do not stop in time."""
    try:
      for process in self._processes:
        process.process.terminate()
      deadline = time.monotonic() + _STOP_SECONDS
      for process in self._processes:
        process.process.join(max(0.0, deadline - time.monotonic()))
    finally:
      # This also runs after a second Ctrl-C, which cuts the waiting short.
      for process in self._processes:
        process.process.kill()
      for process in self._processes:
        process.process.join()
      self._processes = []

  def _start_server(self) -> None:
    """Starts the fork server with Ctrl-C blocked, which the sweep handles."""
    self._context.set_forkserver_preload(self._preload)
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS[:2])
    try:
      forkserver.ensure_running()
    finally:
      signal.pthread_sigmask(signal.SIG_SETMASK, blocked)

  def _has_room(self, peaks: Sequence[float]) -> bool:
    return len(self._processes) < len(self._slots) and self._memory.allows(
      peaks, [process.measure() for process in self._processes]
    )

  def _start(self, job: Job) -> None:
    taken = {process.slot for process in self._processes}
    slot = next(i for i in range(len(self._slots)) if i not in taken)
    ours, its = self._context.Pipe()
    process = self._context.Process(
      target=_work,
      args=(job, self._slots[slot], its),
      name=job.name,
    )
    try:
      process.start()
    # The fork server was killed, or a system limit is reached.
    except (EOFError, OSError) as error:
      raise errors.InputError(
        f'No process can be started for run {job.name} ({error}); memory, and '
        'limits (ulimit) that leave room for one, were expected. The same '
        'command continues the sweep.'
      ) from error
    its.close()
    self._processes.append(
      _Process(
        job=job,
        process=process,
        connection=ours,
        slot=slot,
        started=time.monotonic(),
        initial_bytes=resources.resident_bytes(process.pid),
      )
    )


def take(waiting: list[Job], running: Sequence[Job]) -> Job:
  """Takes the job for a new process, of a group not running if possible.

  Args:
    waiting: The waiting jobs, at least one; the job is removed from them.
    running: The running jobs.
  """
  groups = {job.group for job in running}
  new = (j for j in waiting if j.group is None or j.group not in groups)
  job = next(new, waiting[0])
  waiting.remove(job)
  return job


def take_following(
  waiting: list[Job], job: Job, outcome: Outcome
) -> Job | None:
  """Takes the next job for the process of another; None to end the process.

  Args:
    waiting: The waiting jobs; the next job is removed from them.
    job: The job that the process has run.
    outcome: The outcome of that job; a failed process may be in any state.
  """
  if outcome.error or job.group is None:
    return None
  following = next((j for j in waiting if j.group == job.group), None)
  if following is not None:
    waiting.remove(following)
  return following


def _work(
  job: Job, cores: Sequence[int], connection: mp_connection.Connection
) -> None:
  """Runs a job and those that follow it; the main function of a process."""
  # The sweep handles Ctrl-C and stops its processes by SIGTERM.
  for number in _SIGNALS:
    signal.signal(number, signal.SIG_IGN)
  signal.signal(signal.SIGTERM, signal.default_int_handler)
  signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
  _end_with_parent()
  # Set before TensorFlow makes its threads, since it counts these cores.
  if hasattr(os, 'sched_setaffinity'):
    os.sched_setaffinity(0, cores)
  # Preloaded objects stay: searching them for garbage takes longer than all
  # other collection of a short run, and copies the shared memory.
  gc.freeze()
  redirect_output(job)
  initial_bytes = resources.resident_bytes(os.getpid())
  while True:
    error = do(job)
    connection.send((error, peak_bytes() - initial_bytes))
    if error or job.group is None:
      sys.exit(1 if error else 0)
    try:
      job = connection.recv()
    except (EOFError, KeyboardInterrupt):
      sys.exit(0)
    redirect_output(job)


def do(job: Job) -> str | None:
  """Runs a job in this process; returns the error in one line, or None."""
  error = None
  try:
    module, _, function = job.target.partition(':')
    getattr(importlib.import_module(module), function)(**job.arguments)
  except errors.InputError as exception:
    error = ' '.join(str(exception).split())
  except KeyboardInterrupt as exception:
    print(str(exception) or 'Interrupted.', file=sys.stderr)
    sys.exit(_INTERRUPTED)
  except Exception as exception:
    traceback.print_exc()
    text = ' '.join(str(exception).split())
    error = f'{type(exception).__name__}: {text}'
  if error:
    print(f'FAILED: {error}', file=sys.stderr)
    if len(error) > _MAX_ERROR:
      error = f'{error[:_MAX_ERROR]}...'
  return error


def redirect_output(job: Job) -> None:
  """Appends the output of this process to the log of a job."""
  descriptor = os.open(
    job.log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666
  )
  for number in (1, 2):
    os.dup2(descriptor, number)
  os.close(descriptor)
  terminal.open_streams()
  now = time.strftime('%Y-%m-%d %H:%M:%S')
  print(f'[{now}] {job.heading or job.name}')


def peak_bytes() -> int:
  """Returns the peak memory of this process in bytes."""
  import resource  # pylint: disable=g-import-not-at-top

  # The value is in bytes on macOS and in kibibytes elsewhere.
  unit = 1 if sys.platform == 'darwin' else 1024
  return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _end_with_parent() -> None:
  """Ends this process if the sweep or the fork server is killed."""
  sweep = multiprocessing.parent_process()
  server = os.getppid()

  def watch() -> None:
    while not mp_connection.wait([sweep.sentinel], timeout=1.0):
      if os.getppid() != server:
        break
    os._exit(_INTERRUPTED)

  threading.Thread(target=watch, name='end_with_parent', daemon=True).start()
