# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Collects the raw tables of the comparison from the folders of its sweeps.

  python -m research.equal_terms.collect --output_dir=docs/results \
    --sweep_dirs=runs/equal_terms/digits_averages,runs/equal_terms/digits_clocks

writes equal_terms_runs.csv, a row for each run that judges, and
equal_terms_rounds.csv, a row for each of their evaluations. report.py makes
tables and figures of both. A sweep with an unfinished run is refused. With
--extend, rows of methods that no given sweep has are kept, so that a method or
a task joins published tables whose sweeps are gone.

A run is of the question personal if a fine-tuned model judges it, else of the
question global. `score` is the accuracy that judges: for global, on test
clients; for personal, of clients' fine-tuned models on training clients' own
test data. In equal_terms_rounds.csv it is, for global, on validation clients.
`fine_tuning_rates` are the candidates for the rate of fine-tuning, empty where
it is not chosen.
`task` has the concentration of clients' labels beside the name, since each is a
task of its own: `cifar10_dirichlet, alpha 0.1`, `ag_news, beta 0.25`.
"""

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import os
from typing import Any

from fedfish_tff import errors
from fedfish_tff import simulation
from launch import cli
from launch import path_flags
from launch.methods import config_fields
from launch.results import run_labels
from launch.results import sweep_folder
from launch.results import sweep_results
from launch.results import text_table
from research.equal_terms import budget

from absl import flags
import numpy as np
import pandas as pd

_KEYS = ['task', 'question', 'method', 'seed']
_TOTALS = {
  'bytes': 'total/wire_bytes',
  'steps': 'total/local_steps',
  'seconds': 'total/simulated_seconds',
}
_SO_FAR = {
  'bytes': 'communication/wire_bytes_total',
  'steps': 'compute/local_steps_total',
  'seconds': 'simulated/seconds',
}
_SCORES = ('score', 'worst_tenth', 'client_std', 'new_clients', 'one_model')
_OWN = 'own_fine_tuned'
# The options of tasks, of which one has one at most.
_CONCENTRATIONS = ('alpha', 'beta')
# The task decides it for all methods.
_SAME_FOR_ALL = ('max_examples_per_client',)

_SWEEP_DIRS = path_flags.define_list(
  'sweep_dirs', 'The folders of finished sweeps, separated by commas.'
)
_OUTPUT_DIR = path_flags.define(
  'output_dir', None, 'The folder for the tables; made if it does not exist.'
)
_EXTEND = flags.DEFINE_bool(
  'extend', False, 'Keep the rows of other methods in the tables of output_dir.'
)


def read_sweep(
  path: str | os.PathLike[str],
) -> tuple[pd.DataFrame, pd.DataFrame]:
  """Returns the runs and the evaluations of a finished sweep.

  Each run must have the score that its question asks for.

  Returns:
    The rows of equal_terms_runs.csv and of equal_terms_rounds.csv. A score that
    has diverged is NaN.
  """
  folder = sweep_folder.SweepFolder(path)
  results, planned = sweep_results.read_results(folder), folder.read_runs()
  tuned = _read_tuned(folder)
  todo = results['run'][~results['is_finished'].astype(bool)]
  if len(todo):
    raise errors.InputError(
      f'{path} must be a finished sweep, got {len(todo)} of {len(results)} runs '
      f'without a result, such as {todo.iloc[0]}.'
    )
  frames = sweep_results.to_frames(results, with_rounds=True)
  runs, rounds = [], []
  for index, run in frames.runs.iterrows():
    if run.judged_by == 'personalized':
      raise errors.InputError(
        f'The personal question must have a task with own test data, got run '
        f'{run.run} of {path}, whose clients have none.'
      )
    personal = run.judged_by.endswith('fine_tuned')
    own = f'{_OWN if personal else run.judged_by}/{run.metric}'
    last = f'validation/{own}' if personal else f'test/{own}'
    if run.status != 'diverged' and pd.isna(run.get(last)):
      raise errors.InputError(
        f'Run {run.run} of {path} must have the score {last}, got none.'
      )
    key = {
      'task': _name_task(run),
      'question': budget.QUESTIONS[personal],
      'method': run_labels.title_without(
        run.title, run.deviations, _SAME_FOR_ALL
      ),
      'seed': run.seed,
    }
    runs.append(
      {
        **key,
        'variant': run.variant,
        'status': run.status,
        'settings': _tell(
          planned[run.run]['fields'], tuned.get(run.variant, {})
        ),
        'score': run.get(last),
        'worst_tenth': run.get(f'{last}_worst_tenth'),
        'client_std': run.get(f'{last}_client_std'),
        'new_clients': run.get(f'test/{run.judged_by}/{run.metric}'),
        'one_model': run.get(f'test/new_global/{run.metric}'),
        'fine_tuning_rates': ', '.join(
          map(
            sweep_results.format_value,
            run.fields.get(config_fields.FINE_TUNING_RATES) or (),
          )
        ),
        **{name: run.get(column) for name, column in _TOTALS.items()},
      }
    )
    found = frames.rounds.loc[index].reindex(
      columns=[f'eval/{own}', *_SO_FAR.values()]
    )
    found = found.set_axis(['score', *_SO_FAR], axis=1).dropna(subset='score')
    rounds.append(found.reset_index().assign(**key))
  columns = [*_KEYS, 'round', 'score', *_SO_FAR]
  return (
    pd.DataFrame(runs)
    .astype(dict.fromkeys((*_SCORES, *_TOTALS), float))
    .replace(np.inf, np.nan),
    pd.concat(rounds)[columns].replace(np.inf, np.nan),
  )


def _name_task(run: pd.Series) -> str:
  """Returns the name of a run's task, with the concentration of its labels."""
  parts = [run.task]
  for name in _CONCENTRATIONS:
    value = run.fields.get(f'task.{name}')
    if value is not None:
      parts.append(f'{name} {sweep_results.format_value(value)}')
  return ', '.join(parts)


