# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a person watching a run sees on stderr."""

from collections.abc import Mapping
import sys
import threading
from typing import TextIO

from fedfish_tff.simulation import hooks

import tqdm

# The columns shown, with short names, where a run has them.
_SHOWN = (
  ('train/loss', 'loss'),
  ('train/accuracy', 'accuracy'),
  ('eval/global/loss', 'validation loss'),
  ('eval/global/accuracy', 'validation accuracy'),
  ('eval/own/accuracy', 'own accuracy'),
)


class _Bar(tqdm.tqdm):
  """A bar of this process: tqdm's lock between processes outlives a kill."""


_Bar.set_lock(threading.RLock())


def report_step(what: str) -> None:
  """Says on stderr what begins, in a line, where there are no rounds to count."""
  report_line(f'{what} ...')


def report_line(line: str) -> None:
  """Prints a line on stderr, above bars."""
  _print(line, sys.stderr)


def _print(line: str, stream: TextIO) -> None:
  # Above bars, if there are any.
  _Bar.write(line, file=stream)
  stream.flush()


class ProgressReporter(hooks.Hook):
  """A bar with loss, accuracy and time left, or a plain line now and then."""

  def __init__(
    self,
    rounds: int,
    *,
    report_every: int = 1,
    show_bar: bool | None = None,
    first_round: int = 0,
    stream: TextIO | None = None,
  ) -> None:
    """Shows a bar at once; lines are for rounds.

    Args:
      rounds: Rounds of the whole run.
      report_every: Rounds between two plain lines.
      show_bar: Whether to draw a bar; None to do so on a terminal only.
      first_round: The round that a run begins with; one that begins with a
        later one is resumed.
      stream: Where to write; stderr by default.
    """
    self._rounds = rounds
    self._report_every = report_every
    self._stream = sys.stderr if stream is None else stream
    self._show_bar = self._stream.isatty() if show_bar is None else show_bar
    self._first_round = first_round
    self._shown = {}
    self._started = False
    self._bar = None
    if self._show_bar:
      self._bar = _Bar(
        total=rounds, unit='round', file=self._stream, dynamic_ncols=True
      )

  def observe(self, round_number: int, row: Mapping[str, float]) -> None:
    """Reports the end of a round with its row."""
    for column, name in _SHOWN:
      if column in row:
        self._shown[name] = f'{row[column]:.4g}'
    if not self._started and round_number > self._first_round:
      _print(f'resumed after round {round_number - 1}', self._stream)
    if self._bar is not None:
      self._update_bar(self._bar, round_number)
    elif round_number % self._report_every == 0 or round_number == self._rounds:
      shown = ', '.join(f'{k} {v}' for k, v in self._shown.items())
      line = f'round {round_number}/{self._rounds}'
      _print(f'{line}: {shown}' if shown else line, self._stream)
    self._started = True

  def report_clients(self, num_done: int, num_clients: int) -> None:
    """Shows, in a bar, how far a round is.

    Args:
      num_done: The clients that are done.
      num_clients: All clients of the round.
    """
    if self._bar is not None:
      within = {'clients': f'{num_done}/{num_clients}'}
      self._bar.set_postfix(self._shown | within)

  def close(self) -> None:
    """Ends the bar's line."""
    if self._bar is not None:
      self._bar.close()
      self._bar = None

  def _update_bar(self, bar: _Bar, round_number: int) -> None:
    if not self._started:
      # The time left counts rounds, from where a resumed run goes on.
      bar.initial = bar.n = max(0, round_number - 1)
      bar.unpause()
    bar.set_postfix(self._shown, refresh=not self._started)
    bar.update(round_number - bar.n)
