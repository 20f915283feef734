# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Clients and their examples, read as flat arrays.

This is the counterpart of `tff.simulation.datasets.ClientData`, with tf.data
pipelines as clients. Here a client is a nest of arrays [n, ...], so that it is
read once and batched by a gather.
"""

import abc
import collections
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from fedfish_tff import errors
from fedfish_tff.datasets import examples as examples_lib
from fedfish_tff.datasets import random_streams
from fedfish_tff.datasets import sorted_ids

Examples = examples_lib.Examples


class ClientData(abc.ABC):
  """A set of clients, each with a nest of arrays of examples.

  Attributes:
    source: The `ClientSource` from which other processes load the same clients;
      None if there is none.
  """

  source: Any = None

  @property
  @abc.abstractmethod
  def client_ids(self) -> Sequence[str]:
    """The ids of all clients, sorted and unique.

    They are a tuple, or `SortedIds` where there may be millions.
    """

  @property
  @abc.abstractmethod
  def element_spec(self) -> Any:
    """The nest of `tf.TensorSpec` of one example, without batch dimension."""

  @abc.abstractmethod
  def load_client(self, client_id: str) -> Examples:
    """Returns one client's validated examples.

    Args:
      client_id: One of `client_ids`.

    Returns:
      A nest of read-only arrays [n, ...] of `element_spec`, n >= 1, floats
      finite.
    """

  def approximate_size(self, client_id: str) -> int:
    """Returns roughly a client's amount of data, for dividing work.

    It is a number of examples, before any preprocessing; 0 if it is unknown
    without reading the client.
    """
    del client_id
    return 0

  def select(self, client_ids: Iterable[str]) -> 'ClientData':
    """Returns a view on some of the clients.

    Args:
      client_ids: The ids to keep, each once, in any order.

    Returns:
      Client data that reads through this one.
    """
    return _SelectedClientData(self, client_ids)


class InMemoryClientData(ClientData):
  """Clients with their arrays already in memory."""

  def __init__(
    self, clients: Mapping[str, Examples], *, allow_empty: bool = False
  ) -> None:
    """Checks all clients.

    Args:
      clients: A mapping from a client's id to its nest of arrays [n, ...], with
        at least one client.
      allow_empty: Whether clients may have no examples (n = 0).
    """
    if not isinstance(clients, Mapping):
      raise errors.InputError(
        'Clients must be a mapping from their ids to their arrays, such as '
        f"{{'client_0': (x, y)}}, got a {type(clients).__name__}."
      )
    if not clients:
      raise errors.InputError('There must be at least one client, got none.')
    for client_id in clients:
      if not isinstance(client_id, str):
        raise errors.InputError(
          f'A client id must be a string, got {client_id!r}.'
        )
    self._element_spec = None
    self._clients = {}
    for client_id in sorted(clients):
      self._clients[client_id] = examples_lib.validate_examples(
        clients[client_id],
        client_id=client_id,
        element_spec=self._element_spec,
        allow_empty=allow_empty,
      )
      if self._element_spec is None:
        self._element_spec = examples_lib.spec_of_examples(
          self._clients[client_id]
        )

  @property
  def client_ids(self) -> tuple[str, ...]:
    return tuple(self._clients)

  @property
  def element_spec(self) -> Any:
    return self._element_spec

  def load_client(self, client_id: str) -> Examples:
    if client_id not in self._clients:
      raise unknown_client_error(client_id, self.client_ids)
    return self._clients[client_id]

  def approximate_size(self, client_id: str) -> int:
    return examples_lib.count_examples(self._clients[client_id])


class ClientDataView(ClientData):
  """Unchanged client data, a base class of views that change something."""

  def __init__(self, inner: ClientData) -> None:
    """Reads nothing yet.

    Args:
      inner: The client data to read from.
    """
    self._inner = inner

  @property
  def client_ids(self) -> Sequence[str]:
    return self._inner.client_ids

  @property
  def element_spec(self) -> Any:
    return self._inner.element_spec

  def load_client(self, client_id: str) -> Examples:
    return self._inner.load_client(client_id)

  def approximate_size(self, client_id: str) -> int:
    return self._inner.approximate_size(client_id)


class _SelectedClientData(ClientDataView):
  """A view on some clients of another client data."""

  def __init__(self, inner: ClientData, client_ids: Iterable[str]) -> None:
    counts = collections.Counter(client_ids)
    for client_id, count in counts.items():
      if count > 1:
        raise errors.InputError(
          f'Each client must be selected once, got {client_id!r} {count} times.'
        )
    known = inner.client_ids
    for client_id in counts:
      if not sorted_ids.contains_id(known, client_id):
        raise unknown_client_error(client_id, known)
    super().__init__(inner)
    self._client_ids = tuple(sorted(counts))
    self._known = frozenset(counts)
    # The source has these clients, too.
    self.source = inner.source

  @property
  def client_ids(self) -> tuple[str, ...]:
    return self._client_ids

  def load_client(self, client_id: str) -> Examples:
    if client_id not in self._known:
      raise unknown_client_error(client_id, self._client_ids)
    return self._inner.load_client(client_id)


def unknown_client_error(
  client_id: Any, client_ids: Sequence[str]
) -> errors.InputError:
  """Returns the error for an id that is not one of `client_ids`."""
  shown = ', '.join(repr(known) for known in client_ids[:3])
  more = ', ...' if len(client_ids) > 3 else ''
  return errors.InputError(
    f'The client must be one of {len(client_ids)} ({shown}{more}), got '
    f'{client_id!r}.'
  )


def split_clients(
  client_data: ClientData,
  *,
  validation_fraction: float,
  test_fraction: float,
  seed: int,
) -> tuple[ClientData, ClientData, ClientData]:
  """Divides clients into training, validation and test clients.

  Clients are ordered by a hash of seed and id, so neither their number nor the
  order of their names decides which are held out.

  Args:
    client_data: The clients to divide, at least one of which is left for
      training.
    validation_fraction: The share of clients for validation, in [0, 1). Unless
      it is 0, there is at least one such client.
    test_fraction: The share of clients for testing, likewise.
    seed: The seed. Another one holds out other clients.

  Returns:
    Three disjoint views (training, validation, test) with all clients.
  """
  for name, fraction in (
    ('validation_fraction', validation_fraction),
    ('test_fraction', test_fraction),
  ):
    errors.check_range(name, fraction, least=0, below=1)
  client_ids = client_data.client_ids
  num_clients = len(client_ids)
  num_validation, num_test = (
    max(1, round(fraction * num_clients)) if fraction else 0
    for fraction in (validation_fraction, test_fraction)
  )
  if num_validation + num_test >= num_clients:
    raise errors.InputError(
      f'{num_clients} client(s) cannot give {num_validation} for validation '
      f'and {num_test} for test (validation_fraction {validation_fraction}, '
      f'test_fraction {test_fraction}); at least one client must remain for '
      'training.'
    )

  def position(client_id: str) -> tuple[int, str]:
    stream = random_streams.random_generator('client split', seed, client_id)
    return int(stream.bit_generator.random_raw()), client_id

  ordered = sorted(client_ids, key=position)
  held_out = num_validation + num_test
  return (
    client_data.select(ordered[held_out:]),
    client_data.select(ordered[:num_validation]),
    client_data.select(ordered[num_validation:held_out]),
  )
