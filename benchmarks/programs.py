# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Compares the cohort context with TFF's own runtime on programs of TFF.

  python -m benchmarks.programs
  python -m benchmarks.programs --programs='*IBLT*' --repeats=3

Runs all of `tff.learning.algorithms` and `tff.analytics`, operations on
sequences, datasets that graphs make, and ten Keras models (`program_cases`). It
times the first call, which compiles, and the next ones. Both contexts take
turns in one process, with a new context for every first call, so that nothing
is left of earlier ones. Prints one Markdown table after a quarter of an hour on
a quiet machine.
"""

from collections.abc import Callable
from collections.abc import Sequence
import fnmatch
import gc
import sys
from typing import Any

from benchmarks import measurement
from benchmarks import report
from fedfish_tff import errors
from fedfish_tff import execution
from launch import cli

from absl import flags
import tensorflow_federated as tff

_CALLS = 5  # After each first call.

_PROGRAMS = flags.DEFINE_string(
  'programs', '*', 'Pattern of the names of programs to run.'
)
_REPEATS = flags.DEFINE_integer(
  'repeats', 5, 'First calls of each program.', lower_bound=1
)


def _measure(
  make: Callable[[], Callable[[], Any]],
) -> tuple[list[str], tuple[str, ...]]:
  """Returns a program's cells, and the reasons if clients ran one by one."""
  from benchmarks import program_cases  # pylint: disable=g-import-not-at-top

  stack = tff.framework.get_context_stack()
  first: list[list[float]] = [[], []]
  following: list[list[float]] = [[], []]
  reasons = ()
  for _ in range(_REPEATS.value):
    ours = execution.create_context()
    with execution.create_context('local_worker') as theirs:
      runs = []
      for context, seconds in zip((ours, theirs), first):
        with stack.install(context):
          # TFF's worker starts at its first call.
          program_cases.warm_up()
          runs.append(make())
          gc.collect()
          seconds.append(measurement.seconds_of(runs[-1]))
      for _ in range(_CALLS):
        for context, run, seconds in zip((ours, theirs), runs, following):
          with stack.install(context):
            seconds.append(measurement.seconds_of(run))
      reasons = ours.runner.general_path_reasons
  cells = []
  for times in (first, following):
    # The minimum, since other work on the machine only adds time.
    here, there = map(min, times)
    cells += [f'{1e3 * s:,.0f}' for s in (here, there)]
    cells.append(f'{here / there:.2f}')
  return cells, reasons


def main(argv: Sequence[str]) -> None:
  """Prints the table."""
  cli.check_no_arguments(argv)
  # Before the first operation, which is in `program_cases`.
  execution.set_default_context()
  from benchmarks import program_cases  # pylint: disable=g-import-not-at-top

  lines = [['milliseconds', 'first', 'TFF', 'ratio', 'next', 'TFF', 'ratio']]
  notes = [
    f"{report.processor()}. First call, then next calls; TFF is TFF's own "
    f'runtime. The shortest of {_REPEATS.value} first calls and of '
    f'{_REPEATS.value * _CALLS} others, in turns. 8 clients with 50 '
    'examples each, batches of 10.'
  ]
  for group, cases in program_cases.CASES.items():
    names = fnmatch.filter(cases, _PROGRAMS.value)
    if names:
      lines.append([group] + [''] * 6)
    for name in names:
      print(name, file=sys.stderr, flush=True)
      cells, reasons = _measure(cases[name])
      lines.append([name, *cells])
      if reasons:
        notes.append(f'Client by client ran {name}: {", ".join(reasons)}.')
  if len(lines) == 1:
    raise errors.InputError(
      f'--programs must be the pattern of a program, got {_PROGRAMS.value!r}.'
    )
  print(report.format_table(lines, notes), flush=True)


if __name__ == '__main__':
  cli.run(main)
