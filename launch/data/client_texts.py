# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The texts of a folder of grouped clients."""

from collections.abc import Iterator

from fedfish_tff import datasets
from fedfish_tff import errors

# The number of clients that are shuffled together.
_WINDOW = 4096
_FEATURE = 'text'


def read_texts(folder: str) -> Iterator[str]:
  """Yields the texts of training clients, client by client in random order.

  The folder is one of grouped clients.
  """
  clients = datasets.StreamedClients(
    folder, 'train', window=_WINDOW, seed=0, features=(_FEATURE,)
  )
  for client in clients.clients():
    for value in client.examples[_FEATURE]:
      try:
        if not isinstance(value, str | bytes):
          raise errors.InputError(
            f'The value must be a text, got a {type(value).__name__}.'
          )
        yield datasets.to_unicode(value)
      except errors.InputError as error:
        raise errors.InputError(
          f'Feature {_FEATURE!r} of client {client.client_id!r}: {error}'
        ) from error
