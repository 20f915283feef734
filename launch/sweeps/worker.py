# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The program of a sweep's worker, which trains one run after another.

  python -m launch.sweeps.worker

A line of stdin is a `Job` in JSON, and a line of stdout its `Outcome`; what else
is printed goes to the job's log. An empty line ends the program, and so does the
end of stdin, at once: the sweep has been killed. Jobs share what `run_sequence`
has traced. The first job imports TensorFlow.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools
from importlib import metadata
import json
import os
import pathlib
import queue
import re
import socket
import sys
import threading
import time
import traceback
import typing
from typing import Any
from typing import NamedTuple

import fedfish_tff
from fedfish_tff import errors
from fedfish_tff import regular_files
from fedfish_tff import trust as trust_lib
from fedfish_tff.execution import contexts
from fedfish_tff.simulation import files
from launch import cli
from launch import json_config

if typing.TYPE_CHECKING:
  from launch.runs import run_sequence

_INTERRUPTED = 130
# The length to which a reason is cut; the log has the whole reason.
_MAX_ERROR = 1000
# The packages that results depend on, beside this one.
_DISTRIBUTIONS = ('tensorflow', 'tensorflow_federated', 'numpy')
_MEMORY = re.compile(r'(VmHWM|RssFile):\s*(\d+) kB')


@dataclasses.dataclass(frozen=True, kw_only=True)
class Job:
  """A run of a sweep, which JSON can hold.

  Attributes:
    name: The run's name in the sweep.
    arguments: The keyword arguments of `train`.
    log_path: The file to which output is appended.
    heading: The first line of the log.
    versions: The `versions` of the sweep.
    group: The group of jobs that may follow one another in a worker, sharing
      what it has traced; None for a worker of its own.
    after: The names of the jobs that must have ended before.
  """

  name: str
  arguments: Mapping[str, Any]
  log_path: str
  heading: str
  versions: Mapping[str, str]
  group: str | None = None
  after: Collection[str] = ()


class Outcome(NamedTuple):
  """The outcome of a job.

  Attributes:
    error: The reason of the failure, in one line; None if the job succeeded.
    seconds: The duration in seconds.
    peak_bytes: The peak memory of the worker in bytes, without libraries; 0 if
      unknown.
  """

  error: str | None
  seconds: float = 0.0
  peak_bytes: int = 0


def main(argv: Sequence[str]) -> None:
  """Runs the program."""
  cli.check_no_arguments(argv)
  with open(os.dup(1), 'w', encoding='utf-8') as outcomes:
    os.dup2(2, 1)
    for line in _read_lines():
      outcome = _do(Job(**json.loads(line)))
      print(json.dumps(outcome._asdict()), file=outcomes, flush=True)


def _read_lines() -> Iterator[str]:
  """Yields the lines of stdin up to an empty one; its end ends the process."""
  lines = queue.SimpleQueue()
  stdin = sys.stdin

  def read() -> None:
    for line in map(str.strip, stdin):
      lines.put(line)
      if not line:
        return
    os._exit(_INTERRUPTED)

  threading.Thread(target=read, name='read_lines', daemon=True).start()
  while line := lines.get():
    yield line


def _do(job: Job) -> Outcome:
  """Runs a job, with its output in the job's log."""
  began = time.monotonic()
  error = None
  try:
    _check_node(job)
    _redirect_output(job)
    train(**job.arguments)
  except errors.InputError as exception:
    error = ' '.join(str(exception).split())
  except (Exception, SystemExit) as exception:
    traceback.print_exc()
    text = ' '.join(str(exception).split())
    error = f'{type(exception).__name__}: {text}'
  if error:
    print(f'FAILED: {error}', file=sys.stderr)
    if len(error) > _MAX_ERROR:
      error = f'{error[:_MAX_ERROR]}...'
  return Outcome(error, time.monotonic() - began, _peak_bytes())


def versions() -> dict[str, str]:
  """Returns the versions of the packages that results depend on."""
  return {
    'fedfish_tff': fedfish_tff.__version__,
    **{name: metadata.version(name) for name in _DISTRIBUTIONS},
  }


def _check_node(job: Job) -> None:
  """Raises InputError unless this machine has what a job needs."""
  node, folder = socket.gethostname(), os.path.dirname(job.log_path)
  if versions() != job.versions:
    raise errors.InputError(
      f'The node {node} has {versions()}, but the sweep has {job.versions}.'
    )
  if not os.path.isdir(folder):
    raise errors.InputError(
      f'The node {node} has no {folder}: all nodes need the folder of the sweep.'
    )


def _peak_bytes() -> int:
  """Returns the peak memory without libraries, which processes share.

  That of getrusage begins with the parent's.
  """
  status = pathlib.Path('/proc/self/status').read_text(encoding='ascii')
  found = {name: 1024 * int(size) for name, size in _MEMORY.findall(status)}
  return max(0, found.get('VmHWM', 0) - found.get('RssFile', 0))


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
  print(f'[{now}] {job.heading}')


def train(
  *,
  config: Mapping[str, Any],
  workdir: str,
  data_dir: str | None,
  trust: Mapping[str, bool],
  is_trained: bool,
  evaluated: bool,
  starts: Mapping[str, str],
) -> None:
  """Trains one run and evaluates it on request, resuming unfinished work.

  Args:
    config: The config as nested mappings.
    workdir: The workdir of the run.
    data_dir: The folder of the data, for tasks that read files.
    trust: The fields of the `Trust` in the programs that the config names.
    is_trained: Whether the run is already trained to its end.
    evaluated: Whether to evaluate the run.
    starts: The workdirs that a fine-tuning may start from, as for
      `training_run.train_task`.
  """
  from launch.methods import config_checks  # pylint: disable=g-import-not-at-top
  from launch.runs import evaluation_run  # pylint: disable=g-import-not-at-top

  trusted = trust_lib.Trust(**trust)
  if not is_trained:
    _run_sequence(data_dir).train(
      config_checks.read(json_config.with_tuples(config), trust=trusted),
      workdir,
      starts=starts,
    )
  if evaluated:
    # Apart from the runs', whose compiled graphs it keeps.
    contexts.set_default_context()
    # The workdir has no other config, which training has checked.
    evaluation_run.evaluate(workdir, data_dir=data_dir, trust=trusted)


@functools.cache
def _run_sequence(data_dir: str | None) -> run_sequence.RunSequence:
  """Returns the sequence of this process, in which runs share traces."""
  from launch.runs import run_sequence  # pylint: disable=g-import-not-at-top

  return run_sequence.RunSequence(data_dir=data_dir)


if __name__ == '__main__':
  cli.run(main)
