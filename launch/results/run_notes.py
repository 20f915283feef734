# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Notes on runs for readers of their figures and tables."""

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import itertools
import math
from typing import Any

from fedfish_tff import errors
from fedfish_tff.evaluation import metric_names
from launch.results import column_titles
from launch.results import frames as frames_lib
from launch.results import method_comparison
from launch.results import text_table

import pandas as pd


def describe(
  frames: frames_lib.Frames, pooling: str, metric: str = 'round'
) -> str:
  """Returns the numbers of seeds and clients, and warnings on comparability.

  Labels with fewer seeds than others are named, and runs that are left out.

  Args:
    frames: The labelled runs; those of a label differ in their seed.
    pooling: The way in which several seeds of a label are shown.
    metric: A column of metrics.csv; runs without it do not count.
  """
  ends = frames.drawn('round', metric)['round'].groupby('run').last()
  runs = frames.runs.assign(end=ends).dropna(subset='end')
  counts = runs.groupby('label', sort=False)['end'].count()
  most = counts.max() if len(counts) else 0
  fewer: dict[int, list[str]] = {}
  for label, count in counts[counts < most].items():
    fewer.setdefault(count, []).append(label)
  runs = runs[runs['diverged_round'].isna()]
  ends = runs.groupby('label', sort=False)['end'].agg(list).to_dict()
  # A label has commas itself.
  told = '; '.join(f'{n}: {"; ".join(of)}' for n, of in sorted(fewer.items()))
  told = f' ({told})' * bool(told)
  seeds = f'{count_seeds(counts)}{told}: {pooling}'
  if most < 2:
    seeds = '1 seed, nothing is pooled'
  return join(
    [
      seeds,
      tell_clients(frames.runs),
      tell_lengths(ends),
      tell_diverged(frames.runs, 'label'),
      frames.left_out,
    ]
  )


def describe_finished(
  runs: pd.DataFrame, pooling: str, column: str = 'variant'
) -> str:
  """Returns the notes of `describe` on a sweep; ends are of finished runs.

  Args:
    runs: The runs with `group`, which unites their seeds.
    pooling: The way in which several seeds of a group are shown.
    column: The column that names runs as the figure does.
  """
  seeds = count_seeds(runs.groupby('group').size())
  finished = runs[
    runs['is_finished'].astype(bool) & runs['diverged_round'].isna()
  ]
  ends = finished.groupby(column, sort=False)['length'].agg(list).to_dict()
  return join(
    [
      f'{seeds}: {pooling}',
      tell_clients(runs),
      tell_lengths(ends),
      tell_diverged(runs, column),
      tell_unfinished(runs, column),
    ]
  )


def join(parts: Iterable[str]) -> str:
  """Returns the non-empty parts as sentences."""
  return ' '.join(f'{part}.' for part in parts if part)


def tell_clients(runs: pd.DataFrame) -> str:
  """Returns '5 of 24 training clients per round', as far as known.

  Args:
    runs: The runs; numbers that differ become a span.

  Returns:
    The note, with ', at most 16 examples of each' if all runs have that cap; ''
    if no run has a cohort.
  """
  cohorts = {
    size
    for config, first in zip(runs['config'], runs['first_cohort'])
    for size in (config.get('cohort_size'), first)
    if size and size > 0  # A missing number may be NaN here.
  }
  if not cohorts:
    return ''
  told = errors.span(cohorts)
  if trained := count_clients(runs, 'train'):
    told += f' of {text_table.count(trained, "training client")} per round'
  else:
    told = f'{text_table.count(told, "client")} per round'
  caps = {config.get('max_examples_per_client') for config in runs['config']}
  if len(caps) == 1 and (cap := caps.pop()):
    told += f', at most {text_table.count(cap, "example")} of each'
  return told


def count_clients(runs: pd.DataFrame, split: str) -> str:
  """Returns '24', or '24 to 30' if runs differ, or '' if unknown.

  The split of the clients is train, validation or test.
  """
  counts = {of[split] for of in runs['clients'] if of and split in of}
  return errors.span(counts) if counts else ''


def tell_lengths(ends: Mapping[str, Sequence[int]]) -> str:
  """Returns a warning if runs end at different rounds, else ''.

  Args:
    ends: The last round of each seed, by label. Seeds are drawn up to the last
      round that all of them have.
  """
  labels: dict[str, list[str]] = {}
  for label, rounds in ends.items():
    labels.setdefault(f'round {errors.span(rounds)}', []).append(label)
  if len({number for rounds in ends.values() for number in rounds}) < 2:
    return ''
  told = '; up to '.join(_list(*group) for group in labels.items())
  return (
    f'Runs of different lengths, whose rounds do not correspond, up to {told}'
  )


def tell_diverged(runs: pd.DataFrame, column: str) -> str:
  """Returns 'Diverged in round 3: FedAvg', or '' if no run has diverged.

  `column` is the column with the labels.
  """
  told: dict[str, list[str]] = {}
  for label, of in runs.groupby(column, sort=False):
    rounds = of['diverged_round'].dropna()
    if rounds.empty:
      continue
    share = f' ({len(rounds)} of {len(of)} runs)' * (len(of) > 1)
    told.setdefault(f'round {errors.span(rounds)}', []).append(
      f'{label}{share}'
    )
  if not told:
    return ''
  return 'Diverged in ' + '; in '.join(_list(*of) for of in told.items())


