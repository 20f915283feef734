# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Measures the time of a round beside a bare TensorFlow loop.

  python -m benchmarks.run
  python -m benchmarks.run --workloads=softmax --cores=1 --repeats=5
  python -m benchmarks.run --markdown=README.md
  python -m benchmarks.run --peer=fedjax=E/bin/python

Prints one table. A row is a way to compute the same round: a `tf.function`
called once per client (the yardstick), the cohort context with a functional
model, with a Keras model and on new tf.data.Dataset objects every round, and
TFF's own runtime. The rows of a workload are measured in turns in one process,
on one core and on two. All of it takes about 12 minutes on a quiet machine.

Workloads: softmax regression 784->62 (softmax) and a CNN with 1.7 M parameters
(cnn), both with 16 clients of 100 examples, batch 10, one epoch; 1,000 clients
of the former (softmax_1000); FedFish on the latter (cnn_fed_fish). Only where
they are named, language models of this package (transformer, transformer_6x384,
cifg), with their tokens a second.

FedAvg has a row for another package, too, where --peer names the Python of an
environment with it, made by `python3.11 -m venv E` and
`E/bin/pip install -r benchmarks/peers/fedjax.txt` (or pfl.txt). It
computes the same round from the same weights, which is checked, in a process of
its own on the same cores, after the other rows.
"""

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import os
import pathlib
import shlex
import sys
import tempfile
import time

from benchmarks import markdown_file
from benchmarks import measurement
from benchmarks import peer_rounds
from benchmarks import report
from benchmarks import round_table
from benchmarks import workloads
from launch import cli

from absl import flags

_WORKLOADS = flags.DEFINE_multi_enum(
  'workloads',
  [name for name, w in workloads.WORKLOADS.items() if w.by_default],
  list(workloads.WORKLOADS),
  'What to measure; repeat the flag for several.',
)
_CORES = flags.DEFINE_multi_integer(
  'cores',
  [1, 2],
  'Number of cores to measure on; repeat the flag for several.',
  lower_bound=1,
)
_CLIENTS = flags.DEFINE_integer(
  'clients',
  None,
  "Clients in the cohort, in place of the workload's own number.",
  lower_bound=1,
)
_REPEATS = flags.DEFINE_integer(
  'repeats',
  None,
  'Measured rounds of each row in a process, in place of '
  + ', '.join(
    f'{w.repeats} ({name})' for name, w in workloads.WORKLOADS.items()
  )
  + '. A row that has taken 8 seconds gets no more.',
  lower_bound=1,
)
_PROCESSES = flags.DEFINE_integer(
  'processes',
  None,
  'Processes for each workload and number of cores, one after another, in '
  'place of '
  + ', '.join(
    f'{w.processes} ({name})' for name, w in workloads.WORKLOADS.items()
  )
  + '. The speed of the bare loop differs between processes.',
  lower_bound=1,
)
_PEERS = flags.DEFINE_multi_string(
  'peer',
  [],
  'Another package to measure, NAME=PYTHON with NAME one of '
  f'{", ".join(peer_rounds.PEERS)}; repeat the flag for several.',
)
_MARKDOWN = flags.DEFINE_string(
  'markdown',
  None,
  'A file for the table as Markdown: a new one, or one with a part for it, as '
  'README.md has, of which only that part is replaced.',
)


def _chosen_workloads() -> dict[str, workloads.Workload]:
  """Returns the workloads as the flags change them, by name."""
  changes = {
    'num_clients': _CLIENTS.value,
    'repeats': _REPEATS.value,
    'processes': _PROCESSES.value,
  }
  changes = {k: v for k, v in changes.items() if v is not None}
  if _CLIENTS.value is not None:
    changes['memory_cohorts'] = ()
  return {
    name: dataclasses.replace(workloads.WORKLOADS[name], **changes)
    for name in dict.fromkeys(_WORKLOADS.value)
  }


def _measure(
  name: str, workload: workloads.Workload, interpreters: Mapping[str, str]
) -> round_table.WorkloadResults:
  """Measures a workload, one process after the other."""
  interpreters = interpreters if workload.has_peers else {}
  results = round_table.WorkloadResults(workload=workload)
  for cores in dict.fromkeys(_CORES.value):
    results.by_cores[cores] = []
    for number in range(workload.processes):
      _say(
        f'{name}, {cores} core(s), process {number + 1} of {workload.processes}'
      )
      rows = list(workload.rows)
      if number:
        rows.remove(workloads.MEASURED_ONCE_ROW)
      with tempfile.TemporaryDirectory() as folder:
        task_path = os.path.join(folder, 'round.npz')
        result = measurement.measure_in_child(
          name,
          num_clients=workload.num_clients,
          rows=rows,
          repeats=workload.repeats,
          cores=cores,
          task_path=task_path if interpreters else '',
        )
        for peer, interpreter in interpreters.items():
          measured = peer_rounds.measure(peer, interpreter, task_path)
          result.seconds[peer] = measured.seconds
          results.peer_versions[peer] = measured.versions
      results.by_cores[cores].append(result)
  for num_clients in workload.memory_cohorts:
    _say(f'{name}, peak memory of {num_clients:,} clients')
    results.peak_bytes[num_clients] = measurement.measure_in_child(
      name,
      num_clients=num_clients,
      rows=[workloads.FIRST_ROUND_ROW],
      repeats=2,
      cores=1,
    ).peak_bytes
  return results


def _say(text: str) -> None:
  print(f'[{time.strftime("%X")}] {text}', file=sys.stderr, flush=True)


def main(argv: Sequence[str]) -> None:
  """Prints the table."""
  cli.check_no_arguments(argv)
  measurement.check_cores(max(_CORES.value))
  path = None if _MARKDOWN.value is None else pathlib.Path(_MARKDOWN.value)
  if path is not None:
    markdown_file.check(path)
  interpreters = peer_rounds.parse_interpreters(_PEERS.value)
  results = [
    _measure(name, workload, interpreters)
    for name, workload in _chosen_workloads().items()
  ]
  lines, notes = round_table.table_lines(results), round_table.notes(results)
  print(report.format_text(lines, notes), flush=True)
  if path is not None:
    markdown_file.write(path, report.format_markdown(lines, notes, _command()))


def _command() -> str:
  """Returns the command that measures the same."""
  arguments = [
    f'--{flag.name}={value}'
    for flag in (_WORKLOADS, _CORES, _CLIENTS, _REPEATS, _PROCESSES)
    if flag.present
    for value in (flag.value if isinstance(flag.value, list) else [flag.value])
  ]
  # Not where the reader has them.
  arguments += [
    f'--peer={value.partition("=")[0]}=PYTHON' for value in _PEERS.value
  ]
  if not arguments:
    return 'make bench'
  return f'make bench ARGS={shlex.quote(" ".join(arguments))}'


if __name__ == '__main__':
  cli.run(main)
