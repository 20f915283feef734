# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Reads what runs have left in their workdirs, and groups runs by method."""

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools
import math
import os
import pathlib
from typing import Any
from typing import NamedTuple

from fedfish_tff import errors
from fedfish_tff import regular_files
from fedfish_tff import simulation
from fedfish_tff.simulation import metrics_rows
from launch.methods import config_checks
from launch.results import checked_tables
from launch.results import method_labels
from launch.results import transfer_reader

from absl import logging
import numpy as np

# Fields that do not make a run another experiment.
_POOLED_FIELDS = ('seed', 'checkpoint_every')
# The forms of config.json and of summary.json, as far as all runs have them.
CONFIG = {
  'seed': int,
  'rounds': int,
  'algorithm': {'name': str},
  'task': {'name': str},
}
SUMMARY = {
  'rounds': int,
  'final': {...: (float, None)},
  'test': {...: (float, None)},
  'totals': {...: (float, None)},
  'best_validation': ({'metric': str, 'higher_is_better': bool}, None),
  'early_stopping': ({'model_round': int, 'stopped': (str, None)}, None),
}
_NO_BEST = {'metric': '', 'higher_is_better': True}
CLIENTS_CSV = 'evaluation/clients.csv'
_TEST = 'test/'
_CLIENTS_HEAD = ['client_id', 'round', 'split']
# Columns of clients.csv by the share of a client's examples fine-tuned on; all
# are scored on the same unseen half.
FEW_SHOT_COLUMNS = {0.0: 'before', 0.25: 'few_shot_25', 0.5: 'after'}


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Run:
  """What a run has left in its workdir.

  Attributes:
    workdir: The workdir.
    config: The run's config, nested mappings.
    columns: metrics.csv by column, float64 `[num_rows]`; NaN in an empty cell,
      and where the run itself has written it.
    clients: evaluation/clients.csv by client and column, without the empty
      cells; None where the run's model has not been evaluated.
    empty: The empty cells by column, bool `[num_rows]`; a column that is not
      in it has none.
    values: The numbers of summary.json, those of the run's model:
      `validation/global/<metric>`, `test/global/<metric>`, `csb/<metric>`,
      `total/local_steps` and so on. NaN where the run has diverged. Empty unless
      it is finished.
    metric: The task's metric, such as `'accuracy'`; None of a run that is not
      finished or has never had a finite value.
    judged_by: Whose values of it on held-out clients count, `'global'` as a rule.
    higher_is_better: Whether that is better when higher.
    made_up: What the data are where they are made up: 'generated pages'.
    transfer: The scores of evaluation/transfer.csv, of any round.
    last_round: The round after which the run was finished; None of one that is
      not.
    model_round: That of the run's model, which may be earlier where the config
      has early_stopping; None likewise.
    variant: In a sweep: its variant.
    fields: In a sweep: values of the fields in which its runs differ, by dotted
      name.
  """

  workdir: pathlib.Path
  config: Mapping[str, Any]
  columns: Mapping[str, np.ndarray] = dataclasses.field(default_factory=dict)
  clients: Mapping[str, Mapping[str, float]] | None = None
  empty: Mapping[str, np.ndarray] = dataclasses.field(default_factory=dict)
  values: Mapping[str, float] = dataclasses.field(default_factory=dict)
  metric: str | None = None
  judged_by: str = 'global'
  higher_is_better: bool = True
  made_up: str | None = None
  transfer: Sequence[transfer_reader.Score] = ()
  last_round: int | None = None
  model_round: int | None = None
  variant: str = ''
  fields: Mapping[str, Any] = dataclasses.field(default_factory=dict)

  @property
  def name(self) -> str:
    return self.workdir.name

  @property
  def seed(self) -> int:
    return self.config['seed']

  @property
  def length(self) -> int:
    """The rounds that it has once it is finished, as far as that is known."""
    return self.last_round or self.config['rounds']

  @property
  def algorithm(self) -> str:
    return self.config['algorithm']['name']

  @property
  def task(self) -> str:
    """The task's name; of made-up data it says first what they are."""
    name = self.config['task']['name']
    return f'{self.made_up}, task {name}' if self.made_up else name

  @property
  def told_config(self) -> dict[str, Any]:
    """The config with the name of the task that is told."""
    return {**self.config, 'task': {**self.config['task'], 'name': self.task}}

  @property
  def is_finished(self) -> bool:
    return bool(self.values)

  @property
  def test(self) -> dict[str, float]:
    """The numbers of test clients, such as `global/accuracy`."""
    return {
      name.removeprefix(_TEST): value
      for name, value in self.values.items()
      if name.startswith(_TEST)
    }

  def series(self, x: str, y: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns rounds, x and y of the rows that have both columns."""
    nothing = np.full(len(self.columns['round']), np.nan)
    x_values = self.columns.get(x, nothing)
    y_values = self.columns.get(y, nothing)
    # A loss that became infinite is part of the run, but cannot be drawn.
    present = np.isfinite(x_values) & np.isfinite(y_values)
    return self.columns['round'][present], x_values[present], y_values[present]

  def recorded(self, column: str) -> tuple[np.ndarray, np.ndarray]:
    """Returns rounds and values of a column where the run has written one.

    Unlike those of `series`, the values of a run that has diverged are among
    them: they are not finite.

    Args:
      column: A column of metrics.csv; one that the run lacks has no rounds.
    """
    if column not in self.columns:
      return np.empty(0), np.empty(0)
    values = self.columns[column]
    written = ~self.empty.get(column, np.zeros(len(values), bool))
    return self.columns['round'][written], values[written]


class ClientTable(NamedTuple):
  """What a clients.csv holds.

  Attributes:
    round_number: The round of the model that was evaluated; None where the
      table has no client.
    split: The split of the clients.
    clients: The numbers by client and column, without the empty cells.
  """

  round_number: int | None
  split: str | None
  clients: dict[str, dict[str, float]]


def read_run(workdir: str | os.PathLike[str]) -> Run:
  """Reads a run's workdir.

  Args:
    workdir: The folder a run has written.

  Returns:
    The run, up to its last whole row. An evaluation of another round than that
    of the run's model, the last row's as a rule, is left out, with a warning.

  Raises:
    errors.InputError: If a file is missing or damaged, or no round is done.
  """
  workdir = pathlib.Path(workdir)
  config = read_config(workdir)
  simulation.Workdir(workdir).check_files()
  metrics_path = workdir / 'metrics.csv'
  rows = metrics_rows.read_rows(metrics_path)
  if not rows:
    raise errors.InputError(f'{metrics_path} holds no round yet.')
  names = dict.fromkeys(name for row in rows for name in row)
  columns = {
    name: np.array([row.get(name, np.nan) for row in rows], np.float64)
    for name in names
  }
  summary = _read_summary(simulation.Workdir(workdir))
  return Run(
    workdir=workdir,
    config=config,
    columns=columns,
    clients=_read_current_clients(
      workdir, summary.get('model_round') or rows[-1]['round']
    ),
    empty={name: np.array([name not in row for row in rows]) for name in names},
    made_up=read_made_up(workdir),
    transfer=transfer_reader.read_scores(workdir),
    **summary,
  )


def read_made_up(workdir: pathlib.Path) -> str | None:
  """Returns what a workdir's data are where they are made up; else None."""
  return simulation.Workdir(workdir).read_data().get('made_up')


def _read_summary(folder: simulation.Workdir) -> dict[str, Any]:
  """Returns what `parse_summary` does; nothing where there is no file yet."""
  summary = folder.read_summary(SUMMARY)
  return parse_summary(summary) if summary else {}


def parse_summary(summary: Mapping[str, Any]) -> dict[str, Any]:
  """Returns the fields of a `Run` that are in its summary.json."""
  blocks = (
    ('', summary['final']),
    (_TEST, summary['test']),
    ('total/', summary['totals']),
  )
  best = summary.get('best_validation') or _NO_BEST
  judged_by, _, metric = best['metric'].removeprefix('eval/').rpartition('/')
  return {
    'values': {
      # JSON knows no NaN.
      (prefix + name).replace('eval/', 'validation/', 1): (
        math.nan if value is None else value
      )
      for prefix, block in blocks
      for name, value in block.items()
    },
    'metric': metric or None,
    'judged_by': judged_by or 'global',
    'higher_is_better': best['higher_is_better'],
    'last_round': summary['rounds'],
    'model_round': model_round(summary),
  }


def model_round(summary: Mapping[str, Any]) -> int:
  """Returns the round of a finished run's model."""
  return (summary.get('early_stopping') or {}).get(
    'model_round', summary['rounds']
  )


def _read_current_clients(
  workdir: pathlib.Path, of_round: int
) -> dict[str, dict[str, float]] | None:
  """Returns the test clients of the run's model, None without them."""
  try:
    table = read_clients(workdir / CLIENTS_CSV)
  except regular_files.MissingFileError:
    return None
  if table.round_number != of_round:
    logging.warning(
      "The evaluation in %s is of round %s, the run's model is that of round %s: "
      'it is not used; run launch.evaluate again.',
      workdir,
      table.round_number,
      of_round,
    )
    return None
  return table.clients


def align(
  series: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
  """Returns the rounds that all seeds have, and x and y `[seeds, rounds]`.

  Args:
    series: Of each seed, as `Run.series` returns it; one at least.
  """
  rounds = functools.reduce(np.intersect1d, (found for found, _, _ in series))
  kept = [np.isin(found, rounds) for found, _, _ in series]
  return (
    rounds,
    np.array([x[k] for (_, x, _), k in zip(series, kept)]),
    np.array([y[k] for (_, _, y), k in zip(series, kept)]),
  )


def read_config(workdir: str | os.PathLike[str]) -> dict[str, Any]:
  """Reads a workdir's config.json; see `read_run`."""
  path = pathlib.Path(workdir) / 'config.json'
  if not path.parent.is_dir():
    raise errors.InputError(f'There is no workdir {workdir}.')
  config = regular_files.read_json(path, CONFIG)
  check_config(config, path)
  return config


def check_config(config: Mapping[str, Any], path: pathlib.Path) -> None:
  """Raises InputError, which names the file, about a config of no run.

  Args:
    config: A config of the form `CONFIG`. One of a method that is not there, or
      not trusted, is of that form, and more is not known.
    path: The file.
  """
  if method_labels.find_method(config['algorithm']['name']) is None:
    return
  try:
    config_checks.read(config)
  except errors.InputError as error:
    raise errors.InputError(f'{path}: {error}') from error


def read_clients(path: str | os.PathLike[str]) -> ClientTable:
  """Reads a clients.csv, one row a client.

  Args:
    path: The file; it has the columns `client_id`, `round` and `split`, and the
      others are numbers.

  Returns:
    The table.

  Raises:
    errors.InputError: If the file is missing or damaged.
  """
  round_number, split, clients = None, None, {}
  for number, row in checked_tables.read_table(path, _CLIENTS_HEAD):
    client_id, round_text, split = (row.pop(name) for name in _CLIENTS_HEAD)
    try:
      round_number = int(round_text)
      clients[client_id] = {
        name: float(cell) for name, cell in row.items() if cell
      }
    except ValueError as error:
      raise errors.InputError(
        f'Line {number} of {path} is damaged ({error}); a client, a round, a '
        'split and numbers were expected.'
      ) from error
  return ClientTable(round_number, split, clients)


def group_runs(runs: Sequence[Run]) -> dict[str, list[Run]]:
  """Groups runs that differ by their seed only, under the method's name.

  Args:
    runs: The runs.

  Returns:
    Runs by label, in the given order, seeds rising. The labels are those of
    `method_labels.label_methods`.

  Raises:
    errors.InputError: If a group holds one seed twice.
  """
  groups = {}
  for run in runs:
    fields = config_checks.flatten(run.told_config)
    key = tuple(
      (name, repr(value))
      for name, value in sorted(fields.items())
      if name not in _POOLED_FIELDS
    )
    groups.setdefault(key, []).append(run)
  members = list(groups.values())
  for group in members:
    group.sort(key=lambda run: run.seed)
    for one, other in zip(group, group[1:]):
      if one.seed == other.seed:
        raise errors.InputError(
          f'{one.workdir} and {other.workdir} are runs of one config and one '
          f'seed ({one.seed}); give one of them.'
        )
  labels = method_labels.label_methods(
    [group[0].told_config for group in members]
  )
  return dict(zip(labels, members))
