# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a round on Ray costs: clients a second, bytes on the way, memory."""

from collections.abc import Mapping
import dataclasses
import importlib
import threading
import time
from types import ModuleType

# Of each actor, as Ray's dashboard names them.
_TAGS = ('actor', 'node')


@dataclasses.dataclass(frozen=True)
class ShareCost:
  """What some clients cost an actor.

  Attributes:
    node: The name of its machine.
    clients: How many.
    seconds: How long they took.
    peak_bytes: The most memory that it has held so far.
  """

  node: str
  clients: int
  seconds: float
  peak_bytes: int


class RoundMeter:
  """Counts what is asked for round by round, and tells Ray of each actor."""

  def __init__(self, ray: ModuleType):
    """Begins.

    Args:
      ray: Ray itself, connected.
    """
    metrics = importlib.import_module(f'{ray.__name__}.util.metrics')
    self._clients = metrics.Counter(
      'fedfish_tff_clients', 'Clients that an actor has done.', _TAGS
    )
    self._seconds = metrics.Counter(
      'fedfish_tff_busy_seconds', 'Seconds that they took.', _TAGS
    )
    self._memory = metrics.Gauge(
      'fedfish_tff_peak_bytes', 'Most memory that an actor has held.', _TAGS
    )
    self._lock = threading.Lock()
    self.take()

  def add_sent(self, num_bytes: int) -> None:
    """Counts what went to Ray's object store, in bytes."""
    with self._lock:
      self._sent += num_bytes

  def add_share(self, actor: int, cost: ShareCost, num_bytes: int) -> None:
    """Counts what an actor has done.

    Args:
      actor: Its number.
      cost: What it was.
      num_bytes: Of the result.
    """
    tags = dict(zip(_TAGS, (str(actor), cost.node), strict=True))
    # Ray refuses a counter's increase by 0.
    self._clients.inc(max(1, cost.clients), tags)
    self._seconds.inc(max(1e-9, cost.seconds), tags)
    self._memory.set(cost.peak_bytes, tags)
    with self._lock:
      self._done += cost.clients
      self._received += num_bytes
      self._most_bytes = max(self._most_bytes, cost.peak_bytes)

  def take(self) -> Mapping[str, float]:
    """Returns, as columns, what was counted since this was last called."""
    now = time.monotonic()
    with self._lock:
      if getattr(self, '_done', 0):
        columns = {
          'time/clients_per_second': self._done / (now - self._began),
          'time/sent_bytes': self._sent,
          'time/received_bytes': self._received,
          'time/most_actor_bytes': self._most_bytes,
        }
      else:
        columns = {}
      self._began = now
      self._done = self._sent = self._received = self._most_bytes = 0
    return columns
