# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The results of a sweep, by run and over seeds.

Validation clients decide which is best. This is plain Python, without
TensorFlow.
"""

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import math
from typing import Any

from fedfish_tff import simulation
from fedfish_tff.evaluation import ranking
from launch.results import column_titles
from launch.results import frames as frames_lib
from launch.results import method_comparison
from launch.results import run_labels
from launch.results import run_notes
from launch.results import run_reader
from launch.results import sweep_folder
from launch.results import text_table

import numpy as np
import pandas as pd

_SEED = 'seed'
# Tuned comparisons set this field for the methods that can choose.
_CANDIDATES = 'evaluation.personalization_learning_rates'


def read_results(folder: sweep_folder.SweepFolder) -> pd.DataFrame:
  """Returns the runs of a sweep, with values for the finished ones.

  There is a row for each run: that of `run_reader.describe_run`; its `variant`;
  `varied`, the values of the fields in which runs differ, by dotted name;
  `group`, a number from 0 that runs share if they differ only in their seed;
  `tuned`, the fields whose best values are chosen; and `notes`, sentences for
  the table.
  """
  planned = folder.read_runs()
  rows = []
  for name, run in planned.items():
    workdir = simulation.Workdir(folder.workdir(name))
    summary = folder.read_summary(name, run['config']) or {}
    rows.append(
      run_reader.describe_run(
        workdir, run['config'], summary, method=run['method']
      )
    )
    rows[-1]['variant'] = run['variant']
  # A run notes the title of its task when it begins.
  begun = [row for row in rows if row['metric']]
  tasks = {row['config']['task']['name']: row['task'] for row in begun}
  for row in rows:
    row['task'] = tasks.get(row['config']['task']['name'], row['task'])
  names = dict.fromkeys(f for run in planned.values() for f in run['fields'])
  varied = [
    name
    for name in names
    if len({repr(row['fields'].get(name)) for row in rows}) > 1
    and not (name == _CANDIDATES and _follows_variant(rows, name))
  ]
  for row in rows:
    row['varied'] = {f: row['fields'][f] for f in varied if f in row['fields']}
    row['group'] = repr((row['variant'], _without(row['varied'], _SEED)))
    row['tuned'], row['notes'] = folder.read_tuned(), folder.read_notes()
  runs = pd.DataFrame(rows, dtype=object)
  return runs.assign(group=pd.factorize(runs['group'])[0])


def _follows_variant(rows: Sequence[Mapping[str, Any]], field: str) -> bool:
  """Returns whether runs of one variant agree in a field."""
  found = {(row['variant'], repr(row['fields'].get(field))) for row in rows}
  return len(found) == len({row['variant'] for row in rows})


def to_frames(
  runs: pd.DataFrame, *, with_rounds: bool = False
) -> frames_lib.Frames:
  """Returns the runs of `read_results` as labelled frames.

  `with_rounds` also reads the rounds of the finished runs.
  """
  names = tabulate(runs)['name']
  found = {}
  if with_rounds:
    finished = runs[runs['is_finished'].astype(bool)]
    found = {
      run: run_reader.read_rounds(simulation.Workdir(workdir), diverged)
      for run, workdir, diverged in zip(
        finished.index, finished['workdir'], finished['diverged_round']
      )
    }
  return frames_lib.Frames(
    runs.assign(label=runs['group'].map(names)),
    rounds=frames_lib.stack(found, 'round'),
    clients=frames_lib.stack({}, 'client'),
    transfer=frames_lib.stack({}, 'row').droplevel('row'),
    own_clients=frames_lib.stack({}, 'client'),
  )


def _without(values: Mapping[str, Any], *names: str) -> dict[str, Any]:
  return {name: v for name, v in values.items() if name not in names}


def judged(runs: pd.DataFrame) -> pd.Series:
  """Returns the first run with a known metric, or else the first run."""
  known = runs[runs['metric'].notna()]
  return (known if len(known) else runs).iloc[0]


def tabulate(runs: pd.DataFrame, metric: str | None = None) -> pd.DataFrame:
  """Returns a row for each group of runs that differ only in their seed.

  Args:
    runs: The runs of a sweep.
    metric: The metric that decides, on validation and never on test clients;
      None for the task's.

  Returns:
    For each group the `variant`; `method`, its label, as in figures; `varied`,
    the values of the fields in which groups differ; `tuned`, those of them that
    are tuned, such as learning rates; `setting`, the variant and the other
    values; `name`, the setting for people;
    `config`, that of a run; `task`, its key; `runs`, `finished` and `results`,
    the numbers of runs, of finished ones and of finite results;
    `column`, the column that decides, such as `validation/global/accuracy`;
    `is_result`, whether the method promises the model that it scores;
    `validation`, its mean over seeds after the last round, NaN unless all have
    finished and none has diverged; `higher_is_better`; and `is_best`, whether
    the group is the best of its setting, the first on a tie.
  """
  rows = []
  for _, group in runs.groupby('group', sort=False):
    first, run = group.iloc[0], judged(group)
    if run.metric is None:
      run = judged(runs)
    column = f'validation/{run.judged_by}/{metric or run.metric}'
    decides = group.reindex(columns=[column])[column].astype(float)
    varied = _without(first.varied, _SEED)
    rows.append(
      {
        'variant': first.variant,
        'varied': varied,
        'tuned': {f: v for f, v in varied.items() if f in first.tuned},
        'setting': {
          'variant': first.variant,
          **_without(varied, *first.tuned),
        },
        'config': first.config,
        'task': method_comparison.task_key(first),
        'runs': len(group),
        'finished': int(group['is_finished'].sum()),
        'results': int(np.isfinite(decides).sum()),
        'column': column,
        'is_result': method_comparison.is_result(judged(group), column),
        'validation': decides.mean()
        if np.isfinite(decides).all()
        else math.nan,
        'higher_is_better': frames_lib.higher_is_better(group, column),
      }
    )
  firsts = pd.DataFrame([judged(of) for _, of in runs.groupby('group')])
  table = pd.DataFrame(rows)
  for column, told in (('method', 'varied'), ('name', 'tuned')):
    # Columns of their own, or the words on the tuning, tell these fields.
    table[column] = run_labels.label_methods(
      firsts, besides=_names(table[told])
    )
  best = [
    ranking.select_best(
      of['validation'].to_dict(),
      higher_is_better=bool(of['higher_is_better'].iloc[0]),
    )
    for _, of in table.groupby(table['setting'].map(repr))
  ]
  chosen = [found.best for found in best if found is not None]
  return table.assign(is_best=table.index.isin(chosen))


def tell_edges(table: pd.DataFrame) -> list[str]:
  """Returns a warning if best values are at the edge of their grids.

  `table` is the result of `tabulate`.
  """
  found = []
  for name, of in table.groupby('name', sort=False):
    for field in _names(of['tuned']):
      values = of['tuned'].str.get(field).dropna()
      if not values.map(is_number).all():
        continue
      ends = values.min(), values.max()
      at_edge = values[
        of['is_best'][values.index]
        & values.isin(ends if ends[0] < ends[1] else ())
      ]
      found += [f'{field} {value:g} of {name}' for value in at_edge]
  told = (
    'The best value is at the edge of its grid, so a wider grid may hold a better '
    'one'
  )
  return [f'{told}: {"; ".join(found)}.'] if found else []


def is_number(value: Any) -> bool:
  """Returns whether a value of a field is a number, and no boolean."""
  return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_tuned(runs: pd.DataFrame) -> bool:
  """Returns whether some groups differ only in tuned fields."""
  settings = {
    repr((variant, _without(varied, _SEED, *tuned)))
    for variant, varied, tuned in zip(
      runs['variant'], runs['varied'], runs['tuned']
    )
  }
  return len(settings) < runs['group'].nunique()


def tell_groups(runs: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
  """Returns the columns at the left of the table for people, and its notes.

  If groups differ in tuned fields, it only has those that are best on validation
  clients; the others are in table.csv.

  Args:
    runs: The runs of a sweep.

  Returns:
    The method and the fields that vary, by group; and the sentences.
  """
  table = tabulate(runs)
  tuned = is_tuned(runs)
  shown = table[table['is_best']] if tuned else table
  fields = _names(table['varied'])
  diverged = (runs['status'] == 'diverged').sum()
  done = text_table.tell_done(table['finished'].sum(), len(runs), diverged)
  notes = [f'{done}.{_tell_model(runs)}']
  begun = runs[runs['metric'].notna()]
  decide = map(column_titles.judges, begun['judged_by'], begun['metric'])
  if len(begun):
    notes.append(f'Judged by {" or ".join(dict.fromkeys(decide))}.')
  synthetic = dict.fromkeys(runs['synthetic'].dropna())
  if synthetic:
    notes.append(f'The data are synthetic: {", ".join(synthetic)}.')
  if tuned and len(shown):
    words = ' and '.join(run_labels.shorten_fields(_names(table['tuned'])))
    notes.append(
      f'Of each {words}, the best on validation clients is shown. table.csv has '
      'all.'
    )
  if tuned:
    notes += tell_without_best(table) + tell_edges(table)
  notes += runs['notes'].iloc[0]
  told = {'Method': shown['method']}
  for field, head in zip(fields, run_labels.shorten_fields(fields)):
    head = head[:1].upper() + head[1:]
    # Such as an option of a task with the name method.
    told[field if head in told else head] = _format_values(
      [varied.get(field, '') for varied in shown['varied']]
    )
  return pd.DataFrame(told).rename_axis('group'), notes


def _tell_model(runs: pd.DataFrame) -> str:
  """Returns ' Results are those after the last round.', if there are any."""
  finished = runs[runs['is_finished'].astype(bool)]
  if finished.empty:
    return ''
  is_last = finished['model_round'] == finished['config'].str['rounds']
  # A diverged model is no result.
  diverged = finished['model_round'] >= finished['diverged_round'].astype(float)
  if (is_last | diverged).all():
    return ' Results are those after the last round.'
  return " Results are those of each run's model."


def describe_groups(runs: pd.DataFrame) -> pd.DataFrame:
  """Returns the columns at the left of the table for programs, by group.

  The column `best` marks, among groups that differ only in tuned fields, the
  one that is best on validation clients. If these do not vary, it marks the
  best of all groups of a task, with ties.
  """
  table = tabulate(runs)
  best = table.index[table['is_best']] if is_tuned(runs) else _best_rows(table)
  return pd.DataFrame(
    {
      'variant': table['variant'],
      'method': table['method'],
      **{
        field: table['varied'].map(lambda of, field=field: of.get(field, ''))
        for field in _names(table['varied'])
      },
      'best': np.where(table.index.isin(best), 'yes', ''),
      'runs': table['runs'],
      'finished': table['finished'],
    }
  ).rename_axis('group')


def tell_without_best(table: pd.DataFrame) -> list[str]:
  """Returns lines that name settings and values without a part in the choice.

  `table` is the result of `tabulate`.
  """
  keys = table['setting'].map(repr)
  has_best = keys.isin(keys[table['is_best']])
  absent = [
    f'{name} ({of["results"].sum()} of '
    f'{text_table.count(of["runs"].sum(), "run")} with results)'
    for name, of in table[~has_best].groupby('name', sort=False)
  ]
  out = table[has_best & table['validation'].isna()]
  is_finished = out['finished'] == out['runs']
  found = {
    'Not shown, since no value has all its seeds finished and finite': absent,
    'Not chosen from, since a run has diverged': _list_settings(
      out[is_finished]
    ),
    'Not chosen from, since a run is not finished': _list_settings(
      out[~is_finished]
    ),
  }
  return [f'{words}: {"; ".join(of)}.' for words, of in found.items() if of]


def tell_unfinished(
  runs: pd.DataFrame, names: Mapping[str, str] | None = None
) -> str:
  """Returns a note on the runs that are not finished, '' without any.

  Args:
    runs: The runs of a sweep.
    names: The names that replace labels of methods, as for `frames.read`.
  """
  labels = runs['group'].map(tabulate(runs)['name'])
  labels = labels.map(lambda label: frames_lib.rename(label, names or {}))
  return run_notes.tell_unfinished(
    runs.assign(label=labels), 'label', ' of the sweep'
  )


def _list_settings(table: pd.DataFrame) -> list[str]:
  """Returns the values of tuned fields of each method."""
  return [
    f'{_list_values(of)} of {name}'
    for name, of in table.groupby('name', sort=False)['tuned']
  ]


def _list_values(tuned: Iterable[Mapping[str, Any]]) -> str:
  """Returns the values of tuned fields, those of a single field after its name."""
  if {len(of) for of in tuned} == {1} and len(_names(tuned)) == 1:
    (field,) = _names(tuned)
    return f'{field} {", ".join(format_value(of[field]) for of in tuned)}'
  return ', '.join(
    ' and '.join(
      f'{field} {format_value(value)}' for field, value in of.items()
    )
    for of in tuned
  )


def _best_rows(table: pd.DataFrame) -> list[int]:
  """Returns the index of each task's best groups, with those that tie."""
  found = []
  compared = table[table['validation'].notna() & table['is_result']]
  for _, of in compared.groupby('task'):
    # Groups that are judged by different columns do not compare.
    if len(of) < 2 or of['column'].nunique() > 1:
      continue
    direction = {'higher_is_better': bool(of['higher_is_better'].iloc[0])}
    values = of['validation']
    best = ranking.select_best(values.to_dict(), **direction).best
    gains = ranking.gains(values, values[best], **direction)
    found += list(values.index[gains >= 0])
  return found


def format_value(value: Any) -> str:
  """Returns the value of a field as text, a number with its shortest digits."""
  return f'{value:g}' if isinstance(value, float) else str(value)


def _format_values(values: Sequence[Any]) -> list[str]:
  """Returns values of one field as texts, different ones for different values."""
  texts = list(map(format_value, values))
  if len(set(texts)) < len(set(map(repr, values))):
    return list(map(str, values))
  return texts


def _names(mappings: Iterable[Mapping[str, Any]]) -> list[str]:
  return list(dict.fromkeys(name for mapping in mappings for name in mapping))
