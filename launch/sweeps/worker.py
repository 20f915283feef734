# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The work of the processes of a sweep.

TensorFlow is imported when `train` is called, or by the process from which the
sweep forks the others, but not by the sweep itself.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import functools
import os
import pathlib
import resource
import sys
import time
import traceback
import typing
from typing import Any
from typing import NamedTuple

from fedfish_tff import errors
from fedfish_tff import regular_files
from fedfish_tff import trust as trust_lib
from fedfish_tff.execution import contexts
from fedfish_tff.simulation import files
from launch import cli
from launch.methods import config_checks

import psutil

if typing.TYPE_CHECKING:
  from launch.runs import run_sequence

# The modules that a run imports, loaded once and shared by all processes.
PRELOADED = (
  'launch.runs.run_sequence',
  'launch.runs.evaluation_run',
)
# The length to which a reason is cut; the log has the whole reason.
_MAX_ERROR = 1000


@dataclasses.dataclass(frozen=True, kw_only=True)
class Job:
  """Work for one process.

  Attributes:
    name: The name in the sweep.
    function: The function, which other processes can import.
    arguments: The keyword arguments of the function.
    log_path: The file to which output is appended.
    heading: The first line of the log.
    group: The group of jobs that may follow one another in a process, sharing
      what it has made; None for a separate process.
    after: The names of the jobs that must have ended before.
  """

  name: str
  function: Callable[..., None]
  arguments: Mapping[str, Any]
  log_path: pathlib.Path
  heading: str = ''
  group: str | None = None
  after: Collection[str] = ()


class Outcome(NamedTuple):
  """The outcome of a job.

  Attributes:
    error: The reason of the failure, in one line; None if the job succeeded.
    seconds: The duration in seconds.
    peak_bytes: The peak memory in bytes, beyond that of the process before its
      first job; 0 if unknown.
  """

  error: str | None
  seconds: float = 0.0
  peak_bytes: int = 0


def do(job: Job) -> Outcome:
  """Runs a job in this process, with its output in the job's log."""
  began, initial_bytes = time.monotonic(), _initial_bytes()
  error = None
  try:
    _redirect_output(job)
    job.function(**job.arguments)
  except errors.InputError as exception:
    error = ' '.join(str(exception).split())
  except KeyboardInterrupt as exception:
    error = str(exception) or 'Interrupted.'
  except (Exception, SystemExit) as exception:
    traceback.print_exc()
    text = ' '.join(str(exception).split())
    error = f'{type(exception).__name__}: {text}'
  if error:
    print(f'FAILED: {error}', file=sys.stderr)
    if len(error) > _MAX_ERROR:
      error = f'{error[:_MAX_ERROR]}...'
  peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
  return Outcome(error, time.monotonic() - began, peak - initial_bytes)


@functools.cache
def _initial_bytes() -> int:
  """Returns the memory of this process at the first call."""
  return psutil.Process().memory_info().rss


def _redirect_output(job: Job) -> None:
  """Appends the output of this process to the log of a job."""
  flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
  try:
    descriptor = regular_files.own_opener(job.log_path, flags)
  except OSError as error:
    raise files.unwritable_error(job.log_path, error) from error
  for number in (1, 2):
    os.dup2(descriptor, number)
  os.close(descriptor)
  cli.open_streams()
  now = time.strftime('%Y-%m-%d %H:%M:%S')
  print(f'[{now}] {job.heading or job.name}')


def train(
  *,
  config: Mapping[str, Any],
  workdir: pathlib.Path,
  data_dir: str | None,
  trust: trust_lib.Trust,
  is_trained: bool,
  evaluated: bool,
  starts: Mapping[str, pathlib.Path],
) -> None:
  """Trains one run and evaluates it on request, resuming unfinished work.

  Args:
    config: The config as nested mappings.
    workdir: The workdir of the run.
    data_dir: The folder of the data, for tasks that read files.
    trust: The trust in the programs that the config names.
    is_trained: Whether the run is already trained to its end.
    evaluated: Whether to evaluate the run.
    starts: The runs that a fine-tuning may start from; see
      `training_run.train_task`.
  """
  from launch.runs import evaluation_run  # pylint: disable=g-import-not-at-top

  if not is_trained:
    sequence = _run_sequence(data_dir)
    sequence.train(
      config_checks.read(config, trust=trust), workdir, starts=starts
    )
  if evaluated:
    # Apart from the runs', whose compiled graphs it keeps.
    contexts.set_default_context()
    # The workdir has no other config, which training has checked.
    evaluation_run.evaluate(workdir, data_dir=data_dir, trust=trust)


@functools.cache
def _run_sequence(data_dir: str | None) -> run_sequence.RunSequence:
  """Returns the sequence of this process, in which runs share traces."""
  from launch.runs import run_sequence  # pylint: disable=g-import-not-at-top

  return run_sequence.RunSequence(data_dir=data_dir)
