# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Clients that are read where they are used, on another machine maybe.

What travels there is a client's name and the plan of its batches, instead of its
arrays, and how to find the clients: a function by its import path and what to call
it with, as JSON. Clients without such a source are read here.
"""

from collections.abc import Callable
import dataclasses
import functools
import importlib
import json
from typing import Any

from fedfish_tff import errors
from fedfish_tff.datasets import batches as batches_lib
from fedfish_tff.datasets import client_data as client_data_lib
from fedfish_tff.datasets import data_fingerprint
from fedfish_tff.datasets import examples as examples_lib

import numpy as np
import tensorflow_federated as tff

# Of client data that a process holds: the splits of two tasks.
_MOST_LOADED = 8


@dataclasses.dataclass(frozen=True)
class ClientSource:
  """Where any process finds the same clients.

  Attributes:
    loader: `<module>:<function>`, which returns a `ClientData`.
    arguments: Its keyword arguments, as JSON.
    fingerprint: Of the clients, see `data_fingerprint`.
  """

  loader: str
  arguments: str
  fingerprint: str

  def load(self) -> client_data_lib.ClientData:
    """Returns the clients, loaded once in a process.

    Raises:
      errors.InputError: If there are none, or they are others than those that
        the source was made for.
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
      f'{source.loader} with {source.arguments} gives other clients here than '
      'where the run was started; the same files were expected.'
    )
  return clients


def set_source(
  clients: client_data_lib.ClientData, loader: str, **arguments: Any
) -> None:
  """Tells client data where other processes find the same clients.

  Args:
    clients: What the loader returns.
    loader: `<module>:<function>`, importable wherever clients are read.
    **arguments: Its keyword arguments, all of which JSON can hold.

  Raises:
    errors.InputError: If a client cannot be read; some are, for the fingerprint.
  """
  clients.source = ClientSource(
    loader,
    json.dumps(arguments, sort_keys=True),
    data_fingerprint.fingerprint(clients),
  )


class ClientReference(batches_lib.ClientBatches):
  """The batches of a client that is read when it is looked at.

  Pickled, it is the name of the client and of its source.

  Attributes:
    source: Where the client is found.
    element_spec: Of the client's examples; None for one that has travelled.
    num_rows_hint: How many examples its epochs have, as far as one knows
      without reading the client.
  """

  def __init__(
    self,
    source: ClientSource,
    spec: batches_lib.BatchSpec,
    client_id: str,
    seed: int,
    round_number: int,
    clients: client_data_lib.ClientData | None = None,
  ) -> None:
    """Reads nothing.

    Args:
      source: Where the client is found.
      spec: See `batches.plan_batches`.
      client_id: See the same.
      seed: See the same.
      round_number: See the same.
      clients: What to read it from in this process; None for the source.
    """
    size = 0 if clients is None else clients.approximate_size(client_id)
    # Around the setters of a frozen class.
    vars(self).update(
      source=source,
      element_spec=None if clients is None else clients.element_spec,
      num_rows_hint=spec.epochs * min(size, spec.max_examples or size),
      client_id=client_id,
      epochs=spec.epochs,
      batch_size=spec.batch_size,
      _clients=clients,
      _spec=spec,
      _arguments=(source, spec, client_id, seed, round_number),
    )

  def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return ClientReference, self._arguments

  def read(self) -> batches_lib.ClientBatches:
    """Reads the client, and keeps no more of it than how much there is."""
    clients = self.source.load() if self._clients is None else self._clients
    _, spec, client_id, seed, round_number = self._arguments
    examples = clients.load_client(client_id)
    self.learn_total(examples_lib.count_examples(examples))
    return batches_lib.plan_batches(
      examples,
      spec,
      client_id=client_id,
      seed=seed,
      round_number=round_number,
    )

  @functools.cached_property
  def _batches(self) -> batches_lib.ClientBatches:
    return self.read()

  @property
  def examples(self) -> examples_lib.Examples:
    return self._batches.examples

  @property
  def indices(self) -> np.ndarray:
    return self._batches.indices

  @functools.cached_property
  def total(self) -> int:
    """The client's examples, before the cap."""
    return examples_lib.count_examples(self.examples)

  @property
  def num_examples(self) -> int:
    return min(self.total, self._spec.max_examples or self.total)

  def learn_total(self, total: int) -> None:
    """Keeps what another process that has read the client tells of it.

    Args:
      total: The client's examples, before the cap.
    """
    vars(self)['total'] = total


class _PartReference(ClientReference):
  """Other batches of a client, made where the client is read."""

  def __init__(
    self,
    whole: ClientReference,
    make: Callable[[batches_lib.ClientBatches], batches_lib.ClientBatches],
  ) -> None:
    """Reads nothing.

    Args:
      whole: The client's batches.
      make: From these to others.
    """
    vars(self).update(
      source=whole.source,
      element_spec=whole.element_spec,
      num_rows_hint=whole.num_rows_hint,
      client_id=whole.client_id,
      _whole=whole,
      _make=make,
    )

  def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return _PartReference, (self._whole, self._make)

  def read(self) -> batches_lib.ClientBatches:
    return self._make(self._whole.read())

  @property
  def epochs(self) -> int:
    return self._batches.epochs

  @property
  def batch_size(self) -> int:
    return self._batches.batch_size

  @property
  def num_examples(self) -> int:
    return self._batches.num_examples

  @property
  def total(self) -> int:
    return self._whole.total

  def learn_total(self, total: int) -> None:
    self._whole.learn_total(total)


def take_part(
  batches: batches_lib.ClientBatches,
  make: Callable[[batches_lib.ClientBatches], batches_lib.ClientBatches],
) -> batches_lib.ClientBatches:
  """Returns other batches of a client, made where the client is read.

  Args:
    batches: The client's batches.
    make: From these to others of the same client: a function of a module, or a
      `functools.partial` of one, since it travels.
  """
  if isinstance(batches, ClientReference):
    return _PartReference(batches, make)
  return make(batches)


def takes_references() -> bool:
  """Whether the current execution context has clients read by others."""
  context = tff.framework.get_context_stack().current
  return getattr(context, 'takes_client_references', False)


def plan_client(
  clients: client_data_lib.ClientData,
  spec: batches_lib.BatchSpec,
  *,
  client_id: str,
  seed: int,
  round_number: int,
  refers: bool,
) -> batches_lib.ClientBatches:
  """Plans a client's batches, and reads the client unless others will.

  Args:
    clients: The clients.
    spec: See `batches.plan_batches`.
    client_id: See the same.
    seed: See the same.
    round_number: See the same.
    refers: `takes_references`, asked in the thread that has the context.

  Returns:
    The batches: a reference where clients have a source and it is of use.
  """
  if refers and clients.source is not None:
    return ClientReference(
      clients.source, spec, client_id, seed, round_number, clients
    )
  return batches_lib.plan_batches(
    clients.load_client(client_id),
    spec,
    client_id=client_id,
    seed=seed,
    round_number=round_number,
  )
