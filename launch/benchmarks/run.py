# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Measures the time of a round beside a bare TensorFlow loop.

  python -m launch.benchmarks.run
  python -m launch.benchmarks.run --workloads=softmax --cores=1 --repeats=5
  python -m launch.benchmarks.run --markdown=README.md
  python -m launch.benchmarks.run --workloads=transformer

Prints one table. A row is a way to compute the same round: a `tf.function`
called once per client (the yardstick), the cohort context with a functional
model, with a Keras model and on new tf.data.Dataset objects every round, and
TFF's own runtime. The rows of a workload are measured in turns in one process,
on one core and on two. All of it takes about 12 minutes on a quiet machine.

Workloads: softmax regression 784->62 (softmax) and a CNN with 1.7 M parameters
(cnn), both with 16 clients of 100 examples, batch 10, one epoch; 1,000 clients
of the former (softmax_1000); FedFish on the latter (cnn_fed_fish). Only if they
are named: FedAvg on packed batches of tokens with a transformer of 2 layers of
64 units (transformer) and of 6 layers of 384 (transformer_6x384); these say how
many tokens a second are trained on, too.
"""

from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
import pathlib
import shlex
import sys
import time

from launch import cli
from launch.benchmarks import markdown_file
from launch.benchmarks import measurement
from launch.benchmarks import plan
from launch.benchmarks import report
from launch.benchmarks import table

from absl import flags

_WORKLOADS = flags.DEFINE_multi_enum(
  'workloads',
  [name for name, p in plan.PLANS.items() if p.by_default],
  list(plan.PLANS),
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
  + ', '.join(f'{p.repeats} ({name})' for name, p in plan.PLANS.items())
  + '. A row that has taken 8 seconds gets no more.',
  lower_bound=1,
)
_PROCESSES = flags.DEFINE_integer(
  'processes',
  None,
  'Processes for each workload and number of cores, one after another, in '
  'place of '
  + ', '.join(f'{p.processes} ({name})' for name, p in plan.PLANS.items())
  + '. The speed of the bare loop differs between processes.',
  lower_bound=1,
)
_MARKDOWN = flags.DEFINE_string(
  'markdown',
  None,
  'A file for the table as Markdown: a new one, or one with a part for it, as '
  'README.md has, of which only that part is replaced.',
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Job:
  """A measurement and what it is called."""

  workload: str
  description: str
  request: measurement.Request
  is_peak: bool = False


def _jobs(name: str, workload: plan.Plan) -> Iterator[_Job]:
  """Yields a workload's measurements."""
  for cores in dict.fromkeys(_CORES.value):
    for number in range(workload.processes):
      rows = list(workload.rows)
      if number:
        rows.remove(plan.MEASURED_ONCE_ROW)
      yield _Job(
        workload=name,
        description=f'{cores} core(s), process {number + 1} of '
        f'{workload.processes}',
        request=measurement.Request(
          workload=name,
          num_clients=workload.num_clients,
          num_examples=workload.num_examples,
          cores=cores,
          rows=tuple(rows),
          repeats=workload.repeats,
        ),
      )
  for num_clients in workload.memory_cohorts:
    yield _Job(
      workload=name,
      description=f'peak memory of {num_clients:,} clients',
      request=measurement.Request(
        workload=name,
        num_clients=num_clients,
        num_examples=workload.num_examples,
        cores=1,
        repeats=2,
      ),
      is_peak=True,
    )


def _plans() -> dict[str, plan.Plan]:
  """Returns the plans of the workloads, as the flags change them."""
  changes = {
    'num_clients': _CLIENTS.value,
    'repeats': _REPEATS.value,
    'processes': _PROCESSES.value,
  }
  changes = {k: v for k, v in changes.items() if v is not None}
  if _CLIENTS.value is not None:
    changes['memory_cohorts'] = ()
  return {
    name: dataclasses.replace(plan.PLANS[name], **changes)
    for name in dict.fromkeys(_WORKLOADS.value)
  }


def main(argv: Sequence[str]) -> None:
  """Prints the table."""
  cli.check_no_arguments(argv)
  measurement.check_cores(max(_CORES.value))
  if _MARKDOWN.value is not None:
    markdown_file.check(pathlib.Path(_MARKDOWN.value))
  plans = _plans()
  jobs = [job for name, p in plans.items() for job in _jobs(name, p)]
  results = {
    name: table.WorkloadResults(
      title=p.title,
      num_clients=p.num_clients,
      tokens_per_client=p.num_examples * p.tokens_per_example,
      by_cores={},
      peak_bytes={},
    )
    for name, p in plans.items()
  }
  start = time.monotonic()
  for number, job in enumerate(jobs, 1):
    minutes, seconds = divmod(int(time.monotonic() - start), 60)
    print(
      f'[{number}/{len(jobs)}, {minutes}:{seconds:02}] {job.workload}, '
      f'{job.description}',
      file=sys.stderr,
      flush=True,
    )
    result = measurement.measure_in_child(job.request)
    found = results[job.workload]
    if job.is_peak:
      found.peak_bytes[job.request.num_clients] = result.peak_bytes
    else:
      found.by_cores.setdefault(job.request.cores, []).append(result)
  lines = table.table_lines(list(results.values()))
  notes = table.notes(list(results.values()))
  report.print_table(lines, notes, command=_command(), markdown=_MARKDOWN.value)


def _command() -> str:
  """Returns the command that measures the same."""
  own = (_WORKLOADS, _CORES, _CLIENTS, _REPEATS, _PROCESSES)
  arguments = report.given_arguments(own)
  if not arguments:
    return 'make bench'
  return f'make bench ARGS={shlex.quote(" ".join(arguments))}'


if __name__ == '__main__':
  cli.run(main)
