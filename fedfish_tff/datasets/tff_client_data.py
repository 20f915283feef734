# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Clients of TFF's own data sets, read as flat arrays.

`tff.simulation.datasets.<name>.load_data` gives clients as tf.data pipelines
over an SQLite file. Here such a client is read once, as a whole.
"""

from collections.abc import Collection
import contextlib
import os
import pathlib
import sqlite3
from typing import Any

from fedfish_tff import errors
from fedfish_tff.datasets import client_data
from fedfish_tff.datasets import examples as examples_lib

import tensorflow as tf
import tensorflow_federated as tff

# The batch size, larger than any client, so that all of its examples are one
# batch.
_ALL_EXAMPLES = 2**31 - 1


class TffClientData(client_data.ClientData):
  """Clients of a `tff.simulation.datasets.ClientData`, as arrays."""

  def __init__(
    self, source: tff.simulation.datasets.ClientData, *, prefix: str = ''
  ) -> None:
    """Reads the ids; clients are read when they are loaded.

    Args:
      source: The client data to read from; one element is one example.
      prefix: A prefix of each of the source's client ids, to distinguish
        clients of several sources with the same ids.
    """
    ids = {prefix + client_id: client_id for client_id in source.client_ids}
    if not ids:
      raise errors.InputError(
        'The TFF client data must have at least one client, got none.'
      )
    self._source_ids = {client_id: ids[client_id] for client_id in sorted(ids)}
    self._element_spec = source.element_type_structure
    # A bound `tf.function`, as in some sources, does not keep its object alive.
    self._source = source
    self._dataset_fn = dataset_fn = source.serializable_dataset_fn

    # Traced once for all clients, since making a dataset for each would take
    # longer than reading it.
    @tf.function(input_signature=[tf.TensorSpec([], tf.string)])
    def read(client_id: tf.Tensor) -> Any:
      return dataset_fn(client_id).batch(_ALL_EXAMPLES).get_single_element()

    self._read = read

  @property
  def client_ids(self) -> tuple[str, ...]:
    return tuple(self._source_ids)

  @property
  def element_spec(self) -> Any:
    return self._element_spec

  def load_client(self, client_id: str) -> examples_lib.Examples:
    if client_id not in self._source_ids:
      raise client_data.unknown_client_error(client_id, self.client_ids)
    try:
      tensors = self._read(self._source_ids[client_id])
    except tf.errors.OpError as error:
      if self._is_empty(client_id):
        raise errors.InputError(
          f'Client {client_id!r} must have at least one example, got none.'
        ) from error
      raise errors.InputError(
        f'The examples of client {client_id!r} must have '
        f'{", ".join(examples_lib.array_names(self._element_spec))}, and '
        f'cannot be read ({_reason(error)}).'
      ) from error
    return examples_lib.validate_examples(
      tf.nest.map_structure(lambda tensor: tensor.numpy(), tensors),
      client_id=client_id,
      element_spec=self._element_spec,
    )

  def _is_empty(self, client_id: str) -> bool:
    """Returns whether a client is listed, but has no examples."""
    examples = iter(self._dataset_fn(self._source_ids[client_id]))
    try:
      return next(examples, None) is None
    except tf.errors.OpError:
      return False  # There is an example that cannot be read.


def _reason(error: tf.errors.OpError) -> str:
  """Returns an error's message without its place in the graph."""
  lines = [' '.join(line.split()) for line in error.message.splitlines()]
  around = ('Graph execution error', 'Detected at', 'File "', '<stack', '[[')
  told = [line for line in lines if line and not line.startswith(around)]
  return ' '.join(told) or type(error).__name__


def check_tff_database(
  path: str | os.PathLike[str], splits: Collection[str]
) -> None:
  """Checks that a file is a database that TFF's loaders can read.

  Each of the named splits must have clients.
  """
  if not os.path.isfile(path):
    raise errors.InputError(
      f'There is no file {path}, which must be a TFF data base.'
    )
  try:
    file = pathlib.Path(path).resolve()
    for suffix in ('-journal', '-wal'):
      # TFF's loaders would undo the change, and SQLite deletes a file it names.
      if os.path.lexists(f'{file}{suffix}'):
        raise sqlite3.DatabaseError(
          f'{file.name}{suffix} beside it tells of an unfinished change'
        )
    # Immutable: SQLite locks nothing and creates no missing file.
    uri = f'{file.as_uri()}?immutable=1'
    with contextlib.closing(sqlite3.connect(uri, uri=True)) as connection:
      connection.execute(
        'SELECT split_name, client_id, serialized_example_proto '
        'FROM examples LIMIT 1'
      ).fetchall()
      rows = connection.execute(
        'SELECT DISTINCT split_name FROM client_metadata'
      ).fetchall()
      # SQLite does not notice a missing end until it reads it.
      (num_pages,) = connection.execute('PRAGMA page_count').fetchone()
      (page_bytes,) = connection.execute('PRAGMA page_size').fetchone()
      if os.path.getsize(path) < num_pages * page_bytes:
        raise sqlite3.DatabaseError('its end is missing')
  except sqlite3.Error as error:
    raise errors.InputError(
      f'The file {path} must be a TFF data base, an SQLite file with the '
      f'tables examples and client_metadata ({error}).'
    ) from error
  found = {row[0] for row in rows}
  for split in splits:
    if split not in found:
      raise errors.InputError(
        f'The TFF data base {path} has no clients in split {split!r}; found '
        f'{", ".join(sorted(map(str, found))) or "none"}.'
      )
