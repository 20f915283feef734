# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The resident memory of this process, as Linux counts it."""

import pathlib

_STATUS = pathlib.Path('/proc/self/status')


def resident_bytes() -> int:
  """Returns how much memory is resident now."""
  return _read('VmRSS')


def peak_resident_bytes() -> int:
  """Returns the most that has been resident since the program started.

  Not `getrusage`: its peak includes that of the process which forked this one.
  """
  return _read('VmHWM')


def _read(field: str) -> int:
  for line in _STATUS.read_text().splitlines():
    name, _, value = line.partition(':')
    if name == field:
      return int(value.split()[0]) * 1024
  raise OSError(f'{_STATUS} has no field {field}.')
