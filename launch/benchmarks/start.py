# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Shows what a program pays before and beside its rounds, in CPU seconds.

  python -m launch.benchmarks.start
  python -m launch.benchmarks.start --against=../older_checkout --repeats=5

Each program runs in a new process, from its imports to its end: a run of FedFish
on the digits with its evaluations and plots, then the first calls of programs
such as TFF's tutorials have, in the cohort context and in TFF's own runtime.
With another checkout, before a change, say, both take turns. CPU seconds are
those of the process and of its children; a few minutes.
"""

from collections.abc import Sequence
import pathlib
import statistics
import tempfile

from fedfish_tff import errors
from launch import cli
from launch.benchmarks import start_programs

from absl import flags

_REPEATS = flags.DEFINE_integer(
  'repeats', 3, 'How often each program runs; medians are shown.', lower_bound=1
)
_AGAINST = flags.DEFINE_string(
  'against',
  None,
  'The folder of another checkout of this repository, to compare with; its '
  'programs run with the Python of this one.',
)
_ROUNDS = flags.DEFINE_integer(
  'rounds', 20, 'Rounds of the run on the digits.', lower_bound=1
)


def main(argv: Sequence[str]) -> None:
  """Prints a table of CPU seconds."""
  cli.check_no_arguments(argv)
  checkouts = {'this checkout': pathlib.Path.cwd()}
  if _AGAINST.value is not None:
    checkouts[_AGAINST.value] = pathlib.Path(_AGAINST.value)
  for folder in checkouts.values():
    if not (folder / 'launch' / 'train.py').is_file():
      raise errors.InputError(
        f'{folder} has no launch/train.py; a checkout of this repository was '
        'expected.'
      )
  seconds: dict[str, dict[str, list[float]]] = {}
  with tempfile.TemporaryDirectory() as scratch:
    programs = start_programs.programs(scratch, rounds=_ROUNDS.value)
    for repeat in range(_REPEATS.value):
      for title, rows in programs.items():
        for row, command in rows.items():
          for name, folder in checkouts.items():
            if row == start_programs.TFF_ROW and name != 'this checkout':
              continue  # Nothing of the checkout is in it.
            label = row if len(checkouts) == 1 else f'{row}, {name}'
            measured = seconds.setdefault(title, {}).setdefault(label, [])
            measured.append(start_programs.cpu_seconds(command, folder))
      print(f'{repeat + 1} of {_REPEATS.value} done', flush=True)
  for title, rows in seconds.items():
    print(f'\n{title}')
    first = statistics.median(next(iter(rows.values())))
    for row, values in rows.items():
      median = statistics.median(values)
      print(
        f'  {median:6.1f} CPU s ({median / first:.2f}; '
        f'{min(values):.1f} to {max(values):.1f})  {row}'
      )


if __name__ == '__main__':
  cli.run(main)
