# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A cache of packed datasets, for the datasets' lives, under a byte budget.

Programs that make a client's dataset once and pass it in every round thus read
it once. A dataset that may give other elements next time is read every time.
"""

import collections
from collections.abc import Callable
import sys
import threading
from typing import Any
from typing import NamedTuple
import weakref

from fedfish_tff.execution.packing import packed_sequences
from fedfish_tff.execution.packing import repeatable_datasets
from fedfish_tff.execution.packing import sequence_packing

import cachetools
import tensorflow as tf
import tensorflow_federated as tff

_MAX_BYTES = 2**30

_Key = tuple[int, tff.Type]


class _Entry(NamedTuple):
  dataset: weakref.ref
  packed: packed_sequences.PackedSequence


class PackedSequenceCache:
  """Packs sequences and keeps those of repeatable datasets while they fit.

  The least recently used sequence is removed first. A sequence larger than the
  whole budget is not kept. Safe to use from several threads.
  """

  def __init__(self, max_bytes: int = _MAX_BYTES) -> None:
    """Starts empty, with a budget for the arrays in bytes; 0 keeps none."""
    self._entries: cachetools.LRUCache[_Key, _Entry] = cachetools.LRUCache(
      max_bytes, lambda entry: entry.packed.nbytes
    )
    self._lock = threading.Lock()
    # Keys of deleted datasets. The garbage collector may report one at any
    # time, even in a thread that holds the lock, so they are noted first.
    self._gone: collections.deque[_Key] = collections.deque()

  @property
  def kept_bytes(self) -> int:
    """The size in bytes of the kept sequences, at most the budget."""
    return self._entries.currsize

  def __len__(self) -> int:
    return len(self._entries)

  def pack(
    self,
    value: Any,
    element_type: tff.Type,
    roots: packed_sequences.Roots = (),
  ) -> packed_sequences.PackedSequence:
    """Returns a sequence packed by `sequence_packing`, or from the cache."""
    if not isinstance(value, tf.data.Dataset):
      return sequence_packing.pack_sequence(value, element_type, roots)
    key = (id(value), element_type)
    with self._lock:
      self._forget_gone()
      entry = self._entries.get(key)
      if entry is not None and entry.dataset() is value:
        return entry.packed
    packed = sequence_packing.pack_sequence(value, element_type, roots)
    if (
      packed.nbytes <= self._entries.maxsize
      and repeatable_datasets.is_repeatable(value)
    ):
      reference = weakref.ref(value, lambda _: self._note_gone(key))
      with self._lock:
        self._forget_gone()
        self._entries[key] = _Entry(reference, packed)
    return packed

  def _note_gone(
    self,
    key: _Key,
    # At the end of a program this module's names may no longer exist.
    is_finalizing: Callable[[], bool] = sys.is_finalizing,
  ) -> None:
    if is_finalizing():
      return
    self._gone.append(key)
    if self._lock.acquire(blocking=False):
      try:
        self._forget_gone()
      finally:
        self._lock.release()

  def _forget_gone(self) -> None:
    while self._gone:
      key = self._gone.popleft()
      entry = self._entries.get(key)
      # Another dataset may have the same id by now.
      if entry is not None and entry.dataset() is None:
        del self._entries[key]
