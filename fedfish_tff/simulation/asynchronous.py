# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Asynchronous training: the server steps when enough clients have answered.

Clients work all the time, each from the model that was the newest when it
began. Xie, Koyejo and Gupta, "Asynchronous Federated Optimization", 2019
(arXiv:1903.03934), step at every answer; Nguyen et al., "Federated Learning
with Buffered Asynchronous Aggregation", AISTATS 2022 (arXiv:2106.06639), at
every K answers. A round is a server step here.
"""

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import heapq
import threading
from typing import Any
from typing import NamedTuple

from fedfish_tff import errors
from fedfish_tff.datasets import random_streams
from fedfish_tff.simulation import client_speeds
from fedfish_tff.simulation import client_state_store
from fedfish_tff.simulation import hooks

import numpy as np

_PREFIX = 'simulated'


class _Answers(NamedTuple):
  """The answers of a round.

  Attributes:
    staleness: The number of server steps since each client began, by its id, in
      the order of the answers.
    num_lost: The number of answers that were too stale.
    end: The time of the last answer, in seconds.
  """

  staleness: Mapping[str, int]
  num_lost: int
  end: float


class Asynchronous(hooks.Hook):
  """A participation of the clients whose answers come next, and its clock.

  A client that has answered makes room for another one, drawn uniformly from
  those that neither work nor have an answer in the next server step; if there
  is none, its place stays free until that step. A client whose answer is lost
  may begin again at once. Answers of the same moment come before the clients
  that then begin. All follows from the seed and the speeds, so that a resumed
  run repeats it.

  As a hook, it adds the columns `simulated/staleness_median`,
  `simulated/staleness_largest` and `simulated/lost_clients`.
  """

  def __init__(
    self,
    client_ids: Sequence[str],
    *,
    size: int,
    concurrency: int,
    max_staleness: int,
    speeds: client_speeds.Speeds,
    seed: int,
    communication_seconds: float = 0.0,
  ) -> None:
    """Simulates nothing yet.

    Args:
      client_ids: The ids of all training clients.
      size: K, the number of answers of a server step.
      concurrency: The number of clients that work at the same time, from `size`
        to all.
      max_staleness: The number of server steps after which an answer is lost.
      speeds: The clients' seconds; a client that begins after r steps takes
        those of round r + 1.
      seed: The seed of the draws of clients.
      communication_seconds: The seconds that messages add to a client's work.
    """
    errors.check_positive_integer('size', size)
    # Else no answer would count, or none would come first.
    for name, value in (
      ('max_staleness', max_staleness),
      ('communication_seconds', communication_seconds),
    ):
      errors.check_range(name, value, least=0)
    if not size <= concurrency <= len(client_ids):
      raise errors.InputError(
        f'concurrency must be at least {size}, the number of answers of a server '
        f'step, and at most {len(client_ids)}, the number of clients, got '
        f'{concurrency}.'
      )
    self.max_staleness = max_staleness
    self._client_ids = client_ids
    self._size = size
    self._concurrency = concurrency
    self._speeds = speeds
    self._seed = seed
    self._communication_seconds = communication_seconds
    self._events = self._simulate()
    self._rounds: list[_Answers] = []
    self._lock = threading.Lock()

  def __call__(self, round_number: int) -> tuple[str, ...]:
    """Returns the clients of a round, in the order of their answers."""
    return tuple(self._answers(round_number).staleness)

  def staleness(self, round_number: int) -> Mapping[str, int]:
    """Returns the number of steps since each client of a round began."""
    return self._answers(round_number).staleness

  def num_lost(self, round_number: int) -> int:
    """Returns the number of answers that a round loses as too stale."""
    return self._answers(round_number).num_lost

  def round_seconds(
    self, round_number: int, client_ids: Sequence[str]
  ) -> float:
    """Returns the seconds between two server steps; a `WallClock`."""
    del client_ids
    start = self._answers(round_number - 1).end if round_number > 1 else 0.0
    return self._answers(round_number).end - start

  def after_round(self, round_: hooks.Round) -> None:
    answers = self._answers(round_.number)
    staleness = list(answers.staleness.values())
    round_.row[f'{_PREFIX}/staleness_median'] = float(np.median(staleness))
    round_.row[f'{_PREFIX}/staleness_largest'] = max(staleness)
    round_.row[f'{_PREFIX}/lost_clients'] = answers.num_lost

  def _answers(self, round_number: int) -> _Answers:
    with self._lock:
      while len(self._rounds) < round_number:
        self._rounds.append(next(self._events))
      return self._rounds[round_number - 1]

  def _simulate(self) -> Iterator[_Answers]:
    generator = random_streams.random_generator('asynchronous', self._seed)
    free = list(range(len(self._client_ids)))
    at_work, version, num_begun, now = [], 0, 0, 0.0
    staleness, num_lost = {}, 0
    while True:
      while len(at_work) < self._concurrency and free:
        place = int(generator.integers(len(free)))
        free[place], free[-1] = free[-1], free[place]
        client = free.pop()
        (seconds,) = self._speeds(version + 1, [self._client_ids[client]])
        end = now + float(seconds) + self._communication_seconds
        heapq.heappush(at_work, (end, num_begun, client, version))
        num_begun += 1
      now = at_work[0][0]
      while at_work and at_work[0][0] == now:
        _, _, client, start = heapq.heappop(at_work)
        if version - start > self.max_staleness:
          num_lost += 1
          free.append(client)
          continue
        staleness[client] = version - start
        if len(staleness) == self._size:
          version += 1
          yield _Answers(
            {self._client_ids[c]: s for c, s in staleness.items()},
            num_lost,
            now,
          )
          free += staleness
          staleness, num_lost = {}, 0


class StalenessStore(client_state_store.ClientStateStore):
  """The staleness of a round's clients, in the place of their states.

  It follows from the rounds, so that nothing is saved.
  """

  def __init__(self, rounds: Asynchronous) -> None:
    """Takes the participation."""
    super().__init__()
    self._asynchronous = rounds

  def load(
    self, client_id: str, structure: Any, *, round_number: int | None = None
  ) -> Any | None:
    """Returns a client's staleness in the next round, int32.

    Args:
      client_id: The id of a client of that round.
      structure: Ignored.
      round_number: The round before that one; None if there is none.
    """
    del structure
    if round_number is None:
      return None
    staleness = self._asynchronous.staleness(round_number + 1)
    return np.int32(staleness[client_id]) if client_id in staleness else None

  def save(
    self,
    round_number: int,
    states: Mapping[str, Any],
    *,
    kept_rounds: Collection[int],
  ) -> None:
    """Saves nothing."""
