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
_OWN_TEST_ARRAYS = ('x_test', 'y_test')
_SUFFIX = '.npz'
# The array of PFLlib's files, a pickled dict of x and y.
_PICKLED = 'data'
# The file in which FL-bench names the examples of each client.
_PICKLED_PARTITION = 'partition.pkl'


class _Files:
  """The files of clients in a folder, with two arrays of given names."""

  def __init__(
    self,
    folder: pathlib.Path,
    names: tuple[str, str],
    *,
    is_optional: bool = False,
  ) -> None:
    self._folder = folder
    self._names = names
    self._is_optional = is_optional

  def list_ids(self) -> list[str]:
    """Returns the ids of the clients, sorted."""
    return sorted(
      path.name.removesuffix(_SUFFIX)
      for path in self._folder.iterdir()
      if path.name.endswith(_SUFFIX) and not path.name.startswith('.')
    )

  def read(self, client_id: str) -> tuple[np.ndarray, ...]:
    """Returns a client's two arrays."""
    with self._opened(client_id) as archive:
      found = npz_files.npz_array_names(archive)
      if not set(found).issuperset(self._names):
        raise errors.InputError(self._missing(client_id, found))
      return tuple(
        self._read_array(archive, name, client_id) for name in self._names
      )

  def peek_length(self, client_id: str) -> int:
    """Returns the number of examples, from the header of the first array."""
    with self._opened(client_id) as archive:
      found = npz_files.npz_array_names(archive)
      if self._is_optional and not set(found) & set(self._names):
        return 0
      if not set(found).issuperset(self._names):
        raise errors.InputError(self._missing(client_id, found))
      shape, _ = npz_files.read_npz_header(archive, self._names[0])
    # A single value is refused, with the reason, at loading.
    return shape[0] if shape else 1

  def _missing(self, client_id: str, found: list[str]) -> str:
    message = (
      f'The file {self._path(client_id)} of client {client_id!r} must hold the '
      f'arrays {list(self._names)}, got {found}'
    )
    if found == [_PICKLED]:
      message += (
        '; if it is a pickled dict, as PFLlib writes, which is not read from '
        "disk, write it by np.savez(path, x=data['x'], y=data['y'])"
      )
    return f'{message}.'

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

  @contextlib.contextmanager
  def _opened(self, client_id: str) -> Iterator[zipfile.ZipFile]:
    """Opens a client's file; errors of damaged files become InputErrors."""
    path = self._path(client_id)
    try:
      with npz_files.open_archive(path) as archive:
        yield archive
    except errors.InputError:
      raise
    except npz_files.NPZ_READ_ERRORS as error:
      raise errors.InputError(
        f'The file {path} of client {client_id!r} must be a complete .npz '
        f'file, and cannot be read ({errors.first_line(error)}).'
      ) from error

  def _path(self, client_id: str) -> str:
    return str(self._folder / f'{client_id}{_SUFFIX}')


