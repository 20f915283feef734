# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Time and memory of grouping lines, measured in a process of its own."""

import dataclasses
import json
import logging
import pathlib
import sys
import tempfile
import time

from launch.benchmarks import child_process
from launch.benchmarks import process_memory


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request:
  """What to measure.

  Attributes:
    pattern: The files.
    plain: Whether by Beam's GroupByKey; else by this package.
    workers: Worker processes; with one, the work is done in the process itself.
    num_shards: Files to write.
  """

  pattern: str
  plain: bool
  workers: int
  num_shards: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class Result:
  """What was measured.

  Attributes:
    seconds: From a pipeline that is not built yet to its end, with the start of
      workers, but not the imports of this process.
    peak_bytes: The most memory that was resident of all processes together.
    clients: The number of clients.
    examples: The number of their examples.
  """

  seconds: float
  peak_bytes: int
  clients: int
  examples: int


def measure_in_child(request: Request) -> Result:
  """Measures in a new process.

  Args:
    request: What to measure.

  Returns:
    The result.

  Raises:
    RuntimeError: If the process failed.
  """
  peak = 0

  def watch(process_id: int) -> None:
    nonlocal peak
    peak = max(peak, process_memory.tree_resident_bytes(process_id))

  answer = child_process.ask(
    'launch.benchmarks.grouping_measurement', request, while_running=watch
  )
  return Result(peak_bytes=peak, **answer)


def measure(request: Request) -> tuple[float, int, int]:
  """Groups in this process and its workers.

  Args:
    request: What to measure.

  Returns:
    Seconds, clients and examples.
  """
  # Imported late: Beam and TFDS take seconds.
  from fedfish_tff.datasets import grouping  # pylint: disable=g-import-not-at-top
  from launch.benchmarks import plain_grouping  # pylint: disable=g-import-not-at-top

  # What workers say on their start.
  logging.getLogger('apache_beam').setLevel(logging.ERROR)
  workers = (
    [f'--direct_num_workers={request.workers}'] if request.workers > 1 else []
  )
  beam_flags = grouping.complete_beam_flags(workers)
  with tempfile.TemporaryDirectory() as folder:
    start = time.perf_counter()
    if request.plain:
      clients, examples = plain_grouping.count_groups(
        request.pattern,
        beam_flags=beam_flags,
        path=pathlib.Path(folder, 'counts'),
      )
    else:
      grouped = grouping.group(
        grouping.TextSource(
          format='c4',
          pattern=request.pattern,
          # As the plain one has it.
          key=grouping.ClientKey(name='host', keep_www=True),
        ),
        folder,
        options=grouping.GroupingOptions(num_shards=request.num_shards),
        beam_flags=beam_flags,
      )
      total = grouped.statistics()['total']
      clients, examples = total['clients'], total['examples']
    return time.perf_counter() - start, clients, examples


def main(arguments: list[str]) -> None:
  """Answers the request in the first argument on the last line of stdout."""
  seconds, clients, examples = measure(Request(**json.loads(arguments[1])))
  answer = {'seconds': seconds, 'clients': clients, 'examples': examples}
  print(json.dumps(answer), flush=True)


if __name__ == '__main__':
  main(sys.argv)
