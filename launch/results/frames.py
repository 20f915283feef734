# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs as data frames, the source of all tables and plots."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import os

from fedfish_tff import errors
from fedfish_tff.evaluation import metric_names
from launch.results import run_labels
from launch.results import run_reader

import numpy as np
import pandas as pd


@dataclasses.dataclass(frozen=True, eq=False)
class Frames:
  """The data frames of runs; values of diverged runs are infinite.

  Attributes:
    runs: A row for each run, that of `run_reader.describe_run`. Labelled runs
      also have `label`, the method with the differences from the others, and
      `group`, a number from 0 for each label. Runs of one label differ only in
      their seed and are sorted by it.
    rounds: The rows of metrics.csv, indexed by `run` and `round`. NaN where a
      run has written nothing.
    clients: The rows of evaluation/clients.csv, indexed by `run` and `client`.
    transfer: The rows of evaluation/transfer.csv, indexed by `run`.
    own_clients: The rows of evaluation/own_clients.csv, indexed by `run` and
      `client`: training clients on test data of their own.
    names: The names that replace labels of methods, or their first words.
    left_out: A note on runs of a sweep that are not among these; '' for none.
  """

  runs: pd.DataFrame
  rounds: pd.DataFrame
  clients: pd.DataFrame
  transfer: pd.DataFrame
  own_clients: pd.DataFrame
  names: Mapping[str, str] = dataclasses.field(default_factory=dict)
  left_out: str = ''

  def of(self, runs: pd.DataFrame) -> Frames:
    """Returns the frames of a selection of the rows of `runs`."""
    kept = runs.index
    return dataclasses.replace(
      self,
      runs=runs,
      rounds=self.rounds.loc[self.rounds.index.isin(kept, 'run')],
      clients=self.clients.loc[self.clients.index.isin(kept, 'run')],
      transfer=self.transfer.loc[self.transfer.index.isin(kept)],
      own_clients=self.own_clients.loc[
        self.own_clients.index.isin(kept, 'run')
      ],
    )

  def finished(self) -> Frames:
    """Returns the frames of finished runs, which alone have results."""
    return self.of(self.runs[self.runs['is_finished'].astype(bool)])

  def groups(self) -> dict[str, Frames]:
    """Returns the frames of each label, in the order of the runs."""
    grouped = self.runs.groupby('label', sort=False)
    return {label: self.of(runs) for label, runs in grouped}

  def column(self, name: str) -> pd.Series:
    """Returns a column of runs of one label, by seed and round or client.

    Args:
      name: A column of metrics.csv or evaluation/clients.csv; empty if no run
        has it.
    """
    frame = self.clients if name in self.clients else self.rounds
    values = frame[name] if name in frame else pd.Series(index=frame.index[:0])
    seeds = self.runs['seed'].to_dict()
    return values.astype(float).dropna().rename(index=seeds, level='run')

  def having(self, *names: str) -> Frames:
    """Returns the frames of runs with a row that has all given columns.

    Args:
      *names: The columns of metrics.csv; infinite values count.
    """
    rows = self.rounds.reindex(columns=list(dict.fromkeys(names))).dropna()
    return self.of(self.runs[self.runs.index.isin(rows.index.unique('run'))])

  def drawn(self, *names: str) -> pd.DataFrame:
    """Returns the rows with finite values in all given columns.

    Args:
      *names: The columns of metrics.csv.
    """
    # An infinite loss is part of a run, but cannot be drawn.
    rows = self.rounds.reindex(columns=list(dict.fromkeys(names)))
    return rows[np.isfinite(rows).all(axis=1)]


def higher_is_better(runs: pd.DataFrame, metric: str) -> bool:
  """Returns whether a higher value of a column is better.

  If one of the runs is judged by the column's metric, what its task declares
  counts, else the name.
  """
  name = metric_names.without_suffix(metric).rpartition('/')[2]
  declared = runs['higher_is_better'][runs['metric'] == name]
  return metric_names.higher_is_better(
    metric, bool(declared.iloc[0]) if len(declared) else None
  )


