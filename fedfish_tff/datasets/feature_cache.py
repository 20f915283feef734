# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Features of a frozen network, computed once and kept on disk.

What is kept is found by its content: a checksum of the extractor and one of the
data. So other data, or another extractor, never meet features that are not
theirs, and the same images have the same features in every partition.
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
import zipfile

from fedfish_tff import errors
from fedfish_tff import locks
from fedfish_tff import new_files
from fedfish_tff import regular_files
from fedfish_tff.datasets import client_data
from fedfish_tff.datasets import client_views
from fedfish_tff.datasets import examples as examples_lib
from fedfish_tff.datasets import npz_files

from absl import logging
import numpy as np

Arrays = Mapping[str, np.ndarray]

# The array beside the others that says whose features a file holds.
_IDENTITY = 'identity'
_LOCK_SUFFIX = '.lock'


class Extractor(Protocol):
  """What makes features, such as `models.FeatureMap`.

  Attributes:
    name: For people.
    fingerprint: A checksum of all that features depend on beside the inputs.
  """

  name: str

  @property
  def fingerprint(self) -> str:
    """See the class."""

  def extract(self, inputs: np.ndarray) -> np.ndarray:
    """Returns features [n, d] of inputs [n, ...]."""


class FeatureCache:
  """An extractor whose results are kept in a folder.

  Files get their names once they are written whole, and what is damaged all the
  same, as by a power failure, is computed again. Several processes may share
  the folder: what one computes, others wait for if they want the same. Features
  that cannot be written, as on a full disk, serve the run that computed them.
  """

  def __init__(
    self, extractor: Extractor, folder: str | os.PathLike[str]
  ) -> None:
    """Makes the extractor's folder, and removes what killed runs left there.

    Args:
      extractor: Computes what is not there.
      folder: For any number of extractors; each has a folder in it.

    Raises:
      errors.InputError: If the folder cannot be made.
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
      # If another run is writing it now, it is not to be waited for; and there
      # may be features to read where nothing can be removed.
      with contextlib.suppress(errors.InputError), self._lock(name, wait=False):
        if new_files.is_temporary(path):
          path.unlink(missing_ok=True)

  @property
  def folder(self) -> pathlib.Path:
    """Where this extractor's features are; may be deleted at any time."""
    return self._folder

  def extract(self, inputs: np.ndarray) -> np.ndarray:
    """Returns `extractor.extract(inputs)`, computed or read.

    Args:
      inputs: [n, ...] numbers.

    Returns:
      Features [n, d].

    Raises:
      errors.InputError: If the extractor does not take the inputs, or the
        folder cannot be used.
    """
    kept = self.load(
      _checksum(inputs), lambda: {'x': self.extractor.extract(inputs)}
    )
    return kept['x']

  def load(
    self, content_key: str, compute: Callable[[], Arrays]
  ) -> dict[str, np.ndarray]:
    """Returns arrays that were kept under a key, or computes and keeps them.

    Args:
      content_key: Any text that changes with the data.
      compute: Returns the arrays by name, of numbers; called where they are not
        there.

    Returns:
      The arrays.

    Raises:
      errors.InputError: If the folder cannot be used.
    """
    identity = f'{self.extractor.fingerprint} {content_key}'
    name = hashlib.sha256(identity.encode()).hexdigest()
    path = self._folder / f'{name}.npz'
    arrays, _ = _read(path, identity)
    if arrays is not None:
      return arrays
    with self._lock(name):
      # Another process may have been faster.
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
    """Lets no other process write an entry, in a folder made if need be."""
    path = self._folder / f'{name}{_LOCK_SUFFIX}'
    with contextlib.ExitStack() as stack:
      with _telling(self._folder):
        stack.enter_context(
          locks.hold(path, in_use=None if wait else f'{path} is in use.')
        )
      yield

  def _write(self, path: pathlib.Path, identity: str, arrays: Arrays) -> None:
    """Keeps arrays for other runs; tells once if that cannot be."""
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
  """Clients with features in the place of their inputs x."""

  def __init__(
    self,
    inner: client_data.ClientData,
    extract: Callable[[np.ndarray], np.ndarray],
  ) -> None:
    """Wraps `inner`; no client is read yet.

    Args:
      inner: Clients with the arrays (x, y).
      extract: From x [n, ...] to features [n, d]: `extract` of an extractor or
        of a cache.
    """
    super().__init__(inner, lambda arrays: (extract(arrays[0]), arrays[1]))


class FileFeatureClientData(FeatureClientData):
  """Features of clients whose files tell whether anything changed.

  Where decoding a client's images takes long, a checksum of its file is enough
  to find the features and labels that were kept: the client is not read.
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
      cache: Keeps features and labels.
      content_key: From a client's id to a text that changes with what
        `inner.load_client` returns, and with what it makes of the file.
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
  """Returns (arrays, '') of a sound file, or (None, what is wrong with it)."""
  try:
    file = open(path, 'rb', opener=regular_files.opener)
  except FileNotFoundError:
    return None, ''
  except OSError as error:
    raise errors.InputError(
      f'The features in {path} cannot be read ({error.strerror}).'
    ) from error
  try:
    # The archive has a checksum of each array, which reading checks.
    with file, zipfile.ZipFile(file) as archive:
      arrays = {
        name: npz_files.read_npz_array(archive, name)
        for name in npz_files.npz_array_names(archive)
      }
  except npz_files.NPZ_READ_ERRORS as error:
    return None, ' '.join(str(error).split()) or type(error).__name__
  if str(arrays.pop(_IDENTITY, '')) != identity:
    return None, 'it holds those of something else'
  return arrays, ''


@contextlib.contextmanager
def _telling(path: pathlib.Path) -> Iterator[None]:
  """Makes one clear sentence of the system's error."""
  try:
    yield
  except OSError as error:
    raise errors.InputError(
      f'Features cannot be kept in {path} ({error.strerror or error}); a '
      'folder that can be written and locked was expected.'
    ) from error
