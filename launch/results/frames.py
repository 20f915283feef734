# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs as data frames, from which all tables and plots are made."""

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

# Fields that do not make a run another experiment.
_POOLED_FIELDS = ('seed', 'checkpoint_every')


@dataclasses.dataclass(frozen=True, eq=False)
class Frames:
  """Some runs. What is not finite, since a run has diverged, is infinite.

  Attributes:
    runs: A row a run, see `run_reader.describe_run`; and, once the runs are
      labelled, `label`: the method, with what tells it from the others. Runs of
      one label differ by their seed only, and stand in its order.
    rounds: The rows of metrics.csv; indexed by `run` and `round`. NaN where a
      run has written nothing.
    clients: The rows of evaluation/clients.csv; indexed by `run` and `client`.
    transfer: The rows of evaluation/transfer.csv; indexed by `run`.
  """

  runs: pd.DataFrame
  rounds: pd.DataFrame
  clients: pd.DataFrame
  transfer: pd.DataFrame

  def of(self, runs: pd.DataFrame) -> Frames:
    """Returns the frames of some rows of `runs`."""
    kept = runs.index
    return Frames(
      runs,
      self.rounds.loc[self.rounds.index.isin(kept, 'run')],
      self.clients.loc[self.clients.index.isin(kept, 'run')],
      self.transfer.loc[self.transfer.index.isin(kept)],
    )

  def groups(self) -> dict[str, Frames]:
    """Returns the frames of each label, as given."""
    grouped = self.runs.groupby('label', sort=False)
    return {label: self.of(runs) for label, runs in grouped}

  def column(self, name: str) -> pd.Series:
    """Returns what runs of one label have written, by seed and round.

    Args:
      name: A column of metrics.csv; one that all lack has no values.
    """
    return self._by_seed(self.rounds, name)

  def client_column(self, name: str) -> pd.Series:
    """Returns what clients of runs of one label have, by seed and client.

    Args:
      name: A column of evaluation/clients.csv.
    """
    return self._by_seed(self.clients, name)

  def _by_seed(self, frame: pd.DataFrame, name: str) -> pd.Series:
    values = frame[name] if name in frame else pd.Series(index=frame.index[:0])
    seeds = self.runs['seed'].to_dict()
    return values.astype(float).dropna().rename(index=seeds, level='run')

  def drawn(self, *names: str) -> pd.DataFrame:
    """Returns the rows that have finite values in all of some columns.

    Args:
      *names: Columns of metrics.csv.
    """
    # A loss that became infinite is part of a run, but cannot be drawn.
    rows = self.rounds.reindex(columns=list(dict.fromkeys(names)))
    return rows[np.isfinite(rows).all(axis=1)]

  def last_rounds(self, name: str = 'round') -> list[int]:
    """Returns the last round of each run that has a column to draw."""
    rounds = self.drawn('round', name)['round'].groupby('run', sort=False)
    return rounds.last().astype(int).tolist()


def read(workdirs: Iterable[str | os.PathLike[str]]) -> Frames:
  """Reads workdirs, and labels their methods.

  Args:
    workdirs: Workdirs of launch.train.

  Raises:
    errors.InputError: If one cannot be used, or holds the same as another.
  """
  return label(join(map(run_reader.read_run, workdirs)))


def join(runs: Iterable[run_reader.Run]) -> Frames:
  """Returns runs as frames, indexed by their place; one run at least."""
  runs = list(runs)

  def stack(parts: Iterable[pd.DataFrame], name: str) -> pd.DataFrame:
    kept = {i: part for i, part in enumerate(parts) if len(part)}
    if kept:
      return pd.concat(kept, names=['run', name])
    return pd.DataFrame(
      index=pd.MultiIndex.from_arrays([[], []], names=['run', name])
    )

  return Frames(
    # Each value as it was read: counts stay integers.
    pd.DataFrame([run.about for run in runs], dtype=object),
    stack((run.rounds for run in runs), 'round'),
    stack((run.clients for run in runs), 'client'),
    stack((run.transfer for run in runs), 'row').droplevel('row'),
  )


def label(frames: Frames) -> Frames:
  """Adds the column `label`, and sorts the runs of a label by seed.

  Args:
    frames: Runs.

  Raises:
    errors.InputError: If runs of one config have one seed.
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
  """A column over seeds.

  Attributes:
    mean: Over the seeds with finite values; NaN without one.
    deviation: Sample standard deviation; NaN for less than two.
    seeds: The number of seeds with finite values.
    diverged: The number of the others.
  """

  mean: float
  deviation: float
  seeds: int
  diverged: int


def over_seeds(values: Iterable[float]) -> Cell:
  """Returns the statistics of a value a seed; NaN is left out."""
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


def points(
  frames: Frames, x: str, y: str
) -> tuple[np.ndarray, np.ndarray] | None:
  """Returns x, a mean over seeds, and y `[seeds, rounds]`, at common rounds.

  Args:
    frames: Runs that differ by their seed; those without values are left out.
    x: A column of metrics.csv.
    y: Another one, or the same.

  Returns:
    None where no run has both.
  """
  rows = frames.drawn(x, y).unstack('run').dropna()
  if not rows.columns.size:
    return None
  # Seeds draw different clients, so a round has not the same steps in each.
  return rows[x].mean(axis=1).to_numpy(), rows[y].to_numpy().T
