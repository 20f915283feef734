# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Times rows in turns, so that other work on the machine affects all."""

from collections.abc import Callable
from collections.abc import Mapping
import statistics
import time

# A row that was measured for so long needs no further round.
_ENOUGH_SECONDS = 8.0


def seconds_of(run: Callable[[], object]) -> float:
  """Returns the seconds of a call."""
  start = time.perf_counter()
  run()
  return time.perf_counter() - start


def measure_in_turns(
  rows: Mapping[str, Callable[[], object]],
  *,
  repeats: int,
  enough_seconds: float = _ENOUGH_SECONDS,
) -> dict[str, float]:
  """Returns the median seconds of each row.

  Args:
    rows: The calls, by name.
    repeats: The number of calls of each.
    enough_seconds: The total after which a row is left out of further turns.
  """
  seconds: dict[str, list[float]] = {name: [] for name in rows}
  for _ in range(repeats):
    for name, run in rows.items():
      if sum(seconds[name]) < enough_seconds:
        seconds[name].append(seconds_of(run))
  return {name: statistics.median(values) for name, values in seconds.items()}
