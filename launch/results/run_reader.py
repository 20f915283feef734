# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A reader of a run's workdir into the rows of data frames.

A non-finite value that a run has written is infinite here; NaN stands for a
value that the run has not written.
"""

from collections.abc import Mapping
import dataclasses
import math
import os
import pathlib
import typing
from typing import Any
from typing import NamedTuple

from fedfish_tff import errors
from fedfish_tff import regular_files
from fedfish_tff import simulation
from fedfish_tff.simulation import metrics_rows
from launch import json_config
from launch.results import checked_tables

from absl import logging
import pandas as pd

# The form of the part of config.json that is read here.
CONFIG = {
  'seed': int,
  'rounds': int,
  'local_epochs': (int, None),
  'cohort_size': (int, None),
  'client_learning_rate': (float, None),
  'server_learning_rate': (float, None),
  'algorithm': {'name': str},
  'task': {'name': str, 'num_clients': (int, None)},
}
# The form of notes on a method; see `method_notes.describe`.
METHOD = {
  'title': str,
  'deviations': {...: str},
  'baseline': int,
  'one_model': bool,
  'global_model': bool,
  'first_cohort': (int, None),
  'settled': [str],
}
# The form of a run's notes; see `experiment.describe_run`.
_LABEL = {
  **METHOD,
  'metric': str,
  'higher_is_better': bool,
  'judged_by': str,
  'task': str,
  'clients': {...: int},
}
SUMMARY = {
  'rounds': int,
  'label': _LABEL,
  'final': {...: (float, None)},
  'test': {...: (float, None)},
  'totals': {...: (float, None)},
  'status': str,
  'model_round': int,
  'diverged': ({'round': int, 'reason': str}, None),
}
CLIENTS_CSV = 'evaluation/clients.csv'
OWN_CLIENTS_CSV = 'evaluation/own_clients.csv'
# The files that launch.evaluate --targets writes.
TRANSFER_CSV = 'evaluation/transfer.csv'
TRANSFER_CLIENTS_CSV = 'evaluation/transfer_clients.csv'
_CLIENTS_HEAD = {'client_id': str, 'round': int, 'split': str}
# The columns of clients.csv by the share of a client's examples that it is
# fine-tuned on; all are scored on the same unseen half.
FEW_SHOT_COLUMNS = {0.0: 'before', 0.25: 'few_shot_25', 0.5: 'after'}
# The notes on a run that has not begun.
_NO_LABEL = {
  'deviations': {},
  'baseline': 0,
  'one_model': False,
  'global_model': False,
  'first_cohort': None,
  'settled': [],
  'task': None,
  'clients': None,
  'metric': None,
  'higher_is_better': True,
  'judged_by': 'global',
}


class TransferScore(NamedTuple):
  """A row of transfer.csv: a metric on the clients of a target.

  Attributes:
    target: The target, the name of a task.
    round: The round of the model.
    split: The split of the clients: test or validation.
    percent: The share of a client's examples that was fine-tuned on.
    metric: The metric of the statistics below.
    num_clients: The number of clients that were scored.
    num_too_small: The number of clients with too few examples to be scored.
    num_diverged: The number of scored clients without a finite value, which the
      following statistics leave out.
    mean: The mean over clients.
    low: The lower end of the 95 % bootstrap interval of the mean; NaN if there
      is none.
    high: The upper end of that interval.
    all_tokens: The metric over all tokens (or examples) of all clients.
  """

  target: str
  round: int
  split: str
  percent: int
  metric: str
  num_clients: int
  num_too_small: int
  num_diverged: int
  mean: float
  low: float
  high: float
  all_tokens: float


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Run:
  """The content of a run's workdir.

  Attributes:
    about: The row of `describe_run`.
    rounds: The rows of metrics.csv, float64, indexed by round.
    clients: The rows of evaluation/clients.csv, float64, indexed by client;
      empty if the run's model has not been evaluated.
    own_clients: The rows of evaluation/own_clients.csv in the same form; empty
      for a task without test data of each client.
    transfer: The rows of evaluation/transfer.csv for any round.
  """

  about: Mapping[str, Any]
  rounds: pd.DataFrame
  clients: pd.DataFrame
  transfer: pd.DataFrame
  own_clients: pd.DataFrame = dataclasses.field(default_factory=pd.DataFrame)


def read_run(workdir: str | os.PathLike[str]) -> Run:
  """Reads a run's workdir, up to its last whole row, of which it must have one.

  An evaluation of another round than that of the run's model, usually the last
  row, is left out with a warning.
  """
  folder = simulation.Workdir(pathlib.Path(workdir))
  config = read_config(workdir)
  folder.check_files()
  about = describe_run(folder, config, folder.read_summary(SUMMARY))
  rounds = read_rounds(folder, about['diverged_round'])
  if rounds.empty:
    raise errors.InputError(f'{folder.metrics_path} holds no round yet.')
  of_round = about['model_round']
  if of_round is None:
    of_round = rounds.index[-1]
  tables = {
    name: _read_current_clients(folder.path / path, of_round)
    for name, path in (
      ('clients', CLIENTS_CSV),
      ('own_clients', OWN_CLIENTS_CSV),
    )
  }
  scores = _read_scores(folder.path)
  if is_diverged(about['diverged_round'], of_round):
    # A diverged model is no result, whatever its clients score.
    tables = {name: table + math.inf for name, table in tables.items()}
    statistics = ['mean', 'low', 'high', 'all_tokens']
    scores[statistics] = scores[statistics].astype(float) + math.inf
  return Run(about=about, rounds=rounds, transfer=scores, **tables)


def read_rounds(
  folder: simulation.Workdir, diverged_round: int | None = None
) -> pd.DataFrame:
  """Returns the whole rows of metrics.csv, float64, indexed by round.

  Args:
    folder: The run's workdir.
    diverged_round: The first round of which all numbers count as infinite; None
      for a run that has not diverged.
  """
  rows = metrics_rows.read_rows(folder.metrics_path)
  return pd.DataFrame(
    [
      _mark_diverged(row, diverged=is_diverged(diverged_round, row['round']))
      for row in rows
    ],
    index=pd.Index([row['round'] for row in rows], name='round'),
    dtype=float,
  )


def describe_run(
  folder: simulation.Workdir,
  config: Mapping[str, Any],
  summary: Mapping[str, Any],
  *,
  method: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
  """Returns a row of the frame of runs.

  Args:
    folder: The run's workdir.
    config: The config, as nested mappings.
    summary: The content of summary.json; empty unless the run is finished.
    method: The notes on the method of a run that has not begun; None if they
      are unknown, so that its title is its name.

  Returns:
    `workdir`; `run`, its name; `seed`; `config`; `fields`, the config by dotted
    names; `algorithm`; `task`, its title, which describes synthetic data;
    `synthetic`, that description alone; `is_finished`; `status`, finished,
    stopped early, diverged or unfinished; `diverged_round`, None for a run that
    has not diverged; `model_round`, None for an unfinished run; `length`, the
    number of rounds of the finished run, as far as known; the notes of
    `experiment.describe_run`; and the numbers of summary.json for the run's model:
    `validation/global/<metric>`, `test/global/<metric>`, `csb/<metric>`,
    `total/local_steps` and so on.
  """
  # An unfinished run has its label in data.json.
  data = folder.read_data({'label': (_LABEL, None)})
  algorithm, task = config['algorithm']['name'], config['task']['name']
  label = _NO_LABEL | (
    summary.get('label') or data.get('label') or method or {'title': algorithm}
  )
  synthetic = data.get('synthetic')
  final = summary.get('final', {})
  if has_diverged_model(summary):
    # A run that ends since it diverged is not evaluated at its end.
    final = {f'eval/{label["judged_by"]}/{label["metric"]}': None, **final}
  blocks = {
    '': final,
    'test/': summary.get('test', {}),
    'total/': summary.get('totals', {}),
  }
  return {
    'workdir': folder.path,
    'run': folder.path.name,
    'seed': config['seed'],
    'config': config,
    'fields': json_config.flatten(config),
    'algorithm': algorithm,
    'synthetic': synthetic,
    'is_finished': bool(summary),
    'status': summary['status'] if summary else 'unfinished',
    'diverged_round': diverged_round(summary),
    'model_round': summary.get('model_round'),
    'length': summary.get('rounds') or config['rounds'],
    # Further names in an untrusted label must not replace the values above.
    **{name: label[name] for name in _LABEL},
    # A function's place, as in config.json, is no name for people.
    'task': label['task']
    or (f'{synthetic}, task {task}' if synthetic else task),
    **_mark_diverged(
      {
        (prefix + name).replace('eval/', 'validation/', 1): value
        for prefix, block in blocks.items()
        for name, value in block.items()
        if '/' in prefix + name
      },
      diverged=has_diverged_model(summary),
    ),
  }


def _mark_diverged(
  row: Mapping[str, Any], *, diverged: bool = False
) -> dict[str, Any]:
  """Returns a row with infinity for non-finite values (null in JSON).

  Args:
    row: The numbers of a row by column.
    diverged: Whether the model has diverged. Then all values are infinite, since
      the scores of a model that training has left as it was are no result.
  """
  return {
    name: math.inf
    if value is None or not math.isfinite(value) or (diverged and '/' in name)
    else value
    for name, value in row.items()
  }


def diverged_round(summary: Mapping[str, Any]) -> int | None:
  """Returns the round in which a finished run has diverged; None if it has not."""
  return (summary.get('diverged') or {}).get('round')


def is_diverged(first: int | None, round_number: int) -> bool:
  """Returns whether a round's model is one of training that has diverged.

  Args:
    first: The first diverged round; None for a run that has not diverged.
    round_number: The model's round.
  """
  return first is not None and round_number >= first


def has_diverged_model(summary: Mapping[str, Any]) -> bool:
  """Returns whether a finished run's model is of a diverged round.

  The best one may be of an earlier round, which is a result.
  """
  first = diverged_round(summary)
  return first is not None and is_diverged(first, summary['model_round'])


def read_config(workdir: str | os.PathLike[str]) -> dict[str, Any]:
  """Reads the part of a workdir's config.json in `CONFIG`."""
  path = pathlib.Path(workdir) / 'config.json'
  if not path.parent.is_dir():
    raise errors.InputError(f'There is no workdir {workdir}.')
  try:
    return regular_files.read_json(path, CONFIG)
  except regular_files.MissingFileError as error:
    # The folder of a sweep, or one of several workdirs.
    below = [*path.parent.glob('*/config.json')]
    below += path.parent.glob('runs/*/config.json')
    there = ''
    if below:
      there = f' Workdirs are below it, such as {min(below).parent}.'
    raise errors.InputError(
      f'{workdir} is not a workdir, since there is no {path}.{there}'
    ) from error


