# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Time and memory of grouping lines, measured in a process of its own."""

import logging
import pathlib
import tempfile
import time
from typing import NamedTuple

from launch.benchmarks import child_process

import psutil


class Result(NamedTuple):
  """What was measured.

  Attributes:
    seconds: From a pipeline that is not built yet to its end, without imports.
    clients: The number of clients.
    examples: The number of their examples.
    peak_bytes: The most memory that was resident of all processes together.
  """

  seconds: float
  clients: int
  examples: int
  peak_bytes: int = 0


def measure_in_child(pattern: str, *, plain: bool, num_shards: int) -> Result:
  """Measures in a new process.

  Args:
    pattern: The files.
    plain: Whether by Beam's GroupByKey; else by this package.
    num_shards: Files to write.

  Raises:
    RuntimeError: If the process failed.
  """
  peak = 0

  def watch(process_id: int) -> None:
    nonlocal peak
    peak = max(peak, tree_resident_bytes(process_id))

  answer = child_process.call(
    measure,
    dict(pattern=pattern, plain=plain, num_shards=num_shards),
    while_running=watch,
  )
  return Result(*answer)._replace(peak_bytes=peak)


def tree_resident_bytes(process_id: int) -> int:
  """Returns how much is resident of a process and all that it started.

  What they share counts for each of them.

  Args:
    process_id: The process; if it has ended, nothing is resident.
  """
  total = 0
  try:
    process = psutil.Process(process_id)
    for one in (process, *process.children(recursive=True)):
      total += one.memory_info().rss
  except psutil.Error:  # It ends just now.
    pass
  return total


def measure(pattern: str, plain: bool, num_shards: int) -> Result:
  """Does what `measure_in_child` does, but for the memory, in this process."""
  # Imported late: Beam and TFDS take seconds.
  from fedfish_tff.datasets import grouping  # pylint: disable=g-import-not-at-top
  from launch.benchmarks import plain_grouping  # pylint: disable=g-import-not-at-top

  logging.getLogger('apache_beam').setLevel(logging.ERROR)
  with tempfile.TemporaryDirectory() as folder:
    start = time.perf_counter()
    if plain:
      clients, examples = plain_grouping.count_groups(
        pattern, path=pathlib.Path(folder, 'counts')
      )
    else:
      grouped = grouping.group(
        grouping.TextSource(
          format='c4',
          pattern=pattern,
          # As the plain one has it.
          key=grouping.ClientKey(name='host', keep_www=True),
        ),
        folder,
        options=grouping.GroupingOptions(num_shards=num_shards),
      )
      total = grouped.statistics()['total']
      clients, examples = total['clients'], total['examples']
    return Result(time.perf_counter() - start, clients, examples)
