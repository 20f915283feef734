# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Measures rounds of a workload in a new process, on given cores.

Rows are timed in turns, so that other work on the machine affects all.
"""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import json
import os
import statistics
import sys
import time
from typing import Any

from benchmarks import peer_rounds
from benchmarks import workloads

# A row that was measured for so long needs no further round.
_ENOUGH_SECONDS = 8.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Result:
  """The figures of one process.

  Attributes:
    seconds: The median seconds of a round, by row.
    first_round_seconds: The seconds of the first computation of this process:
      from a built process of `workloads.FIRST_ROUND_ROW` to the end of its
      first round.
    general_path_reasons: The reasons why rounds ran client by client, if any.
  """

  seconds: dict[str, float]
  first_round_seconds: float
  general_path_reasons: Sequence[str]


def in_new_process(**arguments: Any) -> Result:
  """Returns the result of `measure` in a new process.

  The number of threads is fixed when TensorFlow starts, so each measurement has
  its own process.

  Args:
    **arguments: The arguments of `measure`.
  """
  answer = peer_rounds.call(
    *(sys.executable, '-m', 'benchmarks.measurement', json.dumps(arguments)),
    # The same for all rows. The package's contexts use one thread, so results
    # do not depend on the number of cores.
    TF_NUM_INTRAOP_THREADS='1',
  )
  return Result(**answer)


def measure(
  workload: str,
  *,
  num_clients: int,
  rows: Sequence[str],
  repeats: int,
  cores: int,
  task_path: str | None = None,
) -> Result:
  """Measures in this process, which must be a new one.

  Args:
    workload: A name in `workloads.WORKLOADS`.
    num_clients: The cohort size.
    rows: Names in `workloads.ROWS`, `workloads.FIRST_ROUND_ROW` included.
    repeats: The number of measured rounds of each.
    cores: The number of cores that the process may use.
    task_path: The file to write the round to for peers; None for no file.
  """
  # Before TensorFlow is imported; TFF's worker inherits it.
  os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
  from benchmarks import rounds as rounds_lib  # pylint: disable=g-import-not-at-top

  plan = workloads.WORKLOADS[workload]
  clients = rounds_lib.NETWORKS[plan.network].generate_clients(num_clients)
  built = rounds_lib.Rounds(plan, clients)
  try:
    rounds = {}
    first_seconds = {}
    # The row with the timed first round runs before anything else in
    # TensorFlow.
    for name in sorted(rows, key=lambda n: n != workloads.FIRST_ROUND_ROW):
      initialize = built.build(name)

      def start(name=name, initialize=initialize):
        rounds[name] = initialize()
        rounds[name]()

      first_seconds[name] = seconds_of(start)
    seconds = measure_in_turns(
      {name: rounds[name] for name in rows}, repeats=repeats
    )
    if task_path is not None:
      built.write_task(
        task_path, rounds[workloads.YARDSTICK](), repeats=repeats
      )
    return Result(
      seconds=seconds,
      first_round_seconds=first_seconds[workloads.FIRST_ROUND_ROW],
      general_path_reasons=built.general_path_reasons,
    )
  finally:
    built.close()


def seconds_of(run: Callable[[], object]) -> float:
  """Returns the seconds of a call."""
  start = time.perf_counter()
  run()
  return time.perf_counter() - start


def measure_in_turns(
  rows: Mapping[str, Callable[[], object]], *, repeats: int
) -> dict[str, float]:
  """Returns the median seconds of each row.

  Args:
    rows: The calls, by name.
    repeats: The number of calls of each, fewer of those that take long.
  """
  seconds: dict[str, list[float]] = {name: [] for name in rows}
  for _ in range(repeats):
    for name, run in rows.items():
      if sum(seconds[name]) < _ENOUGH_SECONDS:
        seconds[name].append(seconds_of(run))
  return {name: statistics.median(values) for name, values in seconds.items()}


if __name__ == '__main__':
  print(json.dumps(dataclasses.asdict(measure(**json.loads(sys.argv[1])))))
