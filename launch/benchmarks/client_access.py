# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Time and memory of opening clients, measured in a process of its own."""

from collections.abc import Callable
from collections.abc import Iterator
import dataclasses
import json
import os
import pathlib
import statistics
import sys
import time
from typing import Any

from launch.benchmarks import child_process


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request:
  """What to measure.

  Attributes:
    folder: Of `generated_folder.generate`.
    cohort_size: Clients in a cohort.
    cohorts: How many cohorts; figures are medians over them.
    window: The shuffle window of a stream; 0 for random access by id.
  """

  folder: str
  cohort_size: int
  cohorts: int
  window: int = 0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Result:
  """What was measured.

  Attributes:
    open_seconds: To open the data set, in a process that has imported all.
    draw_seconds: To choose a cohort's clients; None of a stream.
    first_seconds: To load the first cohort, its files not in memory.
    cold_seconds: To load a cohort whose files are not in memory.
    warm_seconds: To load a cohort whose files are.
    index_bytes: The bytes of the index in memory; None of a stream.
    resident_bytes: How much resident memory has grown, all in all.
  """

  open_seconds: float
  draw_seconds: float | None
  first_seconds: float
  cold_seconds: float
  warm_seconds: float
  index_bytes: int | None
  resident_bytes: int


def measure_in_child(request: Request) -> Result:
  """Measures in a new process, since memory is not given back.

  Args:
    request: What to measure.

  Returns:
    The result.

  Raises:
    RuntimeError: If the process failed.
  """
  answer = child_process.ask('launch.benchmarks.client_access', request)
  return Result(**answer)


def measure(request: Request) -> Result:
  """Measures in this process."""
  # Imported late: TensorFlow comes with them.
  from fedfish_tff import datasets  # pylint: disable=g-import-not-at-top
  from fedfish_tff import simulation  # pylint: disable=g-import-not-at-top
  from launch.benchmarks import generated_folder  # pylint: disable=g-import-not-at-top
  from launch.benchmarks import process_memory  # pylint: disable=g-import-not-at-top

  before = process_memory.resident_bytes()
  draw_seconds = []
  if request.window:
    opened = time.perf_counter()
    stream = datasets.StreamedClients(
      request.folder, generated_folder.SPLIT, window=request.window, seed=0
    )
    loads = _stream_cohorts(stream, request)
  else:
    opened = time.perf_counter()
    data = datasets.GroupedClientData(request.folder, generated_folder.SPLIT)
    participation = simulation.uniform_participation(
      data.client_ids, cohort_size=request.cohort_size, seed=0
    )
    loads = _random_cohorts(data, participation, request, draw_seconds)
  open_seconds = time.perf_counter() - opened
  cold_seconds, warm_seconds = [], []
  for load in loads:
    _forget_files(request.folder)
    cold_seconds.append(_seconds_of(load))
    warm_seconds.append(_seconds_of(load))
  return Result(
    open_seconds=open_seconds,
    draw_seconds=statistics.median(draw_seconds) if draw_seconds else None,
    first_seconds=cold_seconds[0],
    cold_seconds=statistics.median(cold_seconds),
    warm_seconds=statistics.median(warm_seconds),
    index_bytes=None if request.window else data.index_bytes,
    resident_bytes=process_memory.resident_bytes() - before,
  )


def _random_cohorts(
  data: Any,
  participation: Callable[[int], tuple[str, ...]],
  request: Request,
  draw_seconds: list[float],
) -> Iterator[Callable[[], None]]:
  """Yields functions that load a cohort's clients."""
  for number in range(1, request.cohorts + 1):
    start = time.perf_counter()
    client_ids = participation(number)
    draw_seconds.append(time.perf_counter() - start)

    def load(client_ids=client_ids):
      for client_id in client_ids:
        data.load_client(client_id)

    yield load


def _stream_cohorts(
  stream: Any, request: Request
) -> Iterator[Callable[[], None]]:
  """Yields functions that give the next cohort of one of two equal streams.

  The first call finds another's files on disk, the second in memory.
  """
  streams = [stream.cohorts(request.cohort_size) for _ in range(2)]
  for _ in range(request.cohorts):
    turns = iter(streams)
    yield lambda turns=turns: next(next(turns))


def _seconds_of(function: Callable[[], Any]) -> float:
  start = time.perf_counter()
  function()
  return time.perf_counter() - start


def _forget_files(folder: str) -> None:
  """Asks the system to drop what it keeps of the shards in memory."""
  for path in pathlib.Path(folder).glob('*.tfrecord'):
    descriptor = os.open(path, os.O_RDONLY)
    try:
      os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
      os.close(descriptor)


def main(arguments: list[str]) -> None:
  """Answers the request in the first argument on the last line of stdout."""
  result = measure(Request(**json.loads(arguments[1])))
  print(json.dumps(dataclasses.asdict(result)), flush=True)


if __name__ == '__main__':
  main(sys.argv)
