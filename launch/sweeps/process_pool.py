# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A runner of jobs in processes of this machine.

Each process is a pool of one worker: a pool of several fails as a whole if one
of them is killed, and does not say which worker gets a job. Processes are
forked from one that has imported TensorFlow Federated without running any of
it, so that it is imported only once. Each has its share of the cores, and ends
with the sweep, however that ends.
"""

from collections.abc import Sequence
from concurrent import futures
import gc
import math
import multiprocessing
from multiprocessing import connection as mp_connection
from multiprocessing import context
from multiprocessing import forkserver
from multiprocessing import resource_tracker
import os
import signal
import threading
import time
from typing import Any

from launch import cli
from launch.sweeps import resources
from launch.sweeps import runner

# A stopped run is killed after this time, even in mid-round: checkpoints are
# written whole or not at all.
_STOP_SECONDS = 10.0
_INTERRUPTED = 130
# The signals by which others than the sweep end its processes.
_SIGNALS = {signal.SIGINT, *cli.SIGNALS} - {signal.SIGTERM}


class _Context(context.ForkServerContext):
  """A context that keeps the process that a pool starts."""

  started: context.ForkServerProcess

  def Process(self, *args: Any, **kwargs: Any) -> context.ForkServerProcess:  # pylint: disable=invalid-name
    self.started = context.ForkServerProcess(*args, **kwargs)
    return self.started


class _Pool(futures.ProcessPoolExecutor):
  """A pool of one process.

  Attributes:
    slot: The number of the process among those that run, from 0.
  """

  def __init__(self, slot: int, cores: Sequence[int]) -> None:
    self.slot = slot
    self._kept = _Context()
    super().__init__(1, self._kept, initializer=_begin, initargs=(cores,))

  @property
  def process(self) -> context.ForkServerProcess:
    """The process, which the first job starts."""
    return self._kept.started


class PoolRunner(runner.Runner):
  """A runner of jobs in processes of this machine."""

  def __init__(
    self,
    *,
    num_processes: int,
    cores: Sequence[int],
    limits_memory: bool,
    preload: Sequence[str] = (),
  ) -> None:
    """Creates a runner, which starts no process yet.

    Args:
      num_processes: The most processes at a time.
      cores: The cores that the processes share.
      limits_memory: Whether there are only as many processes as memory allows.
      preload: The modules that processes share.
    """
    super().__init__(num_processes)
    self._shares = resources.share_cores(cores, num_processes)
    self._memory = resources.available_bytes() if limits_memory else math.inf
    self._preload = list(preload)

  def start(self, peaks: Sequence[int]) -> _Pool | None:
    """See `runner.Runner.start`."""
    if not self.processes:
      _start_server(self._preload)
    elif not resources.has_room(self._memory, len(self.processes) + 1, peaks):
      return None
    taken = {pool.slot for pool in self.processes}
    slot = next(i for i in range(self.num_processes) if i not in taken)
    return _Pool(slot, self._shares[slot])

  def describe_death(self, process: _Pool, error: Exception) -> str:
    """See `runner.Runner.describe_death`."""
    # The exit code is known once the pool has joined the process.
    process.shutdown()
    code = process.process.exitcode
    if code >= 0:
      return f'its process ended with exit code {code}'
    advice = ' (out of memory?)' if code == -signal.SIGKILL else ''
    return f'its process has died: {signal.strsignal(-code)}{advice}'

  def stop(self) -> None:
    """See `runner.Runner.stop`."""
    processes = [pool.process for pool in self.processes]
    try:
      for pool in self.processes:
        pool.shutdown(wait=False)
        pool.process.terminate()
      deadline = time.monotonic() + _STOP_SECONDS
      for process in processes:
        process.join(max(0.0, deadline - time.monotonic()))
    finally:
      # This also runs after a second Ctrl-C, which cuts the waiting short.
      for process in processes:
        process.kill()
      for process in processes:
        process.join()


def _start_server(preload: Sequence[str]) -> None:
  """Starts the fork server with signals blocked that the sweep handles."""
  server = multiprocessing.get_context('forkserver')
  server.set_forkserver_preload(preload)
  # Started by the server, it would let Ctrl-C through.
  resource_tracker.ensure_running()
  blocked = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
  try:
    forkserver.ensure_running()
  finally:
    signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
  # The first process starts after all imports. One that an interrupt leaves
  # behind until then must do nothing.
  process = server.Process(target=int)
  process.start()
  process.join()


def _begin(cores: Sequence[int]) -> None:
  """Prepares a new process."""
  # The sweep handles these and stops its processes by SIGTERM.
  for number in _SIGNALS:
    signal.signal(number, signal.SIG_IGN)
  signal.signal(signal.SIGTERM, signal.default_int_handler)
  signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
  _end_with_parent()
  # Set before TensorFlow makes its threads, since it counts these cores.
  os.sched_setaffinity(0, cores)
  # Preloaded objects stay: searching them for garbage takes longer than all
  # other collection of a short run, and copies the shared memory.
  gc.freeze()


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