def tell_unfinished(runs: pd.DataFrame, column: str, source: str = '') -> str:
  """Returns '1 of 4 runs is not finished, so without results: FedAvg (1 of 2)'.

  Args:
    runs: The runs.
    column: The column with the labels.
    source: The words after the runs, such as ' of the sweep'.

  Returns:
    The note, '' if all runs are finished.
  """
  is_open = ~runs['is_finished'].astype(bool)
  if not is_open.any():
    return ''
  counts = is_open.groupby(runs[column], sort=False).agg(['sum', 'size'])
  labels = [f'{of.Index} ({of.sum} of {of.size})' for of in counts.itertuples()]
  return _list(
    f'{is_open.sum()} of {text_table.count(len(runs), "run")}{source} '
    f'{text_table.be(is_open.sum())} not finished, so without results',
    itertools.compress(labels, counts['sum']),
  )


def tell_not_drawn(
  labels: Iterable[str], drawn: Collection[str], what: str
) -> str:
  """Returns 'Not drawn, without a barrier: FedSGD', or '' without any.

  Args:
    labels: The labels of all runs.
    drawn: Those that a figure has, or tells otherwise.
    what: The data that the others lack.
  """
  others = [label for label in dict.fromkeys(labels) if label not in drawn]
  return _list(f'Not drawn, without {what}', others) if others else ''


def _list(head: str, labels: Iterable[str]) -> str:
  """Returns 'head: FedAvg, 8 local epochs; FedFish'; a label has commas."""
  return f'{head}: {"; ".join(labels)}'


def tell_judged(runs: pd.DataFrame, metric: str) -> str:
  """Returns a warning if different columns judge the runs, else ''.

  `metric` is the column that is shown.
  """
  labels: dict[str, list[str]] = {}
  for run in runs.drop_duplicates('label').to_dict('records'):
    if run['metric'] is not None:
      column = column_titles.judges(run['judged_by'], run['metric'])
      labels.setdefault(column, []).append(run['label'])
  if len(labels) < 2:
    return ''
  told = '; by '.join(_list(*of) for of in labels.items())
  return f'Runs are judged differently, by {told}. Shown is {metric}'


def tell_starts(runs: pd.DataFrame, columns: Iterable[str]) -> str:
  """Returns a warning if models in columns are but starts of others, else ''.

  Args:
    runs: The labelled runs.
    columns: The columns that are shown.
  """
  columns = list(columns)
  firsts = runs[runs['metric'].notna()].drop_duplicates('label')
  labels = [
    run['label']
    for _, run in firsts.iterrows()
    if not all(method_comparison.is_result(run, column) for column in columns)
  ]
  head = (
    "The global model is only a start for clients' models, and in no comparison"
  )
  return _list(head, labels) if labels else ''


def tell_fine_tuning(runs: pd.DataFrame, columns: Iterable[str]) -> str:
  """Returns a warning if runs with personalised scores fine-tune differently.

  It is 'Fine-tuning differs: FedAvg with rate 0.05; FedFish with rate 0.1', or
  '' if no shown column is one of fine-tuned models.
  """
  if not any(map(metric_names.is_fine_tuned, columns)):
    return ''
  epochs, rates = {}, {}
  for label, of in runs.groupby('label', sort=False):
    found = [_fine_tuning(run) for run in of.to_dict('records')]
    found = [(number, rate) for number, rate in found if number and rate]
    if found:
      epochs[label], rates[label] = (errors.span(part) for part in zip(*found))
  told = [
    ' and '.join(
      [f'for {text_table.count(epochs[label], "epoch")}']
      * (len(set(epochs.values())) > 1)
      + [f'with rate {rates[label]}'] * (len(set(rates.values())) > 1)
    )
    for label in epochs
  ]
  if not any(told):
    return ''
  each = [f'{label} {words}' for label, words in zip(epochs, told)]
  return _list('Fine-tuning differs', each)


def _fine_tuning(run: Mapping[str, Any]) -> tuple[int | None, float | None]:
  """Returns the epochs and the rate with which a run's clients fine-tune."""
  fields = run['fields']
  chosen = run.get(f'validation/{metric_names.PERSONALIZATION_RATE}')
  # Infinite if validation clients could not choose one.
  if chosen is None or not math.isfinite(chosen):
    chosen = fields.get(
      'algorithm.personal_learning_rate', fields.get('client_learning_rate')
    )
  return fields.get('evaluation.personalization_epochs'), chosen


def count_seeds(counts: Iterable[int]) -> str:
  """Returns '3 seeds', or '2 to 3 seeds' if settings differ in them."""
  return text_table.count(errors.span(counts), 'seed')


def tell_lines(counts: Iterable[int]) -> str:
  """Returns the meaning of lines and bands in a caption.

  Args:
    counts: The number of seeds of each line.
  """
  counts = list(counts)
  if max(counts, default=0) < 2:
    return 'Lines are of 1 seed'
  return (
    f'Lines: means over {count_seeds(counts)}; bands, where there are few: '
    'lowest to highest seed'
  )


def name_task(text: str, runs: pd.DataFrame) -> str:
  """Returns a title with what all runs share: task, and setting of a sweep."""
  shared = [
    runs[name].iloc[0]
    for name in ('task', 'setting')
    if name in runs and runs[name].nunique() == 1
  ]
  told = ', '.join(filter(None, shared))
  return f'{text} ({told})' if told else text
