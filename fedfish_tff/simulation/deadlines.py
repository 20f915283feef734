# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Rounds with a deadline: the server takes the answers that come in time.

Over-selection and its reporting window are those of Bonawitz et al., "Towards
Federated Learning at Scale: System Design", MLSys 2019 (arXiv:1902.01046). With
a deadline alone it is the server's wait in FedCS (Nishio and Yonetani, ICC
2019, arXiv:1804.08333), which knows the clients' seconds before it asks.
"""

from collections.abc import Sequence
import math

from fedfish_tff import errors
from fedfish_tff.simulation import client_speeds
from fedfish_tff.simulation import hooks
from fedfish_tff.simulation import participation as participation_lib
from fedfish_tff.simulation import speed_participation

_COLUMN = 'simulated/lost_clients'
# Rounds that follow so many without an answer are not awaited.
_CHECKED_ROUNDS = 10_000


class Deadline(hooks.Hook):
  """A participation of the clients that answer in time, and its clock.

  A round takes the first `size` answers within `seconds`, in their order. It
  lasts until the last of them if they are `size`, or if no other client that
  was asked is still at work; else until the deadline. As a hook, it counts the
  clients with lost work in the column `simulated/lost_clients`: those that were
  asked and would have answered, but were too late or too many.
  """

  def __init__(
    self,
    asked: participation_lib.Participation,
    *,
    size: int,
    seconds: float,
    speeds: client_speeds.Speeds,
    communication_seconds: float = 0.0,
  ) -> None:
    """Takes the clients and their deadline.

    Args:
      asked: The function that returns the clients that are asked in a round and
        would answer.
      size: The number of answers that a round needs, positive.
      seconds: The deadline, in seconds of the clients' work, positive; messages
        do not count.
      speeds: The clients' seconds of work in each round.
      communication_seconds: The seconds that messages add to each round.
    """
    errors.check_range('The deadline', seconds, above=0)
    errors.check_range('communication_seconds', communication_seconds, least=0)
    self._asked = asked
    self._size = size
    self._seconds = seconds
    self._speeds = speeds
    self._communication_seconds = communication_seconds
    self._first = speed_participation.fastest_participation(
      asked, size=size, speeds=speeds
    )

  def __call__(self, round_number: int) -> tuple[str, ...]:
    """Returns the clients whose answers a round takes, the first one first."""
    first = self._first(round_number)
    times = self._speeds(round_number, first)
    return tuple(c for c, time in zip(first, times) if time <= self._seconds)

  def round_seconds(
    self, round_number: int, client_ids: Sequence[str]
  ) -> float:
    """Returns the seconds that a round lasts; a `WallClock`."""
    seconds = float(self._speeds(round_number, client_ids).max(initial=0.0))
    if len(client_ids) < min(self._size, len(self._asked(round_number))):
      seconds = self._seconds
    return seconds + self._communication_seconds

  def check(self, rounds: int) -> None:
    """Checks that some client meets the deadline in the first 10,000 rounds.

    The error names the least deadline that a client meets.

    Args:
      rounds: The number of the last round.
    """
    fastest = math.inf
    rounds = min(rounds, _CHECKED_ROUNDS)
    for number in range(1, rounds + 1):
      times = self._speeds(number, self._asked(number))
      fastest = min(fastest, float(times.min(initial=math.inf)))
      if fastest <= self._seconds:
        return
    if fastest < math.inf:
      # Rounded up, so that it does.
      unit = 10.0 ** (math.floor(math.log10(fastest)) - 2)
      raise errors.InputError(
        f'The deadline must be {math.ceil(fastest / unit) * unit:g} seconds or '
        f'more for a client to meet it in {rounds} rounds, got {self._seconds:g}.'
      )

  def after_round(self, round_: hooks.Round) -> None:
    asked = self._asked(round_.number)
    round_.row[_COLUMN] = len(asked) - len(round_.cohort)
