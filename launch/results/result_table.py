# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The table of results: a row per method, its numbers over seeds.

The runs of a sweep make the same table as any other workdirs: a sweep is a
number of workdirs and the fields that vary, which have columns of their own.
"""

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import math

from fedfish_tff import errors
from fedfish_tff.evaluation import metric_names
from fedfish_tff.evaluation import ranking
from launch.results import column_titles
from launch.results import frames as frames_lib
from launch.results import method_comparison
from launch.results import run_labels
from launch.results import run_notes
from launch.results import seed_table
from launch.results import sweep_results
from launch.results import text_table

import numpy as np
import pandas as pd

# A column of the table: a column of metrics.csv or a number of summary.json, and
# the rounds that it is of.
Key = seed_table.Key

# The last evaluation of a trained model up to which a run has sent no more than
# the run with the smallest total sends in all its rounds.
EQUAL_BYTES = 'last within equal bytes'
# The first round after training began at which the metric has a value that all
# runs reach.
UNTIL = 'until'
MEGABYTES = 'MB sent, both ways'
SECONDS = 'simulated/seconds'
# The ends of --columns, after a colon, by the rounds that they are of.
ROUNDS = {
  'mean': method_comparison.ALL_ROUNDS,
  'equal_bytes': EQUAL_BYTES,
  'until': UNTIL,
}
_BYTES = 'communication/wire_bytes_total'
_TOTAL_BYTES = 'total/wire_bytes'
# The short names of columns; the last is completed by the metric.
_SHORT = {'bytes': MEGABYTES, 'seconds': SECONDS, 'csb': 'csb/'}
# The heads of columns that are costs.
_COSTS = {MEGABYTES: MEGABYTES, SECONDS: 'Simulated seconds'}
# The numbers of held-out clients and barriers in the frame of runs.
_KINDS = ('validation/', 'test/', 'csb/')
# The first of these that runs have on test clients is in the usual table.
_PERSONALIZED = ('new_fine_tuned', 'own_fine_tuned', 'personalized')
_INDEX = ['group', 'metric', 'rounds', 'seed']


def parse_columns(
  frames: frames_lib.Frames,
  names: Sequence[str] | None,
  metric: str | None = None,
) -> list[Key]:
  """Returns the columns that --columns names.

  Args:
    frames: The runs.
    names: The columns of metrics.csv, at the last round, and the numbers of
      summary.json, such as `'test/global/accuracy'`; `'bytes'` for the
      megabytes sent, `'seconds'` for simulated seconds, `'csb'` for the barrier
      in the metric. A name may end with a colon and one of `ROUNDS`. None for
      `usual_columns`.
    metric: The column that decides; None for the usual one.
  """
  if names is None:
    return usual_columns(frames, metric)
  check_columns(names)
  _, name = _judges(frames.runs, metric)[0]
  short = {**_SHORT, 'csb': f'csb/{name}'}
  keys = []
  for text in names:
    column, colon, end = text.partition(':')
    which = ROUNDS[end] if colon else method_comparison.LAST_ROUND
    keys.append((short.get(column, column), which))
    there = [*frames.rounds, *_numbers(frames)]
    if keys[-1][0] not in (*there, *[MEGABYTES] * bool(len(_sent(frames)))):
      raise errors.InputError(
        '--columns must name columns of metrics.csv that a run has, or numbers '
        f'of summary.json, got {text!r}.{errors.suggest(column, [*short, *there])}'
      )
  return list(dict.fromkeys(keys))


def check_columns(names: Sequence[str]) -> None:
  """Checks what --columns names as far as that is known before any run.

  The names are those of `parse_columns`, at least one.
  """
  if not names:
    raise errors.InputError('--columns must name one column at least.')
  for text in names:
    column, colon, end = text.partition(':')
    if colon and end not in ROUNDS:
      raise errors.InputError(
        f'The end of a name in --columns must be one of {", ".join(ROUNDS)}, '
        f'got {text!r}.{errors.suggest(end, ROUNDS)}'
      )
    kind, _, rest = column.partition('/')
    group, slash, _ = rest.partition('/')
    if (
      kind in ('eval', 'test', 'validation')
      and slash
      and group not in column_titles.MODELS
    ):
      raise errors.InputError(
        'The second part of a name in --columns must be one of '
        f'{", ".join(column_titles.MODELS)}, got {text!r}.'
        f'{errors.suggest(group, column_titles.MODELS)}'
      )


def usual_columns(
  frames: frames_lib.Frames, metric: str | None = None
) -> list[Key]:
  """Returns the columns of the table if --columns names none.

  Args:
    frames: The runs.
    metric: The column of metrics.csv that decides; None for the scores that
      judge the runs.

  Returns:
    On test clients, each score that judges a run, its worst tenth and the
    personalised score, as far as runs have them. If none has, the scores on
    validation clients at the last round.
  """
  last, there = method_comparison.LAST_ROUND, set(_numbers(frames))
  if metric is not None and not metric.startswith('eval/'):
    return [(metric, last)]
  judges = _judges(frames.runs, metric)
  wanted = []
  for group, name in judges:
    wanted += [f'test/{group}/{name}', f'test/{group}/{name}_worst_tenth']
  for name in dict.fromkeys(name for _, name in judges):
    tuned = [f'test/{group}/{name}' for group in _PERSONALIZED]
    wanted += [column for column in tuned if column in there][:1]
  found = [(c, last) for c in dict.fromkeys(wanted) if c in there]
  return found or [(f'eval/{group}/{name}', last) for group, name in judges]


def all_columns(
  frames: frames_lib.Frames, metric: str | None = None
) -> list[Key]:
  """Returns the columns of the CSV file, which is for programs.

  Args:
    frames: The runs.
    metric: The column of metrics.csv that decides; None for the usual ones.
  """
  last, mean = method_comparison.LAST_ROUND, method_comparison.ALL_ROUNDS
  judges = _judges(frames.runs, metric)
  columns = [metric] if metric else [f'eval/{g}/{name}' for g, name in judges]
  keys = [(c, which) for c in columns for which in (last, mean, EQUAL_BYTES)]
  for name in dict.fromkeys(name for _, name in judges):
    keys += [(f'eval/personalized/{name}', last)]
    keys += [(f'csb/{name}', last), (f'csb/{name}', mean)]
  keys += [
    (column, last)
    for column in _numbers(frames)
    if column.startswith(_KINDS) and _is_score(column)
  ]
  keys += [(MEGABYTES, last), (SECONDS, last), (SECONDS, UNTIL)]
  return list(dict.fromkeys(keys))


def _judges(
  runs: pd.DataFrame, metric: str | None = None
) -> list[tuple[str, str]]:
  """Returns the groups of clients and the metrics that judge runs."""
  if metric is not None:
    *_, group, name = ['', *metric.split('/')]
    return [(group, name)]
  # A run that has not begun does not know its metric.
  known = runs[runs['metric'].notna()]
  pairs = zip(known['judged_by'], known['metric'])
  return list(dict.fromkeys(pairs)) or [('global', 'accuracy')]


def read_values(
  frames: frames_lib.Frames, keys: Iterable[Key], metric: str | None = None
) -> pd.Series:
  """Returns the results by group, metric, rounds and seed.

  Args:
    frames: The labelled runs; values of diverged runs are infinite, and
      unfinished runs have none.
    keys: The columns. The rounds `UNTIL` become 'until <metric> is <value>'.
    metric: The column that decides; None for the usual one.
  """
  frames = frames.finished()
  budget = _common_bytes(frames)
  found = {}
  for column, which in keys:
    if which == UNTIL:
      which, values = _until_common_value(frames, column, metric)
    else:
      values = _values(frames, column, which, budget)
    found[column, which] = values
  index = pd.MultiIndex.from_tuples(found, names=_INDEX[1:3])
  table = pd.DataFrame(found, frames.runs.index, index, dtype=float)
  table.index = pd.MultiIndex.from_frame(frames.runs[['group', 'seed']])
  # By group as given, each with its columns in the order above.
  groups = pd.Index(frames.runs['group'].unique())
  values = table.melt(ignore_index=False).dropna().reset_index()
  values = values.sort_values('group', key=groups.get_indexer, kind='stable')
  return values.set_index(_INDEX)['value']


def _values(
  frames: frames_lib.Frames, column: str, which: str, budget: float
) -> pd.Series:
  """Returns the existing values of a column by run."""
  if column == MEGABYTES:
    if which == method_comparison.LAST_ROUND:
      return _sent(frames) / 1e6
    return _values(frames, _BYTES, which, budget) / 1e6
  if column not in frames.rounds and column in _numbers(frames):
    if which == method_comparison.LAST_ROUND:
      return frames.runs[column].astype(float)
  if which == EQUAL_BYTES:
    values = _last_within(frames, column, budget)[column]
    return (
      values if math.isnan(budget) else _mark_diverged(frames, column, values)
    )
  values = frames.rounds.reindex(columns=[column])[column].dropna()
  diverged = method_comparison.find_diverged(frames.runs)
  return method_comparison.value_by_seed(values, which, diverged)


def _last_within(
  frames: frames_lib.Frames, column: str, budget: float
) -> pd.DataFrame:
  """Returns a column and the bytes at `EQUAL_BYTES`, by run that has them."""
  rows = frames.rounds.reindex(columns=list(dict.fromkeys([column, _BYTES])))
  rows = rows.dropna()
  return (
    rows[_is_trained(rows) & (rows[_BYTES] <= budget)].groupby('run').last()
  )


def _mark_diverged(
  frames: frames_lib.Frames, column: str, values: pd.Series
) -> pd.Series:
  """Returns values by run, infinite for diverged runs with the column."""
  there = frames.rounds.reindex(columns=[column])[column].dropna()
  diverged = there.index.unique('run').difference(_converged(frames))
  return pd.concat(
    [values.drop(diverged, errors='ignore'), pd.Series(math.inf, diverged)]
  )


def _converged(frames: frames_lib.Frames) -> pd.Index:
  """Returns the index of the runs that have not diverged."""
  return frames.runs.index[frames.runs['diverged_round'].isna()]


def _until_common_value(
  frames: frames_lib.Frames, column: str, metric: str | None
) -> tuple[str, pd.Series]:
  """Returns a column when the metric first has a value that all runs reach.

  Args:
    frames: The runs.
    column: The column, such as `SECONDS`.
    metric: The column that decides; None for the usual one.

  Returns:
    'until <metric> is <value>', and the values of the column by run. The common
    value is the worst of the best values of runs that have not diverged; the
    initial model does not count.
  """
  metric = metric or _judging_column(frames)
  source, unit = (_BYTES, 1e6) if column == MEGABYTES else (column, 1.0)
  value, reached = _reach_common_value(frames, source, metric)
  if math.isnan(value):
    return UNTIL, pd.Series(dtype=float)
  first = reached[_is_trained(reached)].groupby('run').first()
  which = f'{UNTIL} {metric} is {seed_table.format_number(value)}'
  return which, _mark_diverged(frames, source, first) / unit


def _reach_common_value(
  frames: frames_lib.Frames, source: str, metric: str
) -> tuple[float, pd.Series]:
  """Returns the value of a metric that all trained models reach, and where.

  Args:
    frames: The runs.
    source: A column of metrics.csv that runs must have, too.
    metric: The column of the value.

  Returns:
    The value, NaN if no run has both columns and a model that its method
    promises; and the other column by run and round at which the metric is as
    good, at the initial model, too.
  """
  counted = _converged(frames).intersection(_having_results(frames, metric))
  timed = frames.drawn(metric, source)
  timed = timed[timed.index.isin(counted, 'run')]
  bests = timed[metric][_is_trained(timed)].groupby('run')
  higher_is_better = frames_lib.higher_is_better(frames.runs, metric)
  value = bests.max().min() if higher_is_better else bests.min().max()
  worse = [
    ranking.is_better(value, other, higher_is_better=higher_is_better)
    for other in timed[metric]
  ]
  return float(value), timed[source][~np.array(worse, bool)]


def _judging_column(frames: frames_lib.Frames) -> str:
  """Returns the column of metrics.csv that decides if no other is named.

  Of several that judge runs, it is the first with results of all.
  """
  columns = [f'eval/{group}/{name}' for group, name in _judges(frames.runs)]
  of_all = [
    column
    for column in columns
    if len(frames.having(column).runs) == len(frames.runs)
    and len(_having_results(frames, column)) == len(frames.runs)
  ]
  return (of_all or columns)[0]


def _having_results(frames: frames_lib.Frames, column: str) -> pd.Index:
  """Returns the index of the runs of which a column is a result."""
  return frames.runs.index[
    [
      method_comparison.is_result(run, column)
      for _, run in frames.runs.iterrows()
    ]
  ]


def _is_trained(rows: pd.DataFrame | pd.Series) -> np.ndarray:
  """Returns whether rows by run and round are of models after training began.

  Round 0 is the initial model, for which nothing was done.
  """
  return rows.index.get_level_values('round') > 0


def _common_bytes(frames: frames_lib.Frames) -> float:
  """Returns the smallest total of bytes; NaN if all runs sent the same.

  Runs that have diverged may have sent less, and do not count.
  """
  totals = _known_totals(frames)
  return math.nan if _are_alike(totals) else totals.min()


def _known_totals(frames: frames_lib.Frames) -> pd.Series:
  """Returns the bytes of the runs that have not diverged; empty if one lacks."""
  converged = _converged(frames)
  totals = _sent(frames)
  totals = totals[totals.index.isin(converged)]
  return totals if len(totals) == len(converged) else totals[:0]


def _are_alike(totals: pd.Series) -> bool:
  return len(totals) > 0 and np.allclose(totals, totals.min())


def _rounds_differ(frames: frames_lib.Frames, column: str) -> bool:
  """Returns whether means over rounds with a column are of different rounds.

  Runs that have diverged have no such mean.
  """
  values = frames.rounds.reindex(columns=[column])[column].dropna()
  values = values[_is_trained(values)]
  values = values[values.index.isin(_converged(frames), 'run')]
  rounds = values.index.to_frame(index=False).groupby('run')['round']
  return rounds.agg(tuple).nunique() > 1


def _sent(frames: frames_lib.Frames) -> pd.Series:
  """Returns the bytes that each run has sent, as far as known."""
  if _BYTES in frames.rounds:
    return frames.rounds[_BYTES].dropna().groupby('run').last()
  return (
    frames.runs.reindex(columns=[_TOTAL_BYTES])[_TOTAL_BYTES]
    .astype(float)
    .dropna()
  )


def _numbers(frames: frames_lib.Frames) -> list[str]:
  """Returns the columns of the frame of runs that are of summary.json."""
  return [name for name in frames.runs if '/' in name]


def make_table(
  frames: frames_lib.Frames,
  keys: Sequence[Key],
  metric: str | None = None,
  *,
  told: pd.DataFrame | None = None,
  notes: Sequence[str] = (),
) -> text_table.Table:
  """Returns the table for people: a row per group of runs, as in `told`.

  Args:
    frames: The labelled runs.
    keys: The columns; those without a value are left out.
    metric: The column that decides; None for the usual one.
    told: The columns at the left, by group; None for the label alone.
    notes: The sentences before those on the numbers.
  """
  runs = frames.runs
  if told is None:
    told = name_groups(frames)
    unfinished = run_notes.tell_unfinished(runs, 'label')
    notes = [*notes, *([f'{unfinished}.'] if unfinished else [])]
  values = read_values(frames, keys, metric)
  values = values[values.index.isin(told.index, 'group')]
  names = seed_table.name_rows(told)
  # A column that the first group lacks still has its place.
  there = set(values.index.droplevel(['group', 'seed']))
  shown, without = [], []
  for column, which in keys:
    found = [of for of in there if of[0] == column and of[1].startswith(which)]
    shown += found
    if not found:
      head = _head(column, which)
      # Then it is the last one.
      totals = _known_totals(frames.finished())
      alike = which == EQUAL_BYTES and _are_alike(totals)
      without.append(head + ' (all runs have sent as much)' * alike)
  if without:
    notes = [*notes, f'Not shown, without a value: {"; ".join(without)}.']
  notes = [
    *notes,
    *(
      _tell_sent(frames, column, names)
      for column, which in shown
      if which == EQUAL_BYTES and column in frames.rounds
    ),
    *(
      note
      for column, which in shown
      if which.startswith(UNTIL)
      for note in _tell_untrained(frames, column, which, metric, names)
    ),
  ]
  rows = runs.assign(
    task=run_labels.label_tasks(runs),
    family=[method_comparison.task_key(run) for _, run in runs.iterrows()],
  )
  by_family = {
    family: frames.of(of) for family, of in rows.groupby('family', sort=False)
  }
  scores = [key for key in shown if _is_score(key[0])]
  uneven = [
    key
    for key in scores
    if key[1] == method_comparison.ALL_ROUNDS
    and any(_rounds_differ(of.finished(), key[0]) for of in by_family.values())
  ]
  if uneven:
    heads = '; '.join(_head(*key) for key in uneven)
    notes = [
      *notes,
      f'Nothing is bold in {heads}: runs were evaluated in different rounds.',
    ]
  table = seed_table.make_table(
    told,
    {key: _head(*key) + _tell_last(frames, *key) for key in shown},
    values,
    {
      key: {
        family: method_comparison.direction([of], key[0])
        for family, of in by_family.items()
      }
      for key in scores
      if key not in uneven
    },
    rows,
  )
  of_rows = runs[runs['group'].isin(told.index)]
  columns = [column for column, _ in shown]
  warnings = [
    run_notes.tell_starts(of_rows, columns),
    run_notes.tell_fine_tuning(of_rows, columns),
  ]
  return table._replace(
    notes=[*notes, *(f'{of}.' for of in warnings if of), *table.notes]
  )


def _tell_sent(
  frames: frames_lib.Frames, column: str, names: Mapping[int, str]
) -> str:
  """Returns a sentence on what was sent by the evaluations of `EQUAL_BYTES`.

  Args:
    frames: The labelled runs.
    column: A column of metrics.csv.
    names: The names of groups of runs.
  """
  frames = frames.finished()
  budget = _common_bytes(frames)
  converged = frames.of(frames.runs.loc[_converged(frames)])
  sent = _last_within(converged, column, budget)[_BYTES] / 1e6
  by_amount: dict[str, list[str]] = {}
  for group, runs in converged.runs.groupby('group', sort=False):
    if group in names:
      found = sent[sent.index.isin(runs.index)]
      ends = dict.fromkeys(map(_format_cost, (found.min(), found.max())))
      amount = f'{" to ".join(ends)} MB' if len(found) else 'no such evaluation'
      by_amount.setdefault(amount, []).append(names[group])
  told = '; '.join(
    f'{amount}: {", ".join(of)}' for amount, of in by_amount.items()
  )
  return (
    f'{_head(column, EQUAL_BYTES)}: the last evaluation after training began at '
    f'which a run had sent at most {_format_cost(budget / 1e6)} MB, the smallest '
    f'total of a run. Sent by then: {told}.'
  )


def _tell_untrained(
  frames: frames_lib.Frames,
  column: str,
  which: str,
  metric: str | None,
  names: Mapping[int, str],
) -> list[str]:
  """Returns a sentence on initial models that reach the value of `UNTIL`.

  Args:
    frames: The labelled runs.
    column: The column, such as `SECONDS`.
    which: The rounds that its head tells.
    metric: The column that decides; None for the usual one.
    names: The names of groups of runs.
  """
  frames = frames.finished()
  source = _BYTES if column == MEGABYTES else column
  metric = metric or _judging_column(frames)
  _, reached = _reach_common_value(frames, source, metric)
  untrained = reached.index[~_is_trained(reached)].get_level_values('run')
  groups = frames.runs['group'][untrained].unique()
  told = '; '.join(names[group] for group in groups if group in names)
  return [
    f'{_head(column, which)}: the initial model is as good as that, so that '
    f'numbers say nothing of training: {told}.'
  ] * bool(told)


def _format_cost(number: float) -> str:
  return seed_table.format_number(number, is_score=False)


def _is_score(column: str) -> bool:
  """Returns whether a method can be the best in a column."""
  if column.startswith('train/'):
    return metric_names.is_known(column) and not metric_names.is_count(column)
  return (
    column.startswith((*_KINDS, 'eval/'))
    and not metric_names.is_count(column)
    and not column.endswith('/num_clients')
  )


def name_groups(frames: frames_lib.Frames) -> pd.DataFrame:
  """Returns the column with the labels of the runs, by group."""
  firsts = frames.runs.drop_duplicates('group').set_index('group')
  return firsts[['label']].rename(columns={'label': 'Method'})


def _head(column: str, which: str) -> str:
  title = _COSTS.get(column) or column_titles.title(column)
  return title if which == method_comparison.LAST_ROUND else f'{title}, {which}'


def _tell_last(frames: frames_lib.Frames, column: str, which: str) -> str:
  """Returns ', last round' if a score is of that and some models are not."""
  runs = frames.finished().runs
  is_earlier = (runs['model_round'] < runs['length']).any()
  is_last = which == method_comparison.LAST_ROUND and column in frames.rounds
  told = is_earlier and is_last and column not in _COSTS
  return ', last round' if told else ''


def to_csv(
  frames: frames_lib.Frames,
  metric: str | None = None,
  told: pd.DataFrame | None = None,
) -> bytes:
  """Returns all results as a CSV file with a line per group and column.

  Args:
    frames: The labelled runs.
    metric: The column that decides; None for the usual one.
    told: The columns at the left, by group; None for the label alone.
  """
  if told is None:
    told = name_groups(frames).rename(columns={'Method': 'method'})
  values = read_values(frames, all_columns(frames, metric), metric)
  table = seed_table.over_seeds(values, _INDEX[:3]).reset_index(_INDEX[1:3])
  of_model = {*_numbers(frames)} - {*frames.rounds}
  is_last = table['rounds'] == method_comparison.LAST_ROUND
  is_of_model = is_last & table['metric'].isin(of_model)
  table['rounds'] = table['rounds'].mask(is_of_model, method_comparison.MODEL)
  # Such as the field rounds, if it varies.
  taken = told.columns.intersection(table.columns)
  told = told.rename(columns={name: f'config.{name}' for name in taken})
  return text_table.frame_to_csv(told.join(table))


def of_sweep(
  runs: pd.DataFrame, columns: Sequence[str] | None = None
) -> text_table.Table:
  """Returns a sweep's table for people.

  Args:
    runs: The runs, of `sweep_results.read_results`.
    columns: The columns, as for `parse_columns`.
  """
  told, notes = sweep_results.tell_groups(runs)
  if told.empty or not runs['is_finished'].any():
    return text_table.Table(notes, [])
  # Most columns are in the frame of runs.
  with_rounds = not {*(columns or ())} <= {*runs, 'bytes', 'csb'}
  frames = sweep_results.to_frames(runs, with_rounds=with_rounds)
  keys = parse_columns(frames, columns)
  return make_table(frames, keys, told=told, notes=notes)


def sweep_to_csv(runs: pd.DataFrame) -> bytes:
  """Returns the results of a sweep as CSV, in the form of `to_csv`."""
  told = sweep_results.describe_groups(runs)
  return to_csv(sweep_results.to_frames(runs), told=told)
