# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Keeps clients in memory after they are read, under a byte budget."""

import collections
from collections.abc import Sequence
import threading
from typing import Any

from fedfish_tff import errors
from fedfish_tff.datasets import client_data
from fedfish_tff.datasets import examples as examples_lib


class CachedClientData(client_data.ClientData):
  """Reads each client once while it fits; the least recently used goes first.

  A client larger than the whole budget is passed through. Safe to use from
  several threads.
  """

  def __init__(self, inner: client_data.ClientData, *, max_bytes: int) -> None:
    """Starts with an empty cache.

    Args:
      inner: Where clients are read.
      max_bytes: Budget for the arrays kept, in bytes.

    Raises:
      errors.InputError: If the budget is not positive.
    """
    if max_bytes <= 0:
      raise errors.InputError(
        f'max_bytes of the cache is {max_bytes}; a positive number of bytes '
        'was expected.'
      )
    self._inner = inner
    self._max_bytes = max_bytes
    self._kept: collections.OrderedDict[str, examples_lib.Examples] = (
      collections.OrderedDict()
    )
    self._kept_bytes = 0
    self._lock = threading.Lock()

  @property
  def client_ids(self) -> Sequence[str]:
    return self._inner.client_ids

  @property
  def element_spec(self) -> Any:
    return self._inner.element_spec

  @property
  def kept_bytes(self) -> int:
    """The bytes of the arrays kept now, at most the budget."""
    return self._kept_bytes

  def approximate_size(self, client_id: str) -> int:
    return self._inner.approximate_size(client_id)

  def load_client(self, client_id: str) -> examples_lib.Examples:
    # Held while reading, so that two threads do not read one client twice.
    with self._lock:
      if client_id in self._kept:
        self._kept.move_to_end(client_id)
        return self._kept[client_id]
      examples = self._inner.load_client(client_id)
      num_bytes = examples_lib.count_bytes(examples)
      if num_bytes <= self._max_bytes:
        while self._kept_bytes + num_bytes > self._max_bytes:
          _, evicted = self._kept.popitem(last=False)
          self._kept_bytes -= examples_lib.count_bytes(evicted)
        self._kept[client_id] = examples
        self._kept_bytes += num_bytes
      return examples
