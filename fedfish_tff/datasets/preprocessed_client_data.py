# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Applies a function to each client's arrays when they are read."""

from collections.abc import Callable
from collections.abc import Sequence
from typing import Any

from fedfish_tff import errors
from fedfish_tff.datasets import client_data
from fedfish_tff.datasets import examples as examples_lib


class PreprocessedClientData(client_data.ClientData):
  """Client data behind a function of a client's whole nest of arrays.

  The result is validated like data that was read, so a function that changes
  lengths, shapes or makes values infinite is found out by the client's name.
  """

  def __init__(
    self,
    inner: client_data.ClientData,
    preprocess_fn: Callable[[examples_lib.Examples], examples_lib.Examples],
  ) -> None:
    """Wraps `inner`; no client is read yet.

    Args:
      inner: Where clients are read.
      preprocess_fn: From a nest of arrays [n, ...] to another one [m, ...]. An
        `errors.InputError` that it raises gets the client's name in front.
    """
    self._inner = inner
    self._preprocess_fn = preprocess_fn
    self._element_spec = None

  @property
  def client_ids(self) -> Sequence[str]:
    return self._inner.client_ids

  @property
  def element_spec(self) -> Any:
    if self._element_spec is None:
      if not self.client_ids:
        raise errors.InputError(
          'Preprocessed client data without clients has no element_spec; at '
          'least one client was expected.'
        )
      first = self._preprocess(self.client_ids[0], element_spec=None)
      self._element_spec = examples_lib.spec_of_examples(first)
    return self._element_spec

  def approximate_size(self, client_id: str) -> int:
    return self._inner.approximate_size(client_id)

  def load_client(self, client_id: str) -> examples_lib.Examples:
    return self._preprocess(client_id, element_spec=self.element_spec)

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