class NpzFolderClientData(client_data.ClientData):
  """One `<client_id>.npz` per client, with the arrays x and y.

  x holds features [n, ...] and y labels [n, ...]. A client's own test data are
  the arrays x_test and y_test of the same file; or the files stand in the
  subfolder train, and those with the own test data, x and y, may in test. Other
  arrays are ignored. Files are read when a client is loaded, each time anew.
  """

  def __init__(
    self, folder: str | os.PathLike[str], *, skip_empty_clients: bool = False
  ) -> None:
    """Lists the clients.

    Args:
      folder: An existing folder with at least one client.
      skip_empty_clients: Whether to leave out clients without examples, for
        which the header of every file is read. Otherwise loading such a client
        fails.
    """
    self._folder = pathlib.Path(folder)
    try:
      at_top = _Files(self._folder, _ARRAYS).list_ids()
      divisions = [d for d in ('train', 'test') if (self._folder / d).is_dir()]
      self._is_divided = not at_top and 'train' in divisions
      if (
        at_top
        and divisions
        and any(_Files(self._folder / d, _ARRAYS).list_ids() for d in divisions)
      ):
        raise errors.InputError(
          f'The data folder {str(folder)!r} must hold the .npz files of clients '
          f'or the folders train and test, got {at_top[0]}{_SUFFIX} and '
          f'{" and ".join(divisions)}.'
        )
      place = self._folder / 'train' if self._is_divided else self._folder
      self._files = _Files(place, _ARRAYS)
      self._listed = frozenset(ids := self._files.list_ids())
    except OSError as error:
      raise errors.InputError(
        f'The data folder {str(folder)!r} must be a folder of .npz files, and '
        f'cannot be read ({error.strerror}).'
      ) from error
    if skip_empty_clients:
      ids = [c for c in ids if self._files.peek_length(c)]
    if not ids:
      raise errors.InputError(
        self._no_clients(place, 'with examples ' if skip_empty_clients else '')
      )
    self._client_ids = tuple(ids)
    self._known = frozenset(ids)

  @property
  def client_ids(self) -> tuple[str, ...]:
    return self._client_ids

  @functools.cached_property
  def element_spec(self) -> Any:
    client_id = self._client_ids[0]
    return examples_lib.spec_of_examples(
      examples_lib.validate_examples(
        self._files.read(client_id), client_id=client_id
      )
    )

  @functools.cached_property
  def own_test(self) -> client_data.ClientData | None:
    """The clients' own test data, under the same ids; None without any.

    Clients without test examples are left out, and a client with test data
    alone is an error. Every file is opened for it.
    """
    files = self._files
    ids = self._client_ids
    if not self._is_divided:
      files = _Files(self._folder, _OWN_TEST_ARRAYS, is_optional=True)
    elif (self._folder / 'test').is_dir():
      files = _Files(self._folder / 'test', _ARRAYS)
      ids = tuple(files.list_ids())
    else:
      files = _Files(self._folder / 'train', _OWN_TEST_ARRAYS, is_optional=True)
    for client_id in ids:
      if client_id not in self._listed:
        raise errors.InputError(
          f'Client {client_id!r} of {self._folder} must have a file in train, '
          'got one in test alone.'
        )
    # The others have no training examples, and were left out for it.
    ids = tuple(c for c in ids if c in self._known and files.peek_length(c))
    return _OwnTestData(self, files, ids) if ids else None

  def load_client(self, client_id: str) -> examples_lib.Examples:
    if client_id not in self._known:
      raise client_data.unknown_client_error(client_id, self._client_ids)
    x, y = examples_lib.validate_examples(
      self._files.read(client_id),
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

  def _no_clients(self, place: pathlib.Path, kind: str) -> str:
    """Returns the message for a folder without clients."""
    entries = os.listdir(place)
    message = (
      f'The data folder {str(place)!r} must hold one .npz file per client, got '
      f'no client {kind}({len(entries)} other entries)'
    )
    if any(name.endswith('.json') for name in entries):
      message += (
        f'; python -m launch.partition_dataset --dataset={self._folder} '
        "--output_dir=NEW makes such a folder of LEAF's JSON files"
      )
    elif _PICKLED_PARTITION in entries:
      message += (
        f'; {_PICKLED_PARTITION}, as FL-bench writes, is a pickle, which is not '
        'read from disk: write x, y, x_test and y_test of each client by '
        'np.savez'
      )
    return f'{message}.'


class _OwnTestData(client_data.ClientData):
  """Clients' own test data, like their training data."""

  def __init__(
    self,
    train: NpzFolderClientData,
    files: _Files,
    client_ids: tuple[str, ...],
  ) -> None:
    self._train = train
    self._files = files
    self._client_ids = client_ids
    self._known = frozenset(client_ids)

  @property
  def client_ids(self) -> tuple[str, ...]:
    return self._client_ids

  @property
  def element_spec(self) -> Any:
    return self._train.element_spec

  def load_client(self, client_id: str) -> examples_lib.Examples:
    if client_id not in self._known:
      raise client_data.unknown_client_error(client_id, self._client_ids)
    try:
      return examples_lib.validate_examples(
        self._files.read(client_id),
        client_id=client_id,
        element_spec=self.element_spec,
      )
    except errors.InputError as error:
      raise errors.InputError(f'Own test data: {error}') from error
