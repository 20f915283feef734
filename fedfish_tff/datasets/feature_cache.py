# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Features of a frozen network, computed once and cached on disk.

Entries are found by content: a checksum of the extractor and one of the data.
So other data, or another extractor, never get wrong features, and the same
images have the same features in every partition.
"""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import errno
import hashlib
import json
import os
import pathlib
import re
from typing import Any
from typing import Protocol

from fedfish_tff import errors
from fedfish_tff import locks
from fedfish_tff import new_files
from fedfish_tff.datasets import client_data
from fedfish_tff.datasets import client_views
from fedfish_tff.datasets import examples as examples_lib
from fedfish_tff.datasets import npz_files

from absl import logging
import numpy as np

Arrays = Mapping[str, np.ndarray]

# The name of the array that identifies the features of a file.
_IDENTITY = 'identity'
_LOCK_SUFFIX = '.lock'


class Extractor(Protocol):
  """An extractor of features, such as `models.FeatureMap`.

  Attributes:
    name: A name for users, with which the name of the cache's subfolder begins.
    fingerprint: A checksum of everything besides the inputs on which features
      depend.
  """

  name: str

  @property
  def fingerprint(self) -> str:
    """A checksum of everything besides the inputs on which features depend."""

  def extract(self, inputs: np.ndarray) -> np.ndarray:
    """Returns features [n, d] of inputs [n, ...]."""


class FeatureCache:
  """An extractor with a cache of its results in a folder.

  Files get their names once they are complete. A file that is damaged
  nevertheless, as by a power failure, is computed again. Several processes may
  share the folder: if several need the same features, one computes them and the
  others wait. Features that cannot be written, as on a full disk, are still
  used by the run that computed them.
  """

  def __init__(
    self, extractor: Extractor, folder: str | os.PathLike[str]
  ) -> None:
    """Makes the extractor's folder, and removes files left by killed runs.

    Args:
      extractor: The extractor that computes missing features.
      folder: The folder of caches, with a subfolder for each extractor.
    """
    self.extractor = extractor
    readable = re.sub(r'[^\w.-]', '_', extractor.name)
    self._folder = (
      pathlib.Path(os.path.expanduser(folder))
      / f'{readable}-{extractor.fingerprint[:16]}'
    )
    self._told_of_writing = False
    with _telling(self._folder):
      self._folder.mkdir(parents=True, exist_ok=True)
      if self._folder.is_symlink():
        raise OSError(errno.ENOTDIR, 'It is a link')
      left = [
        path
        for path in self._folder.iterdir()
        if path.suffix == _LOCK_SUFFIX or new_files.is_temporary(path)
      ]
    for path in left:
      name = path.name.partition('.')[0]
      # An entry that another run is writing is skipped without waiting. And
      # there may be features to read in a folder where nothing can be removed.
      with contextlib.suppress(errors.InputError), self._lock(name, wait=False):
        if new_files.is_temporary(path):
          path.unlink(missing_ok=True)

  @property
  def folder(self) -> pathlib.Path:
    """The folder of this extractor's features; may be deleted at any time."""
    return self._folder

  def extract(self, inputs: np.ndarray) -> np.ndarray:
    """Returns `extractor.extract(inputs)`, computed or cached.

    Args:
      inputs: [n, ...] numbers that the extractor accepts.

    Returns:
      Features [n, d].
    """
    kept = self.load(
      _checksum(inputs), lambda: {'x': self.extractor.extract(inputs)}
    )
    return kept['x']

  def load(
    self, content_key: str, compute: Callable[[], Arrays]
  ) -> dict[str, np.ndarray]:
    """Returns the arrays cached under a key, or computes and caches them.

    Args:
      content_key: Any text that changes with the data.
      compute: A function that returns numeric arrays by name. It is called if
        they are not cached.
    """
    identity = f'{self.extractor.fingerprint} {content_key}'
    name = hashlib.sha256(identity.encode()).hexdigest()
    path = self._folder / f'{name}.npz'
    arrays, _ = _read(path, identity)
    if arrays is not None:
      return arrays
    with self._lock(name):
      # Another process may have written it in the meantime.
      arrays, damage = _read(path, identity)
      if arrays is None:
        if damage:
          logging.warning(
            'The features in %s cannot be read (%s) and are computed again.',
            path,
            damage,
          )
        arrays = dict(compute())
        self._write(path, identity, arrays)
    return arrays

  @contextlib.contextmanager
  def _lock(self, name: str, *, wait: bool = True) -> Iterator[None]:
    """Locks an entry against other processes, in a folder made if need be."""
    path = self._folder / f'{name}{_LOCK_SUFFIX}'
    with contextlib.ExitStack() as stack:
      with _telling(self._folder):
        stack.enter_context(
          locks.hold(path, in_use=None if wait else f'{path} is in use.')
        )
      yield

  def _write(self, path: pathlib.Path, identity: str, arrays: Arrays) -> None:
    """Caches arrays for other runs; warns once if that fails."""
    try:
      with new_files.new_file(path) as file:
        np.savez(file, **{_IDENTITY: np.array(identity)}, **arrays)
    except OSError as error:
      if not self._told_of_writing:
        logging.warning(
          'Features cannot be kept in %s (%s); this run goes on with them, and '
          'others compute them again.',
          path,
          error.strerror or error,
        )
      self._told_of_writing = True