def _read_current_clients(path: pathlib.Path, of_round: int) -> pd.DataFrame:
  """Returns the clients of a table of the run's model; empty without them."""
  try:
    found, clients = read_clients(path)
  except regular_files.MissingFileError:
    return pd.DataFrame()
  if found == of_round:
    return clients
  logging.warning(
    "The table %s is of round %s, the run's model is that of round %s: "
    'it is not used; run launch.evaluate again.',
    path,
    found,
    of_round,
  )
  return pd.DataFrame()


def read_clients(
  path: str | os.PathLike[str],
) -> tuple[int | None, pd.DataFrame]:
  """Reads a clients.csv, which has one row per client.

  Args:
    path: The file, with the columns `client_id`, `round` and `split`, and
      further columns of numbers.

  Returns:
    The round of the evaluated model, None for a table without clients; and the
    numbers, float64, indexed by client.
  """
  clients = checked_tables.read_frame(path, _CLIENTS_HEAD)
  rounds = clients['round'].tolist()
  clients = clients.set_index(clients.pop('client_id').rename('client'))
  numbers = clients.drop(columns=['round', 'split'])
  return rounds[-1] if rounds else None, numbers.astype(float)


def _read_scores(workdir: pathlib.Path) -> pd.DataFrame:
  """Returns the rows of transfer.csv; empty without the file."""
  types = typing.get_type_hints(TransferScore)
  columns = {n: None if kind is float else kind for n, kind in types.items()}
  try:
    return checked_tables.read_frame(workdir / TRANSFER_CSV, columns)[
      list(columns)
    ]
  except regular_files.MissingFileError:
    return pd.DataFrame(columns=list(columns))
