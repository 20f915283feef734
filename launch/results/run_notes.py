# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What one has to know of runs to read a figure or a table of them."""

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence

from launch.results import method_labels
from launch.results import run_reader
from launch.results import sweep_results

_Groups = Mapping[str, Sequence[run_reader.Run]]


def describe(groups: _Groups, pooling: str, metric: str | None = None) -> str:
  """Returns how many seeds and clients there are, and what does not compare.

  Args:
    groups: Runs by label; those of a label differ by their seed.
    pooling: How several seeds of a label are shown.
    metric: A column of metrics.csv, without which runs do not count.
  """
  ends = last_rounds(groups, metric)
  counts = [len(found) for found in ends.values()] or [0]
  parts = [f'{count_seeds(counts)}: {pooling}']
  if max(counts) < 2:
    parts = ['1 seed, nothing is pooled']
  runs = [run for runs in groups.values() for run in runs]
  parts += [tell_clients(runs), tell_lengths(ends)]
  return join(parts)


def describe_groups(groups: Sequence[sweep_results.Group], pooling: str) -> str:
  """Returns what `describe` does of a sweep's groups, if runs are finished.

  Args:
    groups: The groups.
    pooling: How several seeds of a group are shown.
  """
  ends: dict[str, list[int]] = {}
  for group in groups:
    rounds = [run.length for run in group.runs if run.is_finished]
    ends.setdefault(group.variant, []).extend(rounds)
  return join(
    [
      f'{count_seeds(len(group.runs) for group in groups)}: {pooling}',
      tell_clients(run for group in groups for run in group.runs),
      tell_lengths({label: rounds for label, rounds in ends.items() if rounds}),
    ]
  )


def join(parts: Iterable[str]) -> str:
  """Returns parts that are not empty as sentences."""
  return ' '.join(f'{part}.' for part in parts if part)


def last_rounds(
  groups: _Groups, metric: str | None = None
) -> dict[str, list[int]]:
  """Returns the last round of each run by label; see `describe`."""
  ends = {}
  for label, runs in groups.items():
    series = [run.series('round', metric or 'round')[0] for run in runs]
    if found := [int(rounds[-1]) for rounds in series if len(rounds)]:
      ends[label] = found
  return ends


def tell_clients(runs: Iterable[run_reader.Run]) -> str:
  """Returns '5 clients a round (task.num_clients 40)', as far as configs tell.

  Args:
    runs: Runs; of those that differ, the numbers are a span.
  """
  runs = list(runs)
  cohorts = {c for r in runs if (c := r.config.get('cohort_size'))}
  tasks = {c for r in runs if (c := r.config['task'].get('num_clients'))}
  told = ''
  if cohorts:
    told = f'{method_labels.count(span(cohorts), "client")} a round'
  if tasks:
    told += f' (task.num_clients {span(tasks)})'
  return told.strip()


def tell_lengths(ends: Mapping[str, Sequence[int]]) -> str:
  """Returns a warning where runs do not end at one round; else nothing.

  Args:
    ends: By label, the last round of each seed. Seeds are drawn up to the last
      round that all of them have.
  """
  labels: dict[str, list[str]] = {}
  for label, rounds in ends.items():
    labels.setdefault(f'round {span(rounds)}', []).append(label)
  if len({number for rounds in ends.values() for number in rounds}) < 2:
    return ''
  told = '; '.join(f'{", ".join(of)}: {end}' for end, of in labels.items())
  return f'Runs of unlike length, whose ends do not compare, up to {told}'


def span(numbers: Iterable[int]) -> str:
  """Returns '3', or '2 to 3' where numbers differ."""
  low, *_, high = sorted(numbers) * 2
  return f'{low:g}' if low == high else f'{low:g} to {high:g}'


def count_seeds(counts: Iterable[int]) -> str:
  """Returns '3 seeds', or '2 to 3 seeds' where settings have not as many."""
  return method_labels.count(span(counts), 'seed')
