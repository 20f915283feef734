# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Time and memory of opening clients, measured in a process of its own.

Figures are by what they are of, as the table has it.
"""

import os
import statistics
import time

from launch.benchmarks import child_process
from launch.benchmarks import round_time

import psutil

Figures = dict[str, float]


def measure_in_child(
  folder: str | os.PathLike[str],
  *,
  cohort_size: int,
  cohorts: int,
  window: int,
) -> Figures:
  """Measures by id and as a stream, each in a new process.

  Memory is not given back: what was resident before counts for nothing.

  Args:
    folder: Of `generated_text.write_clients`.
    cohort_size: Clients in a cohort.
    cohorts: How many cohorts; figures are medians over them.
    window: The shuffle window of the stream, in clients.

  Raises:
    RuntimeError: If a process failed.
  """
  arguments = dict(
    folder=os.fspath(folder), cohort_size=cohort_size, cohorts=cohorts
  )
  return {
    **child_process.call(measure_by_id, arguments),
    **child_process.call(measure_stream, {**arguments, 'window': window}),
  }


def measure_by_id(folder: str, cohort_size: int, cohorts: int) -> Figures:
  """Measures `GroupedClientData`, whose index is in memory."""
  # Imported late: TensorFlow comes with them.
  from fedfish_tff import datasets  # pylint: disable=g-import-not-at-top
  from fedfish_tff import simulation  # pylint: disable=g-import-not-at-top
  from launch.benchmarks import generated_text  # pylint: disable=g-import-not-at-top

  # Symbols import their modules when they are first used.
  open_folder = datasets.GroupedClientData
  create_participation = simulation.uniform_participation
  before, start = resident_bytes(), time.perf_counter()
  data = open_folder(folder, generated_text.SPLIT)
  participation = create_participation(
    data.client_ids, cohort_size=cohort_size, seed=0
  )
  opened = time.perf_counter() - start
  client_ids = []

  def draw(number: int) -> None:
    client_ids[:] = participation(number)

  def load() -> None:
    for client_id in client_ids:
      data.load_client(client_id)

  drawn, loaded = [], []
  for number in range(1, cohorts + 1):
    drawn.append(round_time.seconds_of(lambda number=number: draw(number)))
    load()  # From here on, the system has it in memory.
    loaded.append(round_time.seconds_of(load))
  return {
    'index in memory, MB': data.index_bytes / 1e6,
    'by id: open the data set, ms': 1e3 * opened,
    'by id: draw a cohort, ms': 1e3 * statistics.median(drawn),
    'by id: load it, ms': 1e3 * statistics.median(loaded),
    'by id: resident memory, MB': (resident_bytes() - before) / 1e6,
  }


def measure_stream(
  folder: str, cohort_size: int, cohorts: int, window: int
) -> Figures:
  """Measures `StreamedClients`, which has no index."""
  # Imported late, as above.
  from fedfish_tff import datasets  # pylint: disable=g-import-not-at-top
  from launch.benchmarks import generated_text  # pylint: disable=g-import-not-at-top

  open_stream = datasets.StreamedClients
  before, start = resident_bytes(), time.perf_counter()
  stream = open_stream(folder, generated_text.SPLIT, window=window, seed=0)
  opened = time.perf_counter() - start
  following = stream.cohorts(cohort_size)
  seconds = [
    round_time.seconds_of(lambda: next(following)) for _ in range(cohorts)
  ]
  return {
    'stream: open the data set, ms': 1e3 * opened,
    'stream: first cohort, ms': 1e3 * seconds[0],
    'stream: next cohort, ms': 1e3 * statistics.median(seconds),
    'stream: resident memory, MB': (resident_bytes() - before) / 1e6,
  }


def resident_bytes() -> int:
  """Returns how much memory of this process is resident now."""
  return psutil.Process().memory_info().rss
