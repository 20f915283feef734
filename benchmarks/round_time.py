# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Times rows side by side, so that what else the machine does hits all."""

from collections.abc import Callable
from collections.abc import Mapping
import time

import numpy as np

# A row that has been measured for as long needs no further round.
_ENOUGH_SECONDS = 8.0


def seconds_of(run: Callable[[], object]) -> float:
  """Returns how long a call takes."""
  start = time.perf_counter()
  run()
  return time.perf_counter() - start


def measure_in_turns(
  rows: Mapping[str, Callable[[], object]],
  *,
  repeats: int,
  enough_seconds: float = _ENOUGH_SECONDS,
) -> dict[str, float]:
  """Returns each row's median seconds.

  Args:
    rows: What to call, by name.
    repeats: Calls of each.
    enough_seconds: A row that has taken as long in all is left out of the
      turns that follow.
  """
  seconds: dict[str, list[float]] = {name: [] for name in rows}
  for _ in range(repeats):
    for name, run in rows.items():
      if sum(seconds[name]) < enough_seconds:
        seconds[name].append(seconds_of(run))
  return {name: float(np.median(values)) for name, values in seconds.items()}
