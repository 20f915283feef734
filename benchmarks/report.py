# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tables of benchmarks, in Markdown that is also readable in a terminal."""

from collections.abc import Sequence
import dataclasses
from importlib import metadata
import os
import pathlib
import platform
import statistics
import textwrap

from benchmarks import measurement
from benchmarks import peer_rounds
from benchmarks import workloads


def processor() -> str:
  """Returns the name of the processor and its number of cores."""
  name = platform.machine()
  for line in pathlib.Path('/proc/cpuinfo').read_text().splitlines():
    if line.startswith('model name'):
      name = line.partition(':')[2].strip()
      break
  return f'{name}, {os.cpu_count()} cores'


def format_table(lines: Sequence[Sequence[str]], notes: Sequence[str]) -> str:
  """Returns a table with notes below.

  Args:
    lines: The header, then the rows. A row with text in its first cell only is
      the title of the following ones.
    notes: The paragraphs below the table.
  """
  rows = [
    line if any(line[1:]) else [f'**{line[0]}**', *line[1:]] for line in lines
  ]
  first, *others = (max(map(len, column)) for column in zip(*rows))
  text = []
  for row in rows:
    cells = [row[0].ljust(first), *map(str.rjust, row[1:], others)]
    text.append(f'| {" | ".join(cells)} |')
  rule = ['-' * (first + 2), *('-' * (width + 1) + ':' for width in others)]
  text.insert(1, f'|{"|".join(rule)}|')
  for note in notes:
    text += ['', textwrap.fill(note, 80)]
  return '\n'.join(text)


@dataclasses.dataclass(frozen=True, kw_only=True)
class WorkloadResults:
  """The figures of a workload.

  Attributes:
    workload: The measured workload.
    by_cores: The results of each process, by number of cores.
    peer_versions: The versions of the other measured packages, by name.
  """

  workload: workloads.Workload
  by_cores: dict[int, list[measurement.Result]] = dataclasses.field(
    default_factory=dict
  )
  peer_versions: dict[str, str] = dataclasses.field(default_factory=dict)


def _number(value: float) -> str:
  """Returns a number with three digits, or all digits before the point."""
  digits = 3 if value < 1 else 2 if value < 10 else 1 if value < 100 else 0
  return f'{value:.{digits}f}'


def _cells(row: str, results: Sequence[measurement.Result]) -> list[str]:
  """Returns the cells of a row's seconds and ratio."""
  measured = [r.seconds for r in results if row in r.seconds]
  if not measured:
    return ['', '']
  seconds = statistics.median(s[row] for s in measured)
  ratio = statistics.median(s[row] / s[workloads.YARDSTICK] for s in measured)
  return [_number(seconds), f'{ratio:.2f}']


def table_lines(all_results: Sequence[WorkloadResults]) -> list[list[str]]:
  """Returns the header and the rows as text."""
  header = ['seconds a round']
  for cores in all_results[0].by_cores:
    header += [f'{cores} core{"s" if cores > 1 else ""}', 'ratio']
  header.append('first round')
  lines = [header]
  for results in all_results:
    workload = results.workload
    title = f'{workload.title}, {workload.num_clients:,} clients'
    lines.append([title] + [''] * (len(header) - 1))
    for row in (*workload.rows, *results.peer_versions):
      line = [workloads.ROWS.get(row) or peer_rounds.PEERS[row]]
      for measured in results.by_cores.values():
        line += _cells(row, measured)
      lines.append([*line, ''])
      if row == workloads.FIRST_ROUND_ROW:
        first = next(iter(results.by_cores.values()))
        lines[-1][-1] = _number(
          statistics.median(r.first_round_seconds for r in first)
        )
  return lines


def notes(all_results: Sequence[WorkloadResults]) -> list[str]:
  """Returns the paragraphs below the table."""
  paragraphs = [
    f'{processor()}; TensorFlow {metadata.version("tensorflow")}, TFF '
    f'{metadata.version("tensorflow-federated")}. A client has 100 examples in '
    'batches of 10 and trains for one epoch. Ratios are multiples of the bare '
    "loop. Figures are medians over processes of each one's median and ratio.",
  ]
  peers = dict.fromkeys(
    v for r in all_results for v in r.peer_versions.values()
  )
  if peers:
    paragraphs.append(
      f'Other packages ({"; ".join(peers)}) compute the same round, which is '
      'checked, in a process of their own on the same cores, after the others.'
    )
  reasons = dict.fromkeys(
    reason
    for results in all_results
    for measured in results.by_cores.values()
    for result in measured
    for reason in result.general_path_reasons
  )
  paragraphs += [
    f'The cohort context ran client by client: {r}' for r in reasons
  ]
  return paragraphs
