# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What runs that differ by their seed only have reached together."""

from collections.abc import Iterable
import math
import statistics
from typing import NamedTuple


class Cell(NamedTuple):
  """A column over seeds.

  Attributes:
    mean: Over the seeds with finite values; NaN without one.
    deviation: Sample standard deviation; NaN for less than two.
    seeds: How many have finite values.
    diverged: How many have others.
  """

  mean: float
  deviation: float
  seeds: int
  diverged: int


def summarize(values: Iterable[float]) -> Cell:
  """Returns the statistics of a column, a value a seed."""
  values = list(values)
  finite = [float(value) for value in values if math.isfinite(value)]
  return Cell(
    mean=statistics.fmean(finite) if finite else math.nan,
    deviation=statistics.stdev(finite) if len(finite) > 1 else math.nan,
    seeds=len(finite),
    diverged=len(values) - len(finite),
  )


def format_cell(cell: Cell, missing: int = 0) -> str:
  """Returns '0.5000', '0.5000 ± 0.1000 (3 seeds), diverged: 1 of 4', or ''.

  Args:
    cell: The cell.
    missing: Runs that are not finished.
  """
  parts = []
  if cell.seeds == 1:
    parts.append(f'{cell.mean:.4f}')
  elif cell.seeds:
    parts.append(f'{cell.mean:.4f} ± {cell.deviation:.4f} ({cell.seeds} seeds)')
  if cell.diverged:
    parts.append(f'diverged: {cell.diverged} of {cell.seeds + cell.diverged}')
  if missing:
    parts.append(f'missing: {missing}')
  return ', '.join(parts)
