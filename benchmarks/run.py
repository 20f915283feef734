# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Measures the time of a round, next to a bare TensorFlow loop.

  python -m benchmarks.run
  python -m benchmarks.run --workloads=softmax --cores=1 --repeats=5
  python -m benchmarks.run --peer=fedjax=E/bin/python

Prints one Markdown table after some 15 minutes on a quiet machine. Its rows
compute the same round, on one core and on two. They are: a compiled function
called once per client on arrays in memory, without metrics or TFF (the
yardstick); the cohort context on the package's own client data, with a
functional and with a Keras model; the cohort context on tf.data.Dataset objects
that are made anew every round, within the measured time; and TFF's C++ worker
on datasets that are made once, its best case. The first round is that of a new
process, tracing included.

Rows are measured in turns in one process, with one intra-op thread. If a loop
of the graph pools images, TensorFlow chooses a fast or a slow kernel for the
gradient of the pooling by addresses in memory. This changes the bare loop's
time by up to a third between processes, so there are several processes. TFF's
runtime and workloads of 1,000 clients have one.

FedAvg also has a row for another package if --peer names the Python interpreter
of an environment with it, made by `python3.11 -m venv E` and
`E/bin/pip install -r benchmarks/peers/fedjax.txt` (or pfl.txt).
"""

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import os
import sys
import tempfile
import time

from benchmarks import measurement
from benchmarks import peer_rounds
from benchmarks import report
from benchmarks import workloads
from fedfish_tff import errors
from launch import cli

from absl import flags

_WORKLOADS = flags.DEFINE_multi_enum(
  'workloads',
  list(workloads.WORKLOADS),
  list(workloads.WORKLOADS),
  'Workloads to measure; repeat the flag for several.',
)
_CORES = flags.DEFINE_multi_integer(
  'cores', [1, 2], 'Numbers of cores, each its own flag.', lower_bound=1
)
_CLIENTS = flags.DEFINE_integer(
  'clients', None, "Cohort size, in place of the workload's own.", lower_bound=1
)
_REPEATS = flags.DEFINE_integer(
  'repeats',
  None,
  "Measured rounds of a row in a process, in place of the workload's own; at "
  'most 8 seconds of them.',
  lower_bound=1,
)
_PROCESSES = flags.DEFINE_integer(
  'processes',
  None,
  "Processes for each number of cores, in place of the workload's own.",
  lower_bound=1,
)
_PEERS = flags.DEFINE_multi_string(
  'peer',
  [],
  'Another package to measure, NAME=PYTHON with NAME one of '
  f'{", ".join(peer_rounds.PEERS)}; repeat the flag for several.',
)


def _chosen_workloads() -> dict[str, workloads.Workload]:
  """Returns the workloads with the flags' changes, by name."""
  changes = {
    'num_clients': _CLIENTS.value,
    'repeats': _REPEATS.value,
    'processes': _PROCESSES.value,
  }
  changes = {k: v for k, v in changes.items() if v is not None}
  return {
    name: dataclasses.replace(workloads.WORKLOADS[name], **changes)
    for name in dict.fromkeys(_WORKLOADS.value)
  }


def _measure(
  name: str, workload: workloads.Workload, interpreters: Mapping[str, str]
) -> report.WorkloadResults:
  """Measures a workload in one process after the other."""
  interpreters = interpreters if workload.has_peers else {}
  results = report.WorkloadResults(workload=workload)
  for cores in dict.fromkeys(_CORES.value):
    results.by_cores[cores] = []
    for number in range(workload.processes):
      print(
        f'[{time.strftime("%X")}] {name}, {cores} core(s), process {number + 1} '
        f'of {workload.processes}',
        file=sys.stderr,
        flush=True,
      )
      rows = workload.rows
      if number:
        rows.remove(workloads.MEASURED_ONCE_ROW)
      with tempfile.TemporaryDirectory() as folder:
        task_path = os.path.join(folder, 'round.npz') if interpreters else None
        result = measurement.in_new_process(
          workload=name,
          num_clients=workload.num_clients,
          rows=rows,
          repeats=workload.repeats,
          cores=cores,
          task_path=task_path,
        )
        for peer, interpreter in interpreters.items():
          measured = peer_rounds.measure(peer, interpreter, task_path)
          result.seconds[peer] = measured.seconds
          results.peer_versions[peer] = measured.versions
      results.by_cores[cores].append(result)
  return results


def main(argv: Sequence[str]) -> None:
  """Prints the table."""
  cli.check_no_arguments(argv)
  available = len(os.sched_getaffinity(0))
  if max(_CORES.value) > available:
    raise errors.InputError(
      f'--cores must be at most {available}, the number of cores that can be '
      f'used here, got {max(_CORES.value)}.'
    )
  interpreters = peer_rounds.parse_interpreters(_PEERS.value)
  results = [
    _measure(name, workload, interpreters)
    for name, workload in _chosen_workloads().items()
  ]
  print(
    report.format_table(report.table_lines(results), report.notes(results)),
    flush=True,
  )


if __name__ == '__main__':
  cli.run(main)