def _read_tuned(
  folder: sweep_folder.SweepFolder,
) -> dict[str, dict[str, list[Any]]]:
  """Returns the tried values of each tuned field, by variant."""
  tuning = sweep_folder.SweepFolder(folder.tuning_path)
  tried: dict[str, dict[str, list[Any]]] = {}
  for run in tuning.read_runs().values() if tuning.path.exists() else ():
    of = tried.setdefault(run['variant'], {})
    for field, value in run['fields'].items():
      values = of.setdefault(field, [])
      if value not in values:
        values.append(value)
  return {
    variant: {f: v for f, v in of.items() if len(v) > 1 and f != 'seed'}
    for variant, of in tried.items()
  }


def _tell(fields: Mapping[str, Any], tried: Mapping[str, Sequence[Any]]) -> str:
  """Returns the chosen values: 'client_learning_rate 0.1; ...'.

  Args:
    fields: The values of all fields.
    tried: The tried values of each tuned field. An end of three or more
      numbers is marked '(edge)'; of two, each is one.
  """
  return '; '.join(
    f'{field.rpartition(".")[2]} {sweep_results.format_value(fields[field])}'
    + (
      ' (edge)'
      if len(values) > 2
      and all(map(sweep_results.is_number, values))
      and fields[field] in (min(values), max(values))
      else ''
    )
    for field, values in tried.items()
  )


def collect(
  paths: Iterable[str | os.PathLike[str]],
) -> tuple[pd.DataFrame, pd.DataFrame]:
  """Returns what `read_sweep` does of several sweeps, without equal runs."""
  runs, rounds = map(pd.concat, zip(*map(read_sweep, paths)))
  twice = runs[runs.duplicated(_KEYS)]
  if len(twice):
    raise errors.InputError(
      'Each method must be in one sweep of a question, got '
      f'{", ".join(map(str, twice.iloc[0][_KEYS]))} twice.'
    )
  return runs.reset_index(drop=True), rounds.reset_index(drop=True)


def extend(
  old: tuple[pd.DataFrame, pd.DataFrame], new: tuple[pd.DataFrame, pd.DataFrame]
) -> tuple[pd.DataFrame, pd.DataFrame]:
  """Returns the new rows of both tables after the old ones of other methods.

  A method is told by its variant within a task and a question, since its name
  has tuned values.
  """
  variant, method = [*_KEYS[:2], 'variant'], _KEYS[:3]
  replaced = pd.MultiIndex.from_frame(old[0][variant]).isin(
    pd.MultiIndex.from_frame(new[0][variant])
  )
  names = pd.MultiIndex.from_frame(old[0][replaced][method])
  runs, rounds = (
    pd.concat(
      [before[~pd.MultiIndex.from_frame(before[method]).isin(names)], after],
      ignore_index=True,
    )
    for before, after in zip(old, new)
  )
  return runs, rounds


def main(argv: Sequence[str]) -> None:
  """Runs the binary."""
  cli.check_no_arguments(argv)
  cli.check_given(_SWEEP_DIRS, _OUTPUT_DIR)
  tables = collect(_SWEEP_DIRS.value)
  folder = simulation.make_folder(_OUTPUT_DIR.value)
  paths = [folder / f'equal_terms_{name}.csv' for name in ('runs', 'rounds')]
  if _EXTEND.value:
    tables = extend(tuple(map(pd.read_csv, paths)), tables)
  for path, table in zip(paths, tables):
    simulation.write_atomically(path, text_table.frame_to_csv(table))
    print(f'{path}: {len(table)} rows')


if __name__ == '__main__':
  cli.run(main)
