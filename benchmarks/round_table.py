# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The time of rounds as one table."""

from collections.abc import Sequence
import dataclasses
import importlib.metadata
import statistics

from benchmarks import measurement
from benchmarks import peer_rounds
from benchmarks import report
from benchmarks import workloads


@dataclasses.dataclass(frozen=True, kw_only=True)
class WorkloadResults:
  """What was measured of a workload.

  Attributes:
    workload: The workload, as it was measured.
    by_cores: The results of each process, by number of cores.
    peak_bytes: Peak memory without the clients' data, by cohort size.
    peer_versions: Of the other packages that were measured, by name.
  """

  workload: workloads.Workload
  by_cores: dict[int, list[measurement.Result]] = dataclasses.field(
    default_factory=dict
  )
  peak_bytes: dict[int, int] = dataclasses.field(default_factory=dict)
  peer_versions: dict[str, str] = dataclasses.field(default_factory=dict)


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
    r.seconds[row] / r.seconds[workloads.YARDSTICK] for r in measured
  )
  return [_number(seconds), f'{ratio:.2f}']


def table_lines(all_results: Sequence[WorkloadResults]) -> list[list[str]]:
  """Returns the header and the rows as text."""
  header = ['seconds a round']
  for cores in all_results[0].by_cores:
    header += [_describe_cores(cores), 'ratio']
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


def _describe_cores(count: int) -> str:
  return f'{count} core{"s" if count > 1 else ""}'


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
    f'{report.processor()}; {versions}. A client has 100 examples in batches of '
    '10, if nothing else is said, and trains for one epoch.',
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
    f'and all, on {_describe_cores(cores)}.',
  ]
  peers = {v: None for r in all_results for v in r.peer_versions.values()}
  if peers:
    paragraphs.append(
      f'Other packages ({"; ".join(peers)}) compute the same round, which is '
      'checked, by their own FedAvg on data in memory: in an environment and a '
      'process of their own, on the same cores, after the other rows.'
    )
  for results in all_results:
    if results.peak_bytes:
      peaks = ', '.join(
        f'{size:,} clients {peak / 1e6:,.0f} MB'
        for size, peak in results.peak_bytes.items()
      )
      paragraphs.append(
        f"Peak resident memory beside the clients' data, {results.workload.title}: "
        f'{peaks}.'
      )
    if results.workload.tokens_per_example:
      paragraphs.append(
        f'Tokens a second, {results.workload.title}: {_describe_tokens(results)}.'
      )
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
  workload = results.workload
  tokens = (
    workload.tokens_per_example * workload.num_examples * workload.num_clients
  )
  parts = []
  for row in workload.rows:
    rates = []
    for cores, measured in results.by_cores.items():
      seconds = [r.seconds[row] for r in measured if row in r.seconds]
      rate = tokens / statistics.median(seconds)
      rates.append(f'{rate:,.0f} ({_describe_cores(cores)})')
    parts.append(f'{workloads.ROWS[row]} {", ".join(rates)}')
  return '; '.join(parts)
