# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Progress of a run on stderr, for a person who watches it."""

from collections.abc import Mapping
import math
import sys
import threading
from typing import TextIO

from fedfish_tff.simulation import hooks

import tqdm

# By prefix of a column, the data and the model that it scores.
_SCORES = {
  'train': ('train', ''),
  'eval/own_global': ("training clients' own-test", 'global model'),
  'eval/own': ("training clients' own-test", 'own models'),
  'eval/own_fine_tuned': ("training clients' own-test", 'fine-tuned'),
  'eval/new_global': ("validation clients' own-test", 'global model'),
  'eval/new_fine_tuned': ("validation clients' own-test", 'fine-tuned'),
  'eval/personalized': ('validation', 'fine-tuned'),
  'eval/global': ('validation', 'global model'),
}
_JUDGED = 'eval/global/accuracy'
# The rate is that of rounds. A line of 80 columns has no room for more figures.
_BAR_FORMAT = (
  '|{bar}| {n_fmt}/{total_fmt} [{rate_noinv_fmt}, {remaining}{postfix}]'
)


class _Bar(tqdm.tqdm):
  """A bar with a lock of this process; tqdm's shared lock outlives a kill."""


_Bar.set_lock(threading.RLock())


def report_step(what: str) -> None:
  """Prints a line on stderr that a step without rounds begins."""
  report_line(f'{what} ...')


def report_line(line: str) -> None:
  """Prints a line on stderr, above any bars."""
  _print(line, sys.stderr)


def _print(line: str, stream: TextIO) -> None:
  _Bar.write(line, file=stream)
  stream.flush()


class ProgressReporter(hooks.Hook):
  """A bar with rounds a second, time left and the score, or plain lines."""

  def __init__(
    self,
    rounds: int,
    *,
    report_every: int = 1,
    show_bar: bool | None = None,
    first_round: int = 0,
    judged_column: str | None = None,
    stream: TextIO | None = None,
  ) -> None:
    """Shows a bar at once; plain lines follow rounds.

    Args:
      rounds: The number of rounds of the whole run.
      report_every: The number of rounds between two plain lines.
      show_bar: Whether to draw a bar; None to do so on a terminal only.
      first_round: The round that a new run begins with. A run that first
        reports a later round is a resumed one.
      judged_column: The column by which the run is judged, which the bar shows;
        by default a column of accuracy on held-out clients.
      stream: The stream to write to; stderr by default.
    """
    self._rounds = rounds
    self._report_every = report_every
    self._stream = sys.stderr if stream is None else stream
    self._show_bar = self._stream.isatty() if show_bar is None else show_bar
    self._first_round = first_round
    self._names = _name_columns(judged_column or _JUDGED)
    self._judged_column = judged_column
    self._shown = {}
    self._started = False
    self._bar = None
    if self._show_bar:
      self._bar = _Bar(
        total=rounds,
        file=self._stream,
        dynamic_ncols=True,
        unit='',
        bar_format=_BAR_FORMAT,
      )

  def begin(self, run: hooks.Run) -> None:
    # A finished run has no round left that could move the bar.
    if self._bar is not None and run.last_round is not None:
      self._bar.initial = self._bar.n = run.last_round
      self._bar.refresh()

  def observe(self, round_number: int, row: Mapping[str, float]) -> None:
    """Reports the end of a round with its row."""
    for column, name in self._names.items():
      if column in row:
        value = row[column]
        # A mean over clients of which one has diverged.
        diverged = column.startswith('eval/') and not math.isfinite(value)
        self._shown[name] = 'diverged' if diverged else f'{value:.4g}'
    if not self._started and round_number > self._first_round:
      _print(f'resumed after round {round_number - 1}', self._stream)
    if self._bar is not None:
      self._update_bar(self._bar, round_number)
    elif round_number % self._report_every == 0 or round_number == self._rounds:
      line = f'round {round_number}/{self._rounds}'
      shown = self._format_shown()
      _print(f'{line}: {shown}' if shown else line, self._stream)
    self._started = True

  def report_clients(self, num_done: int, num_clients: int) -> None:
    """Shows in the bar the number of the round's clients that are done."""
    if self._bar is not None:
      within = {'clients': f'{num_done}/{num_clients}'}
      self._bar.set_postfix(self._judged() | within)

  def close(self) -> None:
    """Ends the bar's line."""
    if self._bar is not None:
      self._bar.close()
      self._bar = None

  def _update_bar(self, bar: _Bar, round_number: int) -> None:
    if not self._started:
      # The estimate of the time left counts only the rounds of this process.
      bar.initial = bar.n = max(0, round_number - 1)
      bar.unpause()
    bar.set_postfix(self._judged(), refresh=not self._started)
    bar.update(round_number - bar.n)

  def _format_shown(self) -> str:
    """Returns the figures in the order of their names, the judging one last."""
    shown = {
      n: self._shown[n] for n in self._names.values() if n in self._shown
    }
    judged = self._names.get(self._judged_column)
    told = ', '.join(f'{n} {v}' for n, v in shown.items() if n != judged)
    if judged not in shown:
      return told
    own = f'judged by {judged} {shown[judged]}'
    return f'{told}; {own}' if told else own

  def _judged(self) -> dict[str, str]:
    """Returns the figure that counts most, of those that rows have had."""
    known = [name for name in self._names.values() if name in self._shown]
    return {name: self._shown[name] for name in known[-1:]}


def _name_columns(judged: str) -> dict[str, str]:
  """Returns the columns to show with names for people, the judging one last.

  Args:
    judged: The column that judges; its metric is shown of all models.
  """
  metric = judged.rpartition('/')[2]
  columns = [
    f'{prefix}/{name}'
    for prefix in _SCORES
    for name in dict.fromkeys(
      ('loss', metric) if prefix in ('train', 'eval/global') else (metric,)
    )
  ]
  names = {
    'privacy/epsilon_rdp': 'epsilon (RDP)',
    'privacy/epsilon_pld': 'epsilon (PLD)',
  }
  for column in (*(c for c in columns if c != judged), judged):
    prefix, _, name = column.rpartition('/')
    data, model = _SCORES.get(prefix, (prefix, ''))
    names[column] = f'{data} {name}' + (f' ({model})' if model else '')
  return names
