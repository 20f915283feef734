# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The simulated time of a run's rounds."""

from collections.abc import Mapping

from fedfish_tff.simulation import client_speeds
from fedfish_tff.simulation import hooks

_COLUMN = 'simulated/seconds'
_TOTAL = 'simulated_seconds'


class SimulatedTime(hooks.Hook):
  """A hook that adds up the rounds' seconds, as `simulated/seconds`.

  Checkpoints do not hold the sum: a resumed run computes the seconds of all
  earlier rounds again.
  """

  def __init__(self, wall_clock: client_speeds.WallClock) -> None:
    """Begins at 0 seconds.

    Args:
      wall_clock: The function that returns the seconds of a round.
    """
    self._wall_clock = wall_clock
    self._seconds = 0.0

  def begin(self, run: hooks.Run) -> None:
    self._seconds = float(run.start_totals.get(_TOTAL, 0))
    for earlier in range(run.first_round + 1, (run.last_round or 0) + 1):
      self._seconds += self._wall_clock(earlier, run.participation(earlier))

  def after_round(self, round_: hooks.Round) -> None:
    client_ids = [client.client_id for client in round_.cohort]
    self._seconds += self._wall_clock(round_.number, client_ids)

  def complete_row(self, round_: hooks.Round) -> None:
    round_.row[_COLUMN] = self._seconds

  def totals(self) -> Mapping[str, float]:
    return {_TOTAL: self._seconds}
