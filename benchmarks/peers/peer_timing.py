# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Checks and timing of the peers' scripts, with NumPy alone."""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from importlib import metadata
import json
import time

import numpy as np

# The largest error, relative to the change of a tensor's weights in a round.
# Another order of float32 sums gives 1e-5; a relu unit that it switches on or
# off gives 1e-2.
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
    run: The function that computes the round and returns the new weights.
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
  """Raises AssertionError if a round's weights are not the expected ones."""
  for i, w in enumerate(weights):
    expected, start = task[f'expected_{i}'], task[f'weights_{i}']
    error = np.abs(w - expected).max() / np.abs(expected - start).max()
    if not error < _TOLERANCE:
      raise AssertionError(f'Weights {i} are others: {error:.1e} off.')


def report(seconds: Sequence[float], **packages: str) -> None:
  """Prints the figures as JSON.

  Args:
    seconds: The seconds of each round.
    **packages: The names of the packages to report with versions, by title.
  """
  versions = ', '.join(
    f'{title} {metadata.version(name)}' for title, name in packages.items()
  )
  print(
    json.dumps({'seconds': float(np.median(seconds)), 'versions': versions})
  )
