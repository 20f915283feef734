# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The resident memory of processes, as Linux counts it."""

import contextlib
import pathlib

_PROCESSES = pathlib.Path('/proc')


def resident_bytes() -> int:
  """Returns how much memory is resident now."""
  return _read(_PROCESSES / 'self', 'VmRSS')


def peak_resident_bytes() -> int:
  """Returns the most that has been resident since the program started.

  Not `getrusage`: its peak includes that of the process which forked this one.
  """
  return _read(_PROCESSES / 'self', 'VmHWM')


def tree_resident_bytes(process_id: int) -> int:
  """Returns how much is resident of a process and all that it started.

  What they share counts for each of them.

  Args:
    process_id: The process; if it has ended, nothing is resident.
  """
  process = _PROCESSES / str(process_id)
  try:
    total = _read(process, 'VmRSS')
    threads = list((process / 'task').iterdir())
  except OSError:  # It ends just now.
    return 0
  for thread in threads:
    with contextlib.suppress(OSError):  # So does a thread.
      children = (thread / 'children').read_text().split()
      total += sum(tree_resident_bytes(int(child)) for child in children)
  return total


def _read(process: pathlib.Path, field: str) -> int:
  status = process / 'status'
  for line in status.read_text().splitlines():
    name, _, value = line.partition(':')
    if name == field:
      return int(value.split()[0]) * 1024
  raise OSError(f'{status} has no field {field}.')
