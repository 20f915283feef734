# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What the peers' scripts share; with NumPy alone, in their environments."""

from collections.abc import Mapping
from collections.abc import Sequence
import importlib.metadata
import json

import numpy as np

# Of how far a round moves a tensor's weights. Sums of float32 in another order
# give 1e-5; a unit that then is off at one client, and on at another, 1e-2.
_TOLERANCE = 0.05


def weights_of(task: Mapping[str, np.ndarray]) -> list[np.ndarray]:
  """Returns the weights that a round starts from."""
  return [task[f'weights_{i}'] for i in range(int(task['num_weights']))]


def check(
  task: Mapping[str, np.ndarray], weights: Sequence[np.ndarray]
) -> None:
  """Raises AssertionError if a round has led to other weights than expected."""
  for i, w in enumerate(weights):
    expected, start = task[f'expected_{i}'], task[f'weights_{i}']
    error = np.abs(w - expected).max() / np.abs(expected - start).max()
    if not error < _TOLERANCE:
      raise AssertionError(f'Weights {i} are others: {error:.1e} off.')


def report(seconds: Sequence[float], **packages: str) -> None:
  """Prints JSON.

  Args:
    seconds: Of each round.
    **packages: Titles with the names of the packages whose versions count.
  """
  versions = ', '.join(
    f'{title} {importlib.metadata.version(name)}'
    for title, name in packages.items()
  )
  print(
    json.dumps({'seconds': float(np.median(seconds)), 'versions': versions})
  )
