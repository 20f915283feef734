# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs as data frames, the source of all tables and plots."""

from __future__ import annotations

from collections.abc import Iterable
import dataclasses
import math
import os
import statistics
from typing import NamedTuple

from fedfish_tff import errors
from launch.results import method_labels
from launch.results import run_reader

import numpy as np
import pandas as pd

# Fields in which runs of one experiment may differ.
_POOLED_FIELDS = ('seed', 'checkpoint_every')


@dataclasses.dataclass(frozen=True, eq=False)
class Frames:
  """The data frames of runs; values of diverged runs are infinite.

  Attributes:
    runs: A row for each run; see `run_reader.describe_run`. Labelled runs also
      have `label`: the method with the differences from the others. Runs of one
      label differ only in their seed and are sorted by it.
    rounds: The rows of metrics.csv, indexed by `run` and `round`. NaN where a
      run has written nothing.
    clients: The rows of evaluation/clients.csv, indexed by `run` and `client`.
    transfer: The rows of evaluation/transfer.csv, indexed by `run`.
  """

  runs: pd.DataFrame
  rounds: pd.DataFrame
  clients: pd.DataFrame
  transfer: pd.DataFrame

  def of(self, runs: pd.DataFrame) -> Frames:
    """Returns the frames of a selection of the rows of `runs`."""
    kept = runs.index
    return Frames(
      runs,
      self.rounds.loc[self.rounds.index.isin(kept, 'run')],
      self.clients.loc[self.clients.index.isin(kept, 'run')],
      self.transfer.loc[self.transfer.index.isin(kept)],
    )

  def groups(self) -> dict[str, Frames]:
    """Returns the frames of each label, in the order of the runs."""
    grouped = self.runs.groupby('label', sort=False)
    return {label: self.of(runs) for label, runs in grouped}

  def column(self, name: str) -> pd.Series:
    """Returns a column of runs of one label, by seed and round.

    Args:
      name: A column of metrics.csv; empty if no run has it.
    """
    return self._by_seed(self.rounds, name)

  def client_column(self, name: str) -> pd.Series:
    """Returns a column of clients of runs of one label, by seed and client.

    Args:
      name: A column of evaluation/clients.csv.
    """
    return self._by_seed(self.clients, name)

  def _by_seed(self, frame: pd.DataFrame, name: str) -> pd.Series:
    values = frame[name] if name in frame else pd.Series(index=frame.index[:0])
    seeds = self.runs['seed'].to_dict()
    return values.astype(float).dropna().rename(index=seeds, level='run')

  def drawn(self, *names: str) -> pd.DataFrame:
    """Returns the rows with finite values in all given columns.

    Args:
      *names: The columns of metrics.csv.
    """
    # An infinite loss is part of a run, but cannot be drawn.
    rows = self.rounds.reindex(columns=list(dict.fromkeys(names)))
    return rows[np.isfinite(rows).all(axis=1)]

  def last_rounds(self, name: str = 'round') -> list[int]:
    """Returns the last round of each run with finite values in a column."""
    rounds = self.drawn('round', name)['round'].groupby('run', sort=False)
    return rounds.last().astype(int).tolist()


def read(workdirs: Iterable[str | os.PathLike[str]]) -> Frames:
  """Reads workdirs and labels their methods.

  Args:
    workdirs: The workdirs of launch.train.

  Raises:
    errors.InputError: If a workdir cannot be used or duplicates another.
  """
  return label(join(map(run_reader.read_run, workdirs)))


def join(runs: Iterable[run_reader.Run]) -> Frames:
  """Returns at least one run as frames, indexed by the runs' positions."""
  runs = list(runs)

  def stack(parts: Iterable[pd.DataFrame], name: str) -> pd.DataFrame:
    kept = {i: part for i, part in enumerate(parts) if len(part)}
    if kept:
      return pd.concat(kept, names=['run', name])
    return pd.DataFrame(
      index=pd.MultiIndex.from_arrays([[], []], names=['run', name])
    )

  return Frames(
    # Objects keep each value as it was read: counts stay integers.
    pd.DataFrame([run.about for run in runs], dtype=object),
    stack((run.rounds for run in runs), 'round'),
    stack((run.clients for run in runs), 'client'),
    stack((run.transfer for run in runs), 'row').droplevel('row'),
  )


def label(frames: Frames) -> Frames:
  """Adds the column `label` and sorts the runs of a label by seed.

  Args:
    frames: The runs.

  Raises:
    errors.InputError: If two runs have the same config and seed.
  """
  runs = frames.runs
  keys = [
    repr(
      (
        task,
        sorted(
          (n, repr(v)) for n, v in fields.items() if n not in _POOLED_FIELDS
        ),
      )
    )
    for fields, task in zip(runs['fields'], runs['task'])
  ]
  runs = runs.assign(group=pd.factorize(np.array(keys, object))[0])
  runs = runs.sort_values(['group', 'seed'], kind='stable')
  again = runs.duplicated(['group', 'seed'])
  if again.any():
    other = runs[again].iloc[0]
    same = (runs['group'] == other['group']) & (runs['seed'] == other['seed'])
    one = runs[same].iloc[0]
    raise errors.InputError(
      f'{one["workdir"]} and {other["workdir"]} are runs of one config and one '
      f'seed ({one["seed"]}); give one of them.'
    )
  firsts = runs.drop_duplicates('group')
  labels = dict(zip(firsts['group'], method_labels.label_methods(firsts)))
  return frames.of(runs.assign(label=runs['group'].map(labels)))


class Cell(NamedTuple):
  """Statistics of a column over seeds.

  Attributes:
    mean: The mean over the seeds with finite values; NaN without one.
    deviation: The sample standard deviation; NaN for fewer than two values.
    seeds: The number of seeds with finite values.
    diverged: The number of seeds with infinite values.
  """

  mean: float
  deviation: float
  seeds: int
  diverged: int


def over_seeds(values: Iterable[float]) -> Cell:
  """Returns the statistics of one value per seed; NaN is left out."""
  values = [float(value) for value in values if not math.isnan(value)]
  finite = [value for value in values if math.isfinite(value)]
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
    missing: The number of runs that are not finished.
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


def points(
  frames: Frames, x: str, y: str
) -> tuple[np.ndarray, np.ndarray] | None:
  """Returns x `[rounds]` and y `[seeds, rounds]` at the common rounds.

  Args:
    frames: The runs, which differ in their seed; those without values are left
      out.
    x: The column of metrics.csv for x.
    y: The column of metrics.csv for y.

  Returns:
    The mean of x over seeds and the values of y; None if no run has both.
  """
  rows = frames.drawn(x, y).unstack('run').dropna()
  if not rows.columns.size:
    return None
  # Seeds draw different clients, so that x may differ at one round.
  return rows[x].mean(axis=1).to_numpy(), rows[y].to_numpy().T
