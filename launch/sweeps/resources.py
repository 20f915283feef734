# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Limits on the processes of a sweep: cores and memory."""

from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses
import math
import os
import pathlib

import psutil

# The memory that a run is assumed to need until one has been measured.
FIRST_GUESS_BYTES = 1 << 30
# The memory that is left to the rest of the machine.
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
    enabled: Whether there is a limit.
  """

  enabled: bool = True

  def allows(
    self, measured_peaks: Iterable[float], running: Sequence[float]
  ) -> bool:
    """Returns whether one more run can start.

    Args:
      measured_peaks: The peak memory of each finished run, in bytes.
      running: The current memory of each unfinished run, in bytes.
    """
    if not running or not self.enabled:
      return True
    peaks = list(measured_peaks)
    # Without a measurement, all runs are assumed to grow to the same size.
    need = max(peaks) if peaks else max(FIRST_GUESS_BYTES, *running)
    growth = sum(max(0.0, need - now) for now in running)
    return available_bytes() - _RESERVE_BYTES - growth >= need


def share_cores(cores: Sequence[int], num_processes: int) -> list[list[int]]:
  """Divides cores equally among processes, with at least one for each.

  Args:
    cores: The cores.
    num_processes: The number of processes; more of them than cores share cores.
  """
  share = max(1, len(cores) // num_processes)
  return [
    [cores[(slot * share + i) % len(cores)] for i in range(share)]
    for slot in range(num_processes)
  ]
