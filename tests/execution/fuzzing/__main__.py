# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Looks for programs that the cohort context runs other than TFF's worker.

  python -m tests.execution.fuzzing --seeds=0:200
  python -m tests.execution.fuzzing --seed=17
  python -m tests.execution.fuzzing --program='int list 3 | take:2 | sum:0 | ...'

prints each such program, as a line to be given again, with both outcomes. A
program that ever failed belongs into tests/execution/fuzzing_test.py.
"""

from collections.abc import Iterator
from collections.abc import Sequence

from fedfish_tff.execution import contexts
from tests.execution.fuzzing import comparison
from tests.execution.fuzzing import programs

from absl import app
from absl import flags
from absl import logging
import tqdm

_SEEDS = flags.DEFINE_string('seeds', '0:100', 'Seeds of programs, from:to.')
_SEED = flags.DEFINE_integer('seed', None, 'One seed; its program is printed.')
_PROGRAM = flags.DEFINE_string('program', None, 'One program, as printed.')


def _chosen_programs() -> Iterator[tuple[str, programs.Program]]:
  if _PROGRAM.value is not None:
    yield 'program', programs.Program.parse(_PROGRAM.value)
    return
  if _SEED.value is not None:
    seeds = range(_SEED.value, _SEED.value + 1)
  else:
    first, _, last = _SEEDS.value.partition(':')
    seeds = tqdm.tqdm(range(int(first), int(last)), unit=' programs')
  for seed in seeds:
    yield f'seed {seed}', programs.generate(seed)


def main(argv: Sequence[str]) -> None:
  """Runs the programs and prints what differs."""
  if len(argv) > 1:
    raise app.UsageError(f'{argv[1]} is no flag.')
  logging.set_verbosity(logging.ERROR)
  is_single = _SEED.value is not None or _PROGRAM.value is not None
  num_programs = num_graphs = num_errors = num_different = 0
  with contexts.create_context('local_worker') as worker:
    for name, program in _chosen_programs():
      try:
        outcome = comparison.compare(program, worker)
      except Exception as error:  # noqa: BLE001  TFF refuses to build it.
        tqdm.tqdm.write(f'{name}: {program}\n  no program: {str(error)[-300:]}')
        continue
      num_programs += 1
      num_graphs += not outcome.reasons
      num_errors += any(isinstance(r, Exception) for r in outcome.worker)
      num_different += bool(outcome.difference)
      if outcome.difference or is_single:
        tqdm.tqdm.write(
          f'{name}: {program}\n'
          f'  difference: {outcome.difference or "none"}\n'
          f'  worker: {_shortened(outcome.worker)}\n'
          f'  cohort: {_shortened(outcome.cohort)}\n'
          f'  general path: {"; ".join(outcome.reasons) or "not taken"}'
        )
  print(
    f'{num_programs} programs: {num_graphs} as graphs, {num_errors} with errors, '
    f'{num_different} different.'
  )


def _shortened(results: list) -> str:
  return '\n          '.join(repr(result)[:600] for result in results)


if __name__ == '__main__':
  app.run(main)
