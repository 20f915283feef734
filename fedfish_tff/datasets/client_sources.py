# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Clients that are read where they are used, possibly on another machine.

Instead of a client's arrays, its name, the plan of its batches and its source
are sent there. The source is a function's import path and its arguments, as
JSON. Clients without such a source are read in this process.
"""

from collections.abc import Callable
import dataclasses
import functools
import importlib
import json
from typing import Any

from fedfish_tff import errors
from fedfish_tff.datasets import client_data as client_data_lib
from fedfish_tff.datasets import data_fingerprint
from fedfish_tff.datasets import examples as examples_lib

# The number of client data that a process holds: the splits of two tasks.
_MOST_LOADED = 8


@dataclasses.dataclass(frozen=True)
class ClientSource:
  """The source from which any process loads the same clients.

  Attributes:
    loader: `<module>:<function>`, which returns a `ClientData`.
    arguments: Its keyword arguments, as JSON.
    fingerprint: The clients' `fingerprint`.
  """

  loader: str
  arguments: str
  fingerprint: str

  def load(self) -> client_data_lib.ClientData:
    """Returns the clients, loaded once per process.

    They must be those for which the source was made.
    """
    return _load(self)


@functools.lru_cache(maxsize=_MOST_LOADED)
def _load(source: ClientSource) -> client_data_lib.ClientData:
  module, _, function = source.loader.partition(':')
  try:
    load = getattr(importlib.import_module(module), function)
  except (ImportError, AttributeError) as error:
    raise errors.InputError(
      f'{source.loader}, by which clients are found, cannot be imported: {error}.'
    ) from error
  clients = load(**json.loads(source.arguments))
  if data_fingerprint.fingerprint(clients) != source.fingerprint:
    raise errors.InputError(
      f'{source.loader} with {source.arguments} must give the clients that it '
      'gave where the run was started; the files here are others.'
    )
  return clients


def set_source(
  clients: client_data_lib.ClientData, loader: str, **arguments: Any
) -> None:
  """Sets the source from which other processes load the same clients.

  Args:
    clients: The loader's result.
    loader: `<module>:<function>`, importable wherever clients are read.
    **arguments: Its keyword arguments, all of which must be JSON values.
  """
  clients.source = ClientSource(
    loader,
    json.dumps(arguments, sort_keys=True),
    data_fingerprint.fingerprint(clients),
  )


class StoredClient:
  """A client that is read where it is used.

  Pickled, it consists of its name and its source.

  Attributes:
    element_spec: The spec of its examples; None after unpickling.
  """

  def __init__(
    self,
    source: ClientSource,
    client_id: str,
    clients: client_data_lib.ClientData | None = None,
  ) -> None:
    """Reads nothing yet.

    Args:
      source: The source that has the client.
      client_id: The id of a client of the source.
      clients: The client data to read from in this process; None for the
        source.
    """
    self._source = source
    self._client_id = client_id
    self._clients = clients
    self.element_spec = None if clients is None else clients.element_spec

  def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return StoredClient, (self._source, self._client_id)

  def load(self) -> examples_lib.Examples:
    """Reads the client, without keeping it."""
    clients = self._source.load() if self._clients is None else self._clients
    return clients.load_client(self._client_id)
