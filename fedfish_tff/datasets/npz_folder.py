# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Clients in a folder of .npz files, one file per client."""

from collections.abc import Iterator
import contextlib
import functools
import os
import pathlib
from typing import Any
import zipfile

from fedfish_tff import errors
from fedfish_tff.datasets import client_data
from fedfish_tff.datasets import examples as examples_lib
from fedfish_tff.datasets import npz_files

import numpy as np

_ARRAYS = ('x', 'y')


class NpzFolderClientData(client_data.ClientData):
  """One `<client_id>.npz` per client, with the arrays x and y.

  x holds features [n, ...] and y labels [n, ...]; other arrays are ignored.
  Files are read when a client is loaded, each time anew.
  """

  def __init__(
    self, folder: str | os.PathLike[str], *, skip_empty_clients: bool = False
  ) -> None:
    """Lists the clients.

    Args:
      folder: The path of the folder.
      skip_empty_clients: Whether to leave out clients without examples, for
        which the header of every file is read. Otherwise loading such a client
        fails.

    Raises:
      errors.InputError: If the folder does not exist or has no clients.
    """
    self._folder = pathlib.Path(folder)
    self._skip_empty_clients = skip_empty_clients
    try:
      names = sorted(os.listdir(self._folder))
    except OSError as error:
      raise errors.InputError(
        f'The data folder {str(folder)!r} must be a folder of .npz files, and '
        f'cannot be read ({error.strerror}).'
      ) from error
    ids = [
      name.removesuffix('.npz')
      for name in names
      if name.endswith('.npz') and not name.startswith('.')
    ]
    if skip_empty_clients:
      ids = [client_id for client_id in ids if self._peek_length(client_id)]
    if not ids:
      kind = 'with examples ' if skip_empty_clients else ''
      raise errors.InputError(
        f'The data folder {str(folder)!r} must hold one .npz file per client, '
        f'got no client {kind}({len(names)} other entries).'
      )
    self._client_ids = tuple(sorted(ids))
    self._known = frozenset(ids)

  @property
  def client_ids(self) -> tuple[str, ...]:
    return self._client_ids

  @functools.cached_property
  def element_spec(self) -> Any:
    client_id = self._client_ids[0]
    return examples_lib.spec_of_examples(
      examples_lib.validate_examples(self._read(client_id), client_id=client_id)
    )

  def load_client(self, client_id: str) -> examples_lib.Examples:
    if client_id not in self._known:
      raise client_data.unknown_client_error(client_id, self._client_ids)
    x, y = examples_lib.validate_examples(
      self._read(client_id),
      client_id=client_id,
      element_spec=self.element_spec,
      allow_empty=True,
    )
    if not len(x):
      raise errors.InputError(
        f'Client {client_id!r} has no examples; skip_empty_clients=True leaves '
        'such clients out.'
      )
    return x, y

  def _read(self, client_id: str) -> tuple[np.ndarray, ...]:
    with self._opened(client_id) as archive:
      return tuple(
        self._read_array(archive, name, client_id) for name in _ARRAYS
      )

  def _read_array(
    self, archive: zipfile.ZipFile, name: str, client_id: str
  ) -> np.ndarray:
    try:
      return npz_files.read_npz_array(archive, name)
    except ValueError as error:
      if 'allow_pickle' not in str(error):
        raise
      raise errors.InputError(
        f'Array {name!r} of client {client_id!r} ({self._path(client_id)}) '
        'must hold numbers, booleans or strings, got Python objects, which are '
        'not read from disk.'
      ) from error

  def _peek_length(self, client_id: str) -> int:
    """Returns the number of examples, from the header of array x alone."""
    with self._opened(client_id) as archive:
      shape, _ = npz_files.read_npz_header(archive, 'x')
    # A single value is refused, with the reason, at loading.
    return shape[0] if shape else 1

  @contextlib.contextmanager
  def _opened(self, client_id: str) -> Iterator[zipfile.ZipFile]:
    """Opens a client's file; errors of damaged files become InputErrors."""
    path = self._path(client_id)
    try:
      with npz_files.open_archive(path) as archive:
        found = npz_files.npz_array_names(archive)
        if not set(found).issuperset(_ARRAYS):
          raise errors.InputError(
            f'The file {path} of client {client_id!r} must hold the arrays '
            f'{list(_ARRAYS)}, got {found}.'
          )
        yield archive
    except errors.InputError:
      raise
    except npz_files.NPZ_READ_ERRORS as error:
      raise errors.InputError(
        f'The file {path} of client {client_id!r} must be a complete .npz '
        f'file, and cannot be read ({errors.first_line(error)}).'
      ) from error

  def _path(self, client_id: str) -> str:
    return str(self._folder / f'{client_id}.npz')
