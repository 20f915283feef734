# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Checks and times of the peers' scripts, with NumPy alone."""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from importlib import metadata
import json
import time

import numpy as np

# Of how far a round moves a tensor's weights. Sums of float32 in another order
# give 1e-5; a unit that then is off at one client, and on at another, 1e-2.
_TOLERANCE = 0.05

Task = Mapping[str, np.ndarray]


def weights_of(task: Task) -> list[np.ndarray]:
  """Returns the weights that a round starts from."""
  return [task[f'weights_{i}'] for i in range(int(task['num_weights']))]


def measure(
  task: Task, run: Callable[[], Sequence[np.ndarray]], **packages: str
) -> None:
  """Checks a round, times it, and prints a report.

  Args:
    task: The round.
    run: Computes it; returns the new weights.
    **packages: The arguments of `report`.
  """
  check(task, run())
  seconds = []
  for _ in range(int(task['repeats'])):
    began = time.perf_counter()
    run()
    seconds.append(time.perf_counter() - began)
  report(seconds, **packages)


def check(task: Task, weights: Sequence[np.ndarray]) -> None:
  """Raises AssertionError if a round has led to other weights than expected."""
  for i, w in enumerate(weights):
    expected, start = task[f'expected_{i}'], task[f'weights_{i}']
    error = np.abs(w - expected).max() / np.abs(expected - start).max()
    if not error < _TOLERANCE:
      raise AssertionError(f'Weights {i} are others: {error:.1e} off.')


def report(seconds: Sequence[float], **packages: str) -> None:
  """Prints JSON.

  Args:
    seconds: The seconds of each round.
    **packages: Names of the packages whose versions count, by their titles.
  """
  versions = ', '.join(
    f'{title} {metadata.version(name)}' for title, name in packages.items()
  )
  print(
    json.dumps({'seconds': float(np.median(seconds)), 'versions': versions})
  )
