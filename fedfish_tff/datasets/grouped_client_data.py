# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Clients of a folder of grouped clients, opened by id."""

from collections.abc import Sequence
import os

from fedfish_tff.datasets import client_data
from fedfish_tff.datasets import client_index
from fedfish_tff.datasets import examples as examples_lib
from fedfish_tff.datasets import sorted_ids

import numpy as np
import tensorflow as tf


class GroupedClientData(client_data.ClientData):
  """One split of a folder of grouped clients.

  The index of the split is in memory, some fifty bytes per client. A client is
  read by one seek when it is loaded, in a time that does not depend on the
  number of clients. `PreprocessedClientData` turns its text into numbers.
  """

  def __init__(
    self,
    folder: str | os.PathLike[str],
    split: str,
    *,
    features: Sequence[str] = ('text',),
  ) -> None:
    """Reads the index of the split, but no client.

    Args:
      folder: A folder written by `launch.group_dataset` or `GroupedWriter`.
      split: The name of a split, such as 'train', 'validation' or 'held_out'.
      features: The features of an example to read.
    """
    self._index = client_index.ClientIndex(folder)
    self._split = split
    self._features = self._index.folder.select_features(features)
    self._rows = self._index.read_split(split)

  @property
  def client_ids(self) -> sorted_ids.SortedIds:
    return self._rows.client_ids

  @property
  def element_spec(self) -> dict[str, tf.TensorSpec]:
    return dict(self._features)

  @property
  def client_sizes(self) -> np.ndarray:
    """The clients' numbers of examples, int64, in the order of the ids."""
    return self._rows.examples

  def approximate_size(self, client_id: str) -> int:
    return int(self.client_sizes[self.client_ids.find(client_id)])

  def load_client(self, client_id: str) -> examples_lib.Examples:
    place = self.client_ids.find(client_id)
    if place is None:
      raise client_data.unknown_client_error(client_id, self.client_ids)
    return self._index.load_client(
      self._split, self._rows, place, features=self._features
    )
