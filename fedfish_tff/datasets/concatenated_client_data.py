# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Clients whose examples lie in several client data."""

from collections.abc import Sequence
from typing import Any

from fedfish_tff import errors
from fedfish_tff.datasets import client_data
from fedfish_tff.datasets import examples as examples_lib

import numpy as np
import tensorflow as tf


class ConcatenatedClientData(client_data.ClientData):
  """All clients of several client data; one in many has all its examples.

  Data sets that hold out examples rather than clients have the same clients in
  a training and a test part; this puts the parts together again.
  """

  def __init__(self, parts: Sequence[client_data.ClientData]) -> None:
    """Reads the ids only.

    Args:
      parts: Client data with one `element_spec`. A client's examples are in
        the order of the parts that have it.

    Raises:
      errors.InputError: If there are no parts, or they differ in their spec.
    """
    if not parts:
      raise errors.InputError(
        'No client data was given; expected at least one.'
      )
    self._parts = tuple(parts)
    self._element_spec = parts[0].element_spec
    for number, part in enumerate(parts):
      if part.element_spec != self._element_spec:
        raise errors.InputError(
          f'Part {number} of the client data holds {part.element_spec}; '
          f'{self._element_spec} was expected, as of part 0.'
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