class FeatureClientData(client_views.PreprocessedClientData):
  """Clients with features instead of their inputs x."""

  def __init__(
    self,
    inner: client_data.ClientData,
    extract: Callable[[np.ndarray], np.ndarray],
  ) -> None:
    """Wraps `inner`; no client is read yet.

    Args:
      inner: Clients with the arrays (x, y).
      extract: A function from x [n, ...] to features [n, d]: `extract` of an
        extractor or of a cache.
    """
    super().__init__(inner, lambda arrays: (extract(arrays[0]), arrays[1]))


class FileFeatureClientData(FeatureClientData):
  """Features of clients with files that show whether anything changed.

  Where decoding a client's images takes long, a checksum of its file suffices
  to find the cached features and labels, without reading the client.
  """

  def __init__(
    self,
    inner: client_data.ClientData,
    cache: FeatureCache,
    content_key: Callable[[str], str],
  ) -> None:
    """Wraps `inner`; no client is read yet.

    Args:
      inner: Clients with the arrays (x, y).
      cache: The cache of features and labels.
      content_key: A function from a client's id to a text that changes with the
        result of `inner.load_client`, and with its way of decoding the file.
    """
    super().__init__(inner, cache.extractor.extract)
    self._cache = cache
    self._content_key = content_key

  def _load(self, client_id: str, element_spec: Any) -> examples_lib.Examples:
    kept = self._cache.load(
      self._content_key(client_id),
      lambda: dict(zip('xy', self._preprocess(client_id, None), strict=True)),
    )
    return examples_lib.validate_examples(
      (kept['x'], kept['y']), client_id=client_id, element_spec=element_spec
    )


def _checksum(array: np.ndarray) -> str:
  array = np.ascontiguousarray(array)
  header = json.dumps([array.dtype.str, array.shape])
  digest = hashlib.sha256(header.encode())
  digest.update(array.data)
  return digest.hexdigest()


def _read(
  path: pathlib.Path, identity: str
) -> tuple[dict[str, np.ndarray] | None, str]:
  """Returns (arrays, '') for a sound file, or (None, its damage)."""
  try:
    # Reading verifies the archive's checksum of each array.
    with npz_files.open_archive(path) as archive:
      arrays = {
        name: npz_files.read_npz_array(archive, name)
        for name in npz_files.npz_array_names(archive)
      }
  except FileNotFoundError:
    return None, ''
  except npz_files.NPZ_READ_ERRORS as error:
    # Only errors of opening the file have its name.
    if getattr(error, 'filename', None) is not None:
      raise errors.InputError(
        f'The features in {path} cannot be read ({error.strerror}).'
      ) from error
    return None, errors.first_line(error)
  if str(arrays.pop(_IDENTITY, '')) != identity:
    return None, 'it holds those of something else'
  return arrays, ''


@contextlib.contextmanager
def _telling(path: pathlib.Path) -> Iterator[None]:
  """Turns the system's error into one clear sentence."""
  try:
    yield
  except OSError as error:
    raise errors.InputError(
      f'Features cannot be kept in {path} ({error.strerror or error}): it must '
      'be a folder that can be written and locked.'
    ) from error