def read(
  workdirs: Iterable[str | os.PathLike[str]],
  names: Mapping[str, str] | None = None,
) -> Frames:
  """Reads workdirs of launch.train, each once, and labels their methods.

  `names` replace labels of methods. Each must be one, and no two methods may
  get the same.
  """
  frames = join(map(run_reader.read_run, workdirs))
  return label(dataclasses.replace(frames, names=names or {}))


def join(runs: Iterable[run_reader.Run]) -> Frames:
  """Returns at least one run as frames, indexed by the runs' positions."""
  runs = list(runs)
  return Frames(
    # Objects keep each value as it was read: counts stay integers.
    pd.DataFrame([run.about for run in runs], dtype=object),
    stack(dict(enumerate(run.rounds for run in runs)), 'round'),
    stack(dict(enumerate(run.clients for run in runs)), 'client'),
    stack(dict(enumerate(run.transfer for run in runs)), 'row').droplevel(
      'row'
    ),
    stack(dict(enumerate(run.own_clients for run in runs)), 'client'),
  )


def stack(parts: Mapping[int, pd.DataFrame], name: str) -> pd.DataFrame:
  """Returns the frames of runs as one, indexed by `run` and another name."""
  kept = {run: part for run, part in parts.items() if len(part)}
  if kept:
    return pd.concat(kept, names=['run', name])
  return pd.DataFrame(
    index=pd.MultiIndex.from_arrays([[], []], names=['run', name])
  )


def label(frames: Frames) -> Frames:
  """Adds the column `label` and sorts the runs of a label by seed.

  No two runs may have the same config and seed.
  """
  runs = frames.runs
  pooled = run_labels.POOLED
  keys = [
    repr((task, sorted((n, repr(v)) for n, v in of.items() if n not in pooled)))
    for of, task in zip(runs['fields'], runs['task'])
  ]
  runs = runs.assign(group=pd.factorize(np.array(keys, object))[0])
  runs = runs.sort_values(['group', 'seed'], kind='stable')
  for (_, seed), same in runs.groupby(['group', 'seed'], sort=False):
    if len(same) > 1:
      one, other, *_ = same['workdir']
      raise errors.InputError(
        f'{one} and {other} are runs of one config and one seed ({seed}); give '
        'one of them.'
      )
  firsts = runs.drop_duplicates('group')
  own = run_labels.label_methods(firsts)
  _check_names(frames.names, own)
  labels = {
    group: rename(name, frames.names)
    for group, name in zip(firsts['group'], own)
  }
  if len(set(labels.values())) < len(labels):
    told = sorted(labels.values())
    raise errors.InputError(
      f'--names must keep methods apart, got {told}.'
      if frames.names
      else f'Runs of different configs must have different labels, got {told}; '
      'compare those of one label apart.'
    )
  return frames.of(runs.assign(label=runs['group'].map(labels)))


def name_methods(
  frames: Frames, runs: pd.DataFrame, besides: Sequence[str] = ()
) -> list[str]:
  """Returns the labels of runs, or the names that replace them.

  Args:
    frames: The frames with the names.
    runs: The runs, as `run_labels.label_methods` takes them.
    besides: The fields that are told elsewhere.
  """
  labels = run_labels.label_methods(runs, besides=besides)
  return [rename(label, frames.names) for label in labels]


def rename(label: str, names: Mapping[str, str]) -> str:
  """Returns a label with a name in place of it, or of its first words."""
  words = label.split(', ')
  for end in range(len(words), 0, -1):
    if name := names.get(', '.join(words[:end])):
      return ', '.join([name, *words[end:]])
  return label


def _check_names(names: Iterable[str], labels: Sequence[str]) -> None:
  """Raises InputError for a name of no label."""
  # Figures leave out words that their panels tell.
  known = [set(label.split(', ')) for label in labels]
  for name in names:
    if not any(words.issuperset(name.split(', ')) for words in known):
      raise errors.InputError(
        f'--names must hold a label or its first words, such as {labels[0]!r}, '
        f'got {name!r}.{errors.suggest(name, labels)}'
      )


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
