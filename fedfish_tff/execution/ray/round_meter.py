# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The costs of rounds on Ray: clients per second, bytes sent, memory."""

from collections.abc import Mapping
import dataclasses
import importlib
import threading
import time
from types import ModuleType

# The tags of each actor in Ray's dashboard.
_TAGS = ('actor', 'node')


@dataclasses.dataclass(frozen=True)
class ShareCost:
  """The costs of some clients on an actor.

  Attributes:
    node: The name of the actor's machine.
    clients: The number of clients.
    seconds: The time that they took, in seconds.
    peak_bytes: The actor's peak memory so far, in bytes.
  """

  node: str
  clients: int
  seconds: float
  peak_bytes: int


class RoundMeter:
  """Counts the costs of rounds, and reports those of each actor to Ray."""

  def __init__(self, ray: ModuleType):
    """Makes a meter, given Ray's module of a connected process."""
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
    """Adds to the bytes sent to Ray's object store."""
    with self._lock:
      self._sent += num_bytes

  def add_share(self, actor: int, cost: ShareCost, num_bytes: int) -> None:
    """Adds an actor's work, with the size of its result in bytes."""
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
    """Returns the counts since the last call, as columns."""
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
