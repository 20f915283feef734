# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Compares the cohort context with TFF's own runtime on programs of TFF.

  python -m launch.benchmarks.programs --markdown=docs/execution.md
  python -m launch.benchmarks.programs --programs='*IBLT*' --repeats=3

Runs all of `tff.learning.algorithms` and `tff.analytics`, operations on sequences,
datasets that graphs make, and ten Keras models (`program_cases`): the first call,
which compiles, and the next ones. Both contexts take turns in one process, each
with a new context for every first call, so that nothing is left of the one before.
A quarter of an hour on a quiet machine.
"""

from collections.abc import Callable
from collections.abc import Sequence
import fnmatch
import gc
import pathlib
import shlex
import sys
from typing import Any

from fedfish_tff import errors
from launch import cli
from launch.benchmarks import markdown_file
from launch.benchmarks import report

from absl import flags

_PROGRAMS = flags.DEFINE_string(
  'programs', '*', 'Which programs to run: a pattern of their names.'
)
_REPEATS = flags.DEFINE_integer(
  'repeats', 5, 'First calls of each program.', lower_bound=1
)
_CALLS = flags.DEFINE_integer(
  'calls', 5, 'Calls after each first call.', lower_bound=1
)
_MARKDOWN = flags.DEFINE_string(
  'markdown',
  None,
  'A file for the table as Markdown: a new one, or one with a part for it.',
)


def _measure(
  make: Callable[[], Callable[[], Any]],
) -> tuple[list[str], tuple[str, ...]]:
  """Returns a program's cells, and why clients ran one by one, if they did."""
  # Imported late: flags answer at once.
  from fedfish_tff.execution import cohort_context  # pylint: disable=g-import-not-at-top
  from fedfish_tff.execution.worker import local_worker  # pylint: disable=g-import-not-at-top
  from launch.benchmarks import program_cases  # pylint: disable=g-import-not-at-top
  from launch.benchmarks import round_time  # pylint: disable=g-import-not-at-top

  import tensorflow_federated as tff  # pylint: disable=g-import-not-at-top

  stack = tff.framework.get_context_stack()
  first: list[list[float]] = [[], []]
  following: list[list[float]] = [[], []]
  reasons = ()
  for _ in range(_REPEATS.value):
    ours = cohort_context.SyncCohortExecutionContext()
    with local_worker.SyncLocalWorkerExecutionContext() as theirs:
      runs = []
      for context, seconds in zip((ours, theirs), first):
        with stack.install(context):
          # The worker starts with its first call.
          program_cases.warm_up()
          runs.append(make())
          gc.collect()
          seconds.append(round_time.seconds_of(runs[-1]))
      for _ in range(_CALLS.value):
        for context, run, seconds in zip((ours, theirs), runs, following):
          with stack.install(context):
            seconds.append(round_time.seconds_of(run))
      reasons = ours.general_path_reasons
  cells = []
  for here, there in (first, following):
    # What else the machine does only adds.
    here, there = min(here), min(there)
    cells += [
      f'{1e3 * here:,.0f}',
      f'{1e3 * there:,.0f}',
      f'{here / there:.2f}',
    ]
  return cells, reasons


def main(argv: Sequence[str]) -> None:
  """Prints the table."""
  cli.check_no_arguments(argv)
  path = None if _MARKDOWN.value is None else pathlib.Path(_MARKDOWN.value)
  if path is not None:
    markdown_file.check(path)
  from fedfish_tff import execution  # pylint: disable=g-import-not-at-top

  # Before the first operation, that of `program_cases`.
  execution.set_default_context()
  from launch.benchmarks import program_cases  # pylint: disable=g-import-not-at-top

  lines = [['milliseconds', 'first', 'TFF', 'ratio', 'next', 'TFF', 'ratio']]
  notes = [
    f"{report.processor()}. First call, then next calls; TFF is TFF's own "
    f'runtime. The shortest of {_REPEATS.value} first calls and of '
    f'{_REPEATS.value * _CALLS.value} others, in turns. 8 clients with 50 '
    'examples each, batches of 10.'
  ]
  for group, cases in program_cases.CASES.items():
    cases = {
      n: c for n, c in cases.items() if fnmatch.fnmatch(n, _PROGRAMS.value)
    }
    if cases:
      lines.append([group] + [''] * 6)
    for name, make in cases.items():
      print(name, file=sys.stderr, flush=True)
      cells, reasons = _measure(make)
      lines.append([name, *cells])
      if reasons:
        notes.append(f'Client by client ran {name}: {", ".join(reasons)}.')
  if len(lines) == 1:
    raise errors.InputError(
      f'--programs must be the pattern of a program, got {_PROGRAMS.value!r}.'
    )
  print(report.format_text(lines, notes), flush=True)
  if path is not None:
    options = [
      f'--{flag.name}={flag.value}'
      for flag in (_PROGRAMS, _REPEATS, _CALLS)
      if flag.present
    ]
    command = ['python', '-m', 'launch.benchmarks.programs', *options]
    markdown_file.write(
      path, report.format_markdown(lines, notes, shlex.join(command))
    )


if __name__ == '__main__':
  cli.run(main)
