# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Views of client data: cached, preprocessed, or concatenated."""

from collections.abc import Callable
from collections.abc import Sequence
import contextlib
import functools
import threading
from typing import Any

from fedfish_tff import errors
from fedfish_tff.datasets import client_data
from fedfish_tff.datasets import examples as examples_lib

import cachetools
import numpy as np
import tensorflow as tf


class CachedClientData(client_data.ClientDataView):
  """Client data that keeps clients in memory, in a least recently used cache.

  A client larger than the whole budget is passed through. It is safe to use
  from several threads.
  """

  def __init__(self, inner: client_data.ClientData, *, max_bytes: int) -> None:
    """Starts with an empty cache.

    Args:
      inner: The client data whose arrays are kept.
      max_bytes: The budget for the kept arrays, in bytes, positive.
    """
    errors.check_range('max_bytes of the cache', max_bytes, above=0)
    super().__init__(inner)
    self._kept: cachetools.LRUCache[str, examples_lib.Examples] = (
      cachetools.LRUCache(max_bytes, examples_lib.count_bytes)
    )
    self._lock = threading.Lock()

  @property
  def kept_bytes(self) -> int:
    """The bytes of the arrays kept now, at most the budget."""
    return self._kept.currsize

  def load_client(self, client_id: str) -> examples_lib.Examples:
    # Held while reading, so that two threads do not read the same client twice.
    with self._lock:
      if client_id in self._kept:
        return self._kept[client_id]
      examples = self._inner.load_client(client_id)
      with contextlib.suppress(ValueError):  # The client exceeds the budget.
        self._kept[client_id] = examples
      return examples


class PreprocessedClientData(client_data.ClientDataView):
  """Client data with a function applied to each client's nest of arrays.

  The result is validated like data that was read. If the function makes
  lengths or shapes differ, or values infinite, the error names the client.
  """

  def __init__(
    self,
    inner: client_data.ClientData,
    preprocess_fn: Callable[[examples_lib.Examples], examples_lib.Examples],
  ) -> None:
    """Wraps `inner`; no client is read yet.

    Args:
      inner: The client data whose arrays are preprocessed.
      preprocess_fn: A function from a nest of arrays [n, ...] to another one
        [m, ...]. The client's name is added in front of an `errors.InputError`
        that it raises.
    """
    super().__init__(inner)
    self._preprocess_fn = preprocess_fn

  @functools.cached_property
  def element_spec(self) -> Any:
    if not self.client_ids:
      raise errors.InputError(
        'Preprocessed client data must have a client to have an element_spec, '
        'got none.'
      )
    first = self._load(self.client_ids[0], element_spec=None)
    return examples_lib.spec_of_examples(first)

  def load_client(self, client_id: str) -> examples_lib.Examples:
    return self._load(client_id, element_spec=self.element_spec)

  def _load(self, client_id: str, element_spec: Any) -> examples_lib.Examples:
    return self._preprocess(client_id, element_spec)

  def _preprocess(
    self, client_id: str, element_spec: Any
  ) -> examples_lib.Examples:
    examples = self._inner.load_client(client_id)
    try:
      processed = self._preprocess_fn(examples)
    except errors.InputError as error:
      raise errors.InputError(f'Client {client_id!r}: {error}') from error
    return examples_lib.validate_examples(
      processed,
      client_id=client_id,
      element_spec=element_spec,
      allow_empty=not examples_lib.count_examples(examples),
    )


class ConcatenatedClientData(client_data.ClientData):
  """All clients of several client data; a client in many has all its examples.

  Data sets that hold out examples rather than clients have the same clients in
  a training and a test part. This joins the parts again.
  """

  def __init__(self, parts: Sequence[client_data.ClientData]) -> None:
    """Reads only the ids.

    Args:
      parts: At least one part, all with one `element_spec`. A client's examples
        are in the order of the parts that have it.
    """
    if not parts:
      raise errors.InputError(
        'There must be at least one client data, got none.'
      )
    self._parts = tuple(parts)
    self._element_spec = parts[0].element_spec
    for number, part in enumerate(parts):
      if part.element_spec != self._element_spec:
        raise errors.InputError(
          f'Part {number} of the client data must hold {self._element_spec}, '
          f'as part 0 does, got {part.element_spec}.'
        )
    holders: dict[str, list[client_data.ClientData]] = {}
    for part in parts:
      for client_id in part.client_ids:
        holders.setdefault(client_id, []).append(part)
    self._holders = {
      client_id: holders[client_id] for client_id in sorted(holders)
    }

  @property
  def client_ids(self) -> tuple[str, ...]:
    return tuple(self._holders)

  @property
  def element_spec(self) -> Any:
    return self._element_spec

  def approximate_size(self, client_id: str) -> int:
    return sum(p.approximate_size(client_id) for p in self._holders[client_id])

  def load_client(self, client_id: str) -> examples_lib.Examples:
    if client_id not in self._holders:
      raise client_data.unknown_client_error(client_id, self.client_ids)
    pieces = [part.load_client(client_id) for part in self._holders[client_id]]
    if len(pieces) == 1:
      return pieces[0]
    return examples_lib.validate_examples(
      tf.nest.map_structure(lambda *arrays: np.concatenate(arrays), *pieces),
      client_id=client_id,
      element_spec=self._element_spec,
    )
