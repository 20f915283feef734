# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Measures rounds of a workload in a new process, on the cores it is given."""

import dataclasses
import os
import pathlib
import re
from typing import Any

from benchmarks import child_process
from benchmarks import peer_rounds
from benchmarks import workloads
from fedfish_tff import errors


@dataclasses.dataclass(frozen=True, kw_only=True)
class Result:
  """What was measured.

  Attributes:
    seconds: Median seconds of a round, by row.
    first_round_seconds: Of `workloads.FIRST_ROUND_ROW`, from a process that is
      built, the first computation here, to the end of its first round.
    peak_bytes: The most resident memory, without the clients' data.
    general_path_reasons: Why rounds ran client by client, if they did.
  """

  seconds: dict[str, float]
  first_round_seconds: float
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


def measure_in_child(
  workload: str,
  *,
  num_clients: int,
  rows: list[str],
  repeats: int,
  cores: int,
  task_path: str = '',
) -> Result:
  """Measures in a new process.

  Args:
    workload: Of `workloads.WORKLOADS`.
    num_clients: Clients in the cohort.
    rows: Of `workloads.ROWS`, with that whose first round is timed.
    repeats: Measured rounds of each.
    cores: Cores that the process may use.
    task_path: A file for the round as peers take it; none if empty.

  Raises:
    RuntimeError: If the process failed.
  """
  answer = child_process.call(
    measure,
    dict(
      workload=workload,
      num_clients=num_clients,
      rows=rows,
      repeats=repeats,
      cores=cores,
      task_path=task_path,
    ),
    # All rows alike; the package's contexts want it so that results do not
    # depend on the number of cores.
    environment={'TF_NUM_INTRAOP_THREADS': '1'},
  )
  answer['general_path_reasons'] = tuple(answer['general_path_reasons'])
  return Result(**answer)


def measure(
  workload: str,
  num_clients: int,
  rows: list[str],
  repeats: int,
  cores: int,
  task_path: str = '',
) -> dict[str, Any]:
  """Does what `measure_in_child` does, in this process."""
  # Before TensorFlow is imported; TFF's worker inherits it.
  os.sched_setaffinity(0, available_cores()[:cores])
  from benchmarks import round_time  # pylint: disable=g-import-not-at-top
  from benchmarks import rounds as rounds_lib  # pylint: disable=g-import-not-at-top

  plan = workloads.WORKLOADS[workload]
  clients = rounds_lib.NETWORKS[plan.network].generate_clients(
    num_clients, plan.num_examples
  )
  built = rounds_lib.Rounds(plan, clients)
  try:
    rounds = {}
    first_seconds = {}
    # The row whose first round is timed comes before all else in TensorFlow.
    for name in sorted(rows, key=lambda n: n != workloads.FIRST_ROUND_ROW):
      initialize = built.build(name)

      def start(name=name, initialize=initialize):
        rounds[name] = initialize()
        rounds[name]()

      first_seconds[name] = round_time.seconds_of(start)
    seconds = round_time.measure_in_turns(
      {name: rounds[name] for name in rows}, repeats=repeats
    )
    if task_path:
      peer_rounds.write_task(
        task_path,
        clients,
        built.initial_weights,
        rounds[workloads.YARDSTICK](),
        batch_size=plan.batch_size,
        learning_rate=rounds_lib.CLIENT_LEARNING_RATE,
        repeats=repeats,
      )
    return dict(
      seconds=seconds,
      first_round_seconds=first_seconds[workloads.FIRST_ROUND_ROW],
      peak_bytes=_peak_resident_bytes()
      - sum(array.nbytes for client in clients for array in client),
      general_path_reasons=built.general_path_reasons,
    )
  finally:
    built.close()


def _peak_resident_bytes() -> int:
  """Returns the most that has been resident since the program started.

  Not `getrusage`: its peak includes that of the process which forked this one.
  """
  status = pathlib.Path('/proc/self/status').read_text()
  return 1024 * int(re.search(r'VmHWM:\s*(\d+) kB', status)[1])
