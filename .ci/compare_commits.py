# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Compares the time of rounds at two commits, in turns, and prints ratios.

Each commit has a process of its own with the same rows (.ci/commit_rows.py). In
a pair both compute a row's round, one after the other; the first one
alternates. So other work on the machine affects both.

A ratio above 1 means that HEAD takes longer. Processes differ by a few percent
at one commit, since kernels depend on addresses in memory. So the interval (95
%, Student's t) is that of the mean over pairs of processes, of the logarithm of
each one's median ratio.
"""

import argparse
from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import numpy as np
from scipy import stats

_ROOT = pathlib.Path(__file__).resolve().parent.parent
_ROWS = _ROOT / '.ci' / 'commit_rows.py'
# Smaller differences are those of two processes at one commit.
_LARGE = 1.05


@contextlib.contextmanager
def _checkout(commit: str, path: pathlib.Path) -> Iterator[pathlib.Path]:
  git = ('git', '-C', _ROOT, 'worktree')
  subprocess.run([*git, 'add', '--detach', '-q', path, commit], check=True)
  try:
    yield path
  finally:
    subprocess.run([*git, 'remove', '--force', path], check=True)


class _Rows:
  """A process that computes the rows of a checkout."""

  def __init__(self, checkout: pathlib.Path, cores: int):
    self._checkout = checkout
    self._process = subprocess.Popen(
      [sys.executable, _ROWS, str(cores)],
      stdin=subprocess.PIPE,
      stdout=subprocess.PIPE,
      stderr=subprocess.PIPE,
      text=True,
      cwd=checkout,
      env={
        **os.environ,
        'PYTHONPATH': str(checkout),
        'TF_CPP_MIN_LOG_LEVEL': '3',
      },
    )

  def measure(self, row: str) -> list[float]:
    """Returns the seconds and the CPU seconds of one more round.

    Raises:
      RuntimeError: If the process has ended.
    """
    with contextlib.suppress(BrokenPipeError):
      self._process.stdin.write(f'{row}\n')
      self._process.stdin.flush()
    answer = self._process.stdout.readline()
    if not answer:
      raise RuntimeError(
        f'The row {row!r} has failed in {self._checkout.name}:\n'
        f'{self._process.communicate()[1][-2000:]}'
      )
    return json.loads(answer)

  def stop(self) -> None:
    """Ends the process."""
    self._process.kill()
    self._process.communicate()


def interval(ratios: Sequence[float]) -> tuple[float, float, float]:
  """Returns the geometric mean of ratios and the ends of its 95 % interval."""
  logs = np.log(ratios)
  half = stats.t.ppf(0.975, len(logs) - 1) * stats.sem(logs)
  return tuple(np.exp(logs.mean() + half * np.array([0, -1, 1])))


def describe(row: str, processes: Sequence[np.ndarray]) -> str:
  """Returns a row of the table.

  Args:
    row: The row's name.
    processes: For each pair of processes an array [pairs, 2, 2] of the seconds
      and CPU seconds (last axis) at base and at HEAD.
  """
  medians = [np.median(p[:, 1] / p[:, 0], axis=0) for p in processes]
  wall, cpu = (interval([m[i] for m in medians]) for i in (0, 1))
  base = statistics.median(p[:, 0, 0].mean() for p in processes)
  verdict = ''
  if wall[1] > _LARGE:
    verdict = 'slower'
  elif wall[2] < 1 / _LARGE:
    verdict = 'faster'
  cells = [row, f'{1e3 * base:.1f}']
  cells += [f'{r[0]:.3f} ({r[1]:.3f} to {r[2]:.3f})' for r in (wall, cpu)]
  return f'| {" | ".join([*cells, verdict])} |'


def _measure(
  checkouts: Sequence[pathlib.Path], rows: Sequence[str], pairs: int, cores: int
) -> dict[str, np.ndarray]:
  """Returns an array [pairs, 2, 2] of each row, by one process a checkout."""
  processes = []
  try:
    processes += [_Rows(checkout, cores) for checkout in checkouts]
    found = {}
    for row in rows:
      found[row] = np.empty([pairs, 2, 2])
      for pair in range(pairs):
        for side in (0, 1) if pair % 2 else (1, 0):
          found[row][pair, side] = processes[side].measure(row)
    return found
  finally:
    for process in processes:
      process.stop()


def main(arguments: Sequence[str]) -> None:
  """Prints the table."""
  parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
  parser.add_argument('base', help='a commit, branch or tag')
  parser.add_argument('head', nargs='?', default='HEAD')
  parser.add_argument(
    '--rows', nargs='+', help='rows to measure; all if absent'
  )
  parser.add_argument(
    '--pairs', type=int, default=7, help='rounds of a process'
  )
  parser.add_argument('--processes', type=int, default=4, help='two or more')
  parser.add_argument('--cores', type=int, default=1)
  given = parser.parse_args(arguments)
  if given.processes < 2:
    parser.error('--processes must be at least 2: they give the interval.')
  names = subprocess.run(
    [sys.executable, _ROWS, '--list'],
    check=True,
    stdout=subprocess.PIPE,
    text=True,
    env={**os.environ, 'PYTHONPATH': str(_ROOT), 'TF_CPP_MIN_LOG_LEVEL': '3'},
  ).stdout.splitlines()
  for row in given.rows or ():
    if row not in names:
      parser.error(f'--rows must be among {"; ".join(names)}, got {row}.')
  with contextlib.ExitStack() as stack:
    folder = pathlib.Path(
      stack.enter_context(tempfile.TemporaryDirectory(prefix='commits_'))
    )
    checkouts = [
      stack.enter_context(_checkout(commit, folder / side))
      for side, commit in (('base', given.base), ('head', given.head))
    ]
    found = []
    for number in range(given.processes):
      print(
        f'Pair of processes {number + 1} of {given.processes} ...',
        file=sys.stderr,
      )
      found.append(
        _measure(checkouts, given.rows or names, given.pairs, given.cores)
      )
  print('| round | ms at base | time, HEAD / base | CPU time | |')
  print('|---|---:|---|---|---|')
  for row in found[0]:
    print(describe(row, [rows[row] for rows in found]))


if __name__ == '__main__':
  main(sys.argv[1:])
