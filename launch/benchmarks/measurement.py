# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Measures in a process of its own, on the cores it is given.

The number of threads is fixed when TensorFlow starts and the memory a process
took is not given back, so each measurement has a new process. Requests and
results are JSON.
"""

import dataclasses
import json
import os
import sys

from fedfish_tff import errors
from launch.benchmarks import child_process
from launch.benchmarks import plan


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request:
  """What to measure.

  Attributes:
    workload: One of `plan.PLANS`.
    num_clients: Clients in the cohort.
    num_examples: Of each client.
    cores: Cores that the process may use.
    rows: Names of the rows to time; empty to measure peak memory instead.
    repeats: Measured rounds.
  """

  workload: str
  num_clients: int
  num_examples: int
  cores: int
  rows: tuple[str, ...] = ()
  repeats: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class Result:
  """What was measured.

  Attributes:
    seconds: Median seconds of a round, by row.
    first_round_seconds: From a process that is built, the first computation
      here, to the end of its first round; None if that was not measured.
    peak_bytes: The most resident memory, without the clients' data.
    general_path_reasons: Why rounds ran client by client, if they did.
  """

  seconds: dict[str, float]
  first_round_seconds: float | None
  peak_bytes: int
  general_path_reasons: tuple[str, ...]


def available_cores() -> list[int]:
  """Returns the numbers of the cores that this process may use."""
  return sorted(os.sched_getaffinity(0))


def check_cores(count: int) -> None:
  """Raises InputError if this process may not use as many cores."""
  available = len(available_cores())
  if count > available:
    raise errors.InputError(
      f'A measurement on {count} cores was asked for, but {available} can be '
      'used here; --cores chooses.'
    )


def measure_in_child(request: Request) -> Result:
  """Measures in a new process.

  Args:
    request: What to measure.

  Returns:
    The result.

  Raises:
    RuntimeError: If the process failed.
  """
  fields = child_process.ask(
    'launch.benchmarks.measurement',
    request,
    # All rows alike; the package's contexts want it so that results do not
    # depend on the number of cores.
    environment={'TF_NUM_INTRAOP_THREADS': '1'},
  )
  fields['general_path_reasons'] = tuple(fields['general_path_reasons'])
  return Result(**fields)


def measure(request: Request) -> Result:
  """Measures in this process."""
  # Imported late: TensorFlow counts the cores it may use when it starts.
  from launch.benchmarks import process_memory  # pylint: disable=g-import-not-at-top
  from launch.benchmarks import round_time  # pylint: disable=g-import-not-at-top
  from launch.benchmarks import rows as rows_lib  # pylint: disable=g-import-not-at-top
  from launch.benchmarks import workloads  # pylint: disable=g-import-not-at-top

  workload = workloads.WORKLOADS[request.workload]
  clients = workload.generate_clients(request.num_clients, request.num_examples)
  rows = rows_lib.Rows(workload, clients)
  try:
    rounds = {}
    first_round_seconds = None
    # The row whose first round is timed comes before all else in TensorFlow.
    for name in sorted(
      request.rows or (plan.FIRST_ROUND_ROW,),
      key=lambda name: name != plan.FIRST_ROUND_ROW,
    ):
      initialize = rows.build(name)

      def start(name=name, initialize=initialize):
        rounds[name] = initialize()
        rounds[name]()

      seconds = round_time.seconds_of(start)
      if name == plan.FIRST_ROUND_ROW:
        first_round_seconds = seconds
    seconds = round_time.measure_in_turns(
      {name: rounds[name] for name in request.rows or rounds},
      repeats=request.repeats,
    )
    return Result(
      seconds=seconds,
      first_round_seconds=first_round_seconds,
      peak_bytes=process_memory.peak_resident_bytes()
      - sum(array.nbytes for client in clients for array in client),
      general_path_reasons=rows.general_path_reasons,
    )
  finally:
    rows.close()


def main(arguments: list[str]) -> None:
  """Answers the request in the first argument on the last line of stdout."""
  fields = json.loads(arguments[1])
  request = Request(**{**fields, 'rows': tuple(fields['rows'])})
  # Before TensorFlow is imported; TFF's worker inherits it.
  os.sched_setaffinity(0, available_cores()[: request.cores])
  print(json.dumps(dataclasses.asdict(measure(request))), flush=True)


if __name__ == '__main__':
  main(sys.argv)
