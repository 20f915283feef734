# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""How many processes a sweep may run: as cores and memory allow."""

from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses
import math
import os
import pathlib

import psutil

# What a run is supposed to take until one has been measured.
FIRST_GUESS_BYTES = 1 << 30
# Left to the rest of the machine.
_RESERVE_BYTES = 256 << 20
_CGROUP = pathlib.Path('/sys/fs/cgroup')


def usable_cores() -> list[int]:
  """Returns the cores that this process may use."""
  if hasattr(os, 'sched_getaffinity'):
    cores = sorted(os.sched_getaffinity(0))
  else:
    cores = list(range(os.cpu_count() or 1))
  quota, _, period = _read(_CGROUP / 'cpu.max').partition(' ')
  if quota.isdecimal() and period.strip().isdecimal():
    share = math.ceil(int(quota) / int(period))
    cores = cores[: max(1, share)]
  return cores


def available_bytes() -> int:
  """Returns the memory that can still be taken, here or in this container."""
  available = psutil.virtual_memory().available
  limit = _read(_CGROUP / 'memory.max')
  current = _read(_CGROUP / 'memory.current')
  if limit.isdecimal() and current.isdecimal():
    # The page cache counts as used, but is given back when needed.
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


def resident_bytes(pid: int) -> int:
  """Returns the memory that a process holds; 0 if it has ended."""
  try:
    return psutil.Process(pid).memory_info().rss
  except psutil.Error:
    return 0


@dataclasses.dataclass(frozen=True)
class MemoryLimit:
  """Decides whether there is memory for one more run.

  Attributes:
    enabled: Whether it limits at all.
  """

  enabled: bool = True

  def allows(
    self, measured_peaks: Iterable[float], running: Sequence[float]
  ) -> bool:
    """Whether one more run can start.

    Args:
      measured_peaks: What finished runs took at most, in bytes.
      running: What each unfinished one takes now, in bytes.
    """
    if not running or not self.enabled:
      return True
    peaks = list(measured_peaks)
    # Without a measurement, runs are alike and still grow.
    need = max(peaks) if peaks else max(FIRST_GUESS_BYTES, *running)
    growth = sum(max(0.0, need - now) for now in running)
    return available_bytes() - _RESERVE_BYTES - growth >= need


def share_cores(cores: Sequence[int], num_processes: int) -> list[list[int]]:
  """Divides cores among processes; each gets as many, and at least one.

  Args:
    cores: The cores.
    num_processes: How many processes; if more than cores, they take turns.
  """
  share = max(1, len(cores) // num_processes)
  return [
    [cores[(slot * share + i) % len(cores)] for i in range(share)]
    for slot in range(num_processes)
  ]
