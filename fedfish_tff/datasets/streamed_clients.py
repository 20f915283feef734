# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Streams of clients, for data sets with an index too large for memory.

The order of an epoch is a function of seed and epoch. The rows of the index are
cut into pieces, the pieces are shuffled, and then the rows of a few pieces at a
time, the shuffle window. So only the window's rows and one client's examples
are in memory, and an epoch can be entered anywhere without reading what comes
before. Clients are read by seek, so shards should be on a disk with fast random
access.
"""

from collections.abc import Iterator
from collections.abc import Sequence
import os
from typing import NamedTuple

from fedfish_tff import errors
from fedfish_tff.datasets import client_index
from fedfish_tff.datasets import examples as examples_lib
from fedfish_tff.datasets import random_streams

import numpy as np

# The number of pieces in a window.
_PIECES_PER_WINDOW = 16


class StreamedClient(NamedTuple):
  """A client and its nest of arrays [n, ...]."""

  client_id: str
  examples: examples_lib.Examples


class StreamedClients:
  """One split of a folder of grouped clients, as a stream."""

  def __init__(
    self,
    folder: str | os.PathLike[str],
    split: str,
    *,
    window: int,
    seed: int,
    features: Sequence[str] = ('text',),
  ) -> None:
    """Reads the folder's description, in constant time.

    Args:
      folder: A folder written by `launch.group_dataset` or `GroupedWriter`.
      split: The name of a split of the folder.
      window: The number of clients that are shuffled together. A larger window
        mixes better, reads less of the index, and takes some hundred bytes per
        client.
      seed: The seed, which decides the order, together with the epoch.
      features: The features of an example to read.
    """
    errors.check_positive_integer('window', window)
    self._index = client_index.ClientIndex(folder)
    self._index.folder.check_split(split)
    self._split = split
    self._seed = seed
    self._features = self._index.folder.select_features(features)
    self._pieces_per_window = min(window, _PIECES_PER_WINDOW)
    self._piece_rows = window // self._pieces_per_window

  @property
  def num_clients(self) -> int:
    """The number of clients of the split: the length of an epoch."""
    return self._index.folder.splits[self._split].clients

  def clients(
    self, *, epoch: int = 0, position: int = 0
  ) -> Iterator[StreamedClient]:
    """Yields each client of an epoch once, with its examples.

    Args:
      epoch: The epoch, from 0 on.
      position: The number of the epoch's first clients to leave out.
    """
    errors.check_integer('epoch', epoch, least=0)
    errors.check_integer('position', position, least=0)
    for rows, places in self._windows(epoch, position):
      for piece, place in places.tolist():
        yield StreamedClient(
          rows[piece].client_ids[place],
          self._index.load_client(
            self._split, rows[piece], place, features=self._features
          ),
        )

  def _windows(
    self, epoch: int, position: int
  ) -> Iterator[tuple[list[client_index.IndexRows], np.ndarray]]:
    """Yields a window's rows, and the order of the clients among them.

    Each place is the number of an `IndexRows` and of a row in it.
    """
    num_pieces = -(-self.num_clients // self._piece_rows)
    order = random_streams.random_generator(
      'client stream', self._seed, epoch
    ).permutation(num_pieces)
    for start in range(0, num_pieces, self._pieces_per_window):
      bounds = [
        (
          piece * self._piece_rows,
          min((piece + 1) * self._piece_rows, self.num_clients),
        )
        # In the index' order, since neighbours are read together.
        for piece in sorted(
          order[start : start + self._pieces_per_window].tolist()
        )
      ]
      sizes = [stop - first for first, stop in bounds]
      if position >= sum(sizes):
        position -= sum(sizes)
        continue
      places = np.stack(
        [
          np.repeat(np.arange(len(sizes)), sizes),
          np.concatenate([np.arange(size) for size in sizes]),
        ],
        axis=1,
      )
      random_streams.random_generator(
        'client stream', self._seed, epoch, start
      ).shuffle(places)
      rows = [
        self._index.read_rows(self._split, first, stop)
        for first, stop in bounds
      ]
      yield rows, places[position:]
      position = 0
