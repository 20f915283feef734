# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Limits on the workers of a sweep: cores and memory."""

from collections.abc import Sequence
import math
import os
import pathlib
import random
import socket

import psutil

# The memory that a run is assumed to need until one has been measured.
FIRST_GUESS_BYTES = 1 << 30
# The memory that is left to the rest of the machine.
_RESERVE_BYTES = 256 << 20
_CGROUP = pathlib.Path('/sys/fs/cgroup')


def usable_cores() -> list[int]:
  """Returns the cores that this process may use."""
  cores = sorted(os.sched_getaffinity(0))
  quota, _, period = _read(_CGROUP / 'cpu.max').partition(' ')
  if quota.isdecimal() and period.strip().isdecimal():
    share = math.ceil(int(quota) / int(period))
    cores = cores[: max(1, share)]
  return cores


def available_bytes() -> int:
  """Returns the available memory of the machine or of this container."""
  available = psutil.virtual_memory().available
  limit = _read(_CGROUP / 'memory.max')
  current = _read(_CGROUP / 'memory.current')
  if limit.isdecimal() and current.isdecimal():
    # The page cache counts as used, but is freed when needed.
    cache = 0
    for line in _read(_CGROUP / 'memory.stat').splitlines():
      name, _, value = line.partition(' ')
      if name == 'inactive_file':
        cache = int(value)
    available = min(available, int(limit) - int(current) + cache)
  return max(0, available)


def _read(path: pathlib.Path) -> str:
  try:
    return path.read_text(encoding='ascii').strip()
  except OSError:
    return ''


def has_room(memory: float, num_runs: int, peaks: Sequence[float]) -> bool:
  """Returns whether there is memory for some runs at a time.

  Args:
    memory: The available memory before the first of them, in bytes.
    num_runs: The number of runs at a time.
    peaks: The peak memory of each finished run, in bytes.
  """
  need = max(peaks, default=FIRST_GUESS_BYTES)
  return num_runs * need <= memory - _RESERVE_BYTES


def take_cores(number: int) -> tuple[list[socket.socket], list[int]]:
  """Takes a number of cores that no other worker on this machine has.

  Returns:
    The locks that hold the cores until they are closed, sockets with names
    instead of ports; and the cores, drawn at random without locks if too few
    are free.
  """
  locks, cores, usable = [], [], usable_cores()
  for core in usable:
    lock = socket.socket(socket.AF_UNIX)
    try:
      lock.bind(f'\0fedfish_tff_sweep_core_{core}')
    except OSError:
      lock.close()
      continue
    locks.append(lock)
    cores.append(core)
    if len(cores) == number:
      return locks, cores
  for lock in locks:
    lock.close()
  return [], random.sample(usable, min(number, len(usable)))
