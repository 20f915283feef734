# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The benchmark's results as one table, for the terminal or as Markdown."""

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import importlib.metadata
import os
import pathlib
import platform
import statistics
import textwrap

from launch.benchmarks import measurement
from launch.benchmarks import plan


@dataclasses.dataclass(frozen=True, kw_only=True)
class WorkloadResults:
  """What was measured of a workload.

  Attributes:
    title: What the table calls it.
    num_clients: Clients in the cohort.
    tokens_per_client: What each is trained on, of a language model; else 0.
    by_cores: The results of each process, by number of cores.
    peak_bytes: Peak memory without the clients' data, by cohort size.
  """

  title: str
  num_clients: int
  tokens_per_client: int = 0
  by_cores: Mapping[int, Sequence[measurement.Result]]
  peak_bytes: Mapping[int, int]


def _number(value: float) -> str:
  """Returns three digits, or all before the point."""
  digits = 3 if value < 1 else 2 if value < 10 else 1 if value < 100 else 0
  return f'{value:.{digits}f}'


def _cells(row: str, results: Sequence[measurement.Result]) -> list[str]:
  """Returns seconds and ratio."""
  measured = [r for r in results if row in r.seconds]
  if not measured:
    return ['', '']
  seconds = statistics.median(r.seconds[row] for r in measured)
  ratio = statistics.median(
    r.seconds[row] / r.seconds[plan.YARDSTICK] for r in measured
  )
  return [_number(seconds), f'{ratio:.2f}']


def _first_round(results: Sequence[measurement.Result]) -> str:
  values = [r.first_round_seconds for r in results]
  values = [v for v in values if v is not None]
  return _number(statistics.median(values)) if values else ''


def table_lines(all_results: Sequence[WorkloadResults]) -> list[list[str]]:
  """Returns the header and the rows as text."""
  cores = sorted({c for r in all_results for c in r.by_cores})
  header = ['seconds a round']
  for count in cores:
    name = f'{count} core{"s" if count > 1 else ""}'
    header += [name, 'ratio']
  header.append('first round')
  lines = [header]
  for results in all_results:
    title = f'{results.title}, {results.num_clients:,} clients'
    lines.append([title] + [''] * (len(header) - 1))
    for row, row_title in plan.ROWS.items():
      line = [row_title]
      for count in cores:
        line += _cells(row, results.by_cores.get(count, ()))
      line.append(
        _first_round(next(iter(results.by_cores.values())))
        if row == plan.FIRST_ROUND_ROW
        else ''
      )
      if any(line[1:]):
        lines.append(line)
  return lines


def notes(all_results: Sequence[WorkloadResults]) -> list[str]:
  """Returns what a reader has to know, a paragraph each."""
  versions = ', '.join(
    f'{title} {importlib.metadata.version(name)}'
    for title, name in (
      ('TensorFlow', 'tensorflow'),
      ('TFF', 'tensorflow-federated'),
    )
  )
  cores = next(iter(all_results[0].by_cores))
  paragraphs = [
    f'{processor()}; {versions}. A client trains for one epoch; it has 100 '
    'examples in batches of 10 where nothing else is said.',
    'Ratios are multiples of the bare loop: a compiled function called once a '
    'client on arrays in memory, without metrics or TFF. The cohort context '
    "takes the package's own client data, and new tf.data.Dataset objects "
    'every round in the row that says so (making them counts); its model is '
    "functional but for the Keras row. TFF's own runtime is its C++ worker on "
    'datasets that are made once, its best case.',
    'Rows are measured in turns in one process with one intra-op thread. '
    'Where a loop of the graph pools images, TensorFlow picks the gradient of '
    'the pooling from a fast and a slow kernel by addresses in memory, which '
    'moves the bare loop by up to a third from process to process. So there '
    'are several processes, and figures are medians over processes of each '
    "one's median and ratio. TFF's runtime, and workloads of 1,000 clients, "
    'have one process.',
    'First round: initialisation and the first round in a new process, tracing '
    f'and all, on {cores} core{"s" if cores > 1 else ""}.',
  ]
  for results in all_results:
    if results.peak_bytes:
      peaks = ', '.join(
        f'{size:,} clients {peak / 1e6:,.0f} MB'
        for size, peak in results.peak_bytes.items()
      )
      paragraphs.append(
        f"Peak resident memory beside the clients' data, {results.title}: "
        f'{peaks}.'
      )
  paragraphs += [
    f'Tokens a second, {results.title}: {_describe_tokens(results)}.'
    for results in all_results
    if results.tokens_per_client
  ]
  reasons = {
    reason: None
    for results in all_results
    for measured in results.by_cores.values()
    for result in measured
    for reason in result.general_path_reasons
  }
  for reason in reasons:
    paragraphs.append(f'The cohort context ran client by client: {reason}')
  return paragraphs


def _describe_tokens(results: WorkloadResults) -> str:
  """Returns the tokens a second of each row."""
  tokens = results.tokens_per_client * results.num_clients
  parts = []
  for row, row_title in plan.ROWS.items():
    rates = []
    for cores, measured in sorted(results.by_cores.items()):
      seconds = [r.seconds[row] for r in measured if row in r.seconds]
      if seconds:
        rate = tokens / statistics.median(seconds)
        rates.append(f'{rate:,.0f} ({cores} core{"s" if cores > 1 else ""})')
    if rates:
      parts.append(f'{row_title} {", ".join(rates)}')
  return '; '.join(parts)


def processor() -> str:
  """Returns what the machine computes with."""
  name = platform.machine()
  for line in pathlib.Path('/proc/cpuinfo').read_text().splitlines():
    if line.startswith('model name'):
      name = line.partition(':')[2].strip()
      break
  return f'{name}, {os.cpu_count()} cores'


def format_text(
  lines: Sequence[Sequence[str]], paragraphs: Sequence[str]
) -> str:
  """Returns the table and the notes for a terminal."""
  width = max(len(line[0]) for line in lines if any(line[1:])) + 2
  text = []
  for line in lines:
    if any(line[1:]):
      cells = ''.join(f'{cell:>12}' for cell in line[1:])
      text.append(f'{line[0]:{width}}{cells}'.rstrip())
    else:
      text += ['', line[0]]
  for paragraph in paragraphs:
    text += ['', textwrap.fill(paragraph, 80)]
  return '\n'.join(text)


def format_markdown(
  lines: Sequence[Sequence[str]], paragraphs: Sequence[str], command: str
) -> str:
  """Returns the table, the command that made it, and the notes."""
  header, *rows = lines
  text = [
    f'| {" | ".join(header)} |',
    f'|---|{"---:|" * (len(header) - 1)}',
  ]
  for row in rows:
    first = row[0] if any(row[1:]) else f'**{row[0]}**'
    text.append(f'| {" | ".join([first, *row[1:]])} |')
  return '\n'.join(
    [f'`{command}` printed:', '', *text]
    + [
      line
      for paragraph in paragraphs
      for line in ('', textwrap.fill(paragraph, 80))
    ]
  )
