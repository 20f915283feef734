# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Arrays in .npz files, read with memory in proportion to the file.

NumPy allocates the size promised by an array's header, whatever the file holds.
Here both are compared first, and before that all that the archive promises with
its own size. A file that cannot be read, or holds other arrays than asked for,
raises one of `NPZ_READ_ERRORS`.
"""

from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import errno
import lzma
import math
import os
import struct
import tokenize
from typing import BinaryIO
import zipfile
import zlib

from fedfish_tff import regular_files

import numpy as np

_SUFFIX = '.npy'
_MOST_CHARACTERS = 2**22
# The exceptions of NumPy and zipfile for files that are damaged or not
# archives. They depend on the wrong byte: a RuntimeError for a flag that asks
# for a password, a TokenError for a header that is not Python, and the errors of
# each compression. An OSError means that the system cannot read the file.
NPZ_READ_ERRORS = (
  EOFError,
  KeyError,
  MemoryError,
  OSError,
  RuntimeError,
  ValueError,
  lzma.LZMAError,
  struct.error,
  tokenize.TokenError,
  zipfile.BadZipFile,
  zlib.error,
)


def write_npz(file: BinaryIO, arrays: Mapping[str, np.ndarray]) -> None:
  """Writes an .npz file, the same bytes for the same arrays.

  Args:
    file: A new file, open for writing bytes.
    arrays: The arrays by name, without Python objects.
  """
  with zipfile.ZipFile(file, 'w') as archive:
    for name, array in arrays.items():
      # A fixed time stamp instead of the time of writing.
      entry = zipfile.ZipInfo(name + _SUFFIX)
      with archive.open(entry, 'w', force_zip64=True) as member:
        np.lib.format.write_array(member, array, allow_pickle=False)


@contextlib.contextmanager
def open_archive(path: str | os.PathLike[str]) -> Iterator[zipfile.ZipFile]:
  """Opens an .npz file, or another zip archive.

  Yields:
    The archive, whose members all together need no more memory than its size
    justifies.
  """
  try:
    with (
      open(path, 'rb', opener=regular_files.opener) as file,
      zipfile.ZipFile(file) as archive,
    ):
      size = os.fstat(file.fileno()).st_size
      promised = sum(member.file_size for member in archive.infolist())
      most = regular_files.most_content_bytes(size)
      if promised > most:
        raise ValueError(
          f'a compressed archive of {size:,} bytes must hold at most {most:,}, '
          f'got {promised:,}; one that is not compressed may hold more'
        )
      yield archive
  except OSError as error:
    if error.errno != errno.EINVAL:
      raise
    # The system seeks to no place before the file.
    raise ValueError('a member begins before the file') from error


def npz_array_names(archive: zipfile.ZipFile) -> list[str]:
  """Returns the names of the arrays in an .npz file, sorted."""
  return sorted(
    name.removesuffix(_SUFFIX)
    for name in archive.namelist()
    if name.endswith(_SUFFIX)
  )


def read_npz_header(
  archive: zipfile.ZipFile, name: str
) -> tuple[tuple[int, ...], np.dtype]:
  """Returns the shape and dtype of an array, reading only its header.

  The header must promise as much as the file holds.
  """
  with archive.open(name + _SUFFIX) as file:
    shape, dtype = _read_header(file)
    # The size of Python objects is unknown.
    promised = math.prod(shape) * dtype.itemsize
    held = archive.getinfo(name + _SUFFIX).file_size - file.tell()
    if promised != held and not dtype.hasobject:
      raise ValueError(
        f'array {name!r} promises {promised} bytes, {dtype}{list(shape)}, and '
        f'holds {held}'
      )
    return shape, dtype


def read_npz_array(archive: zipfile.ZipFile, name: str) -> np.ndarray:
  """Reads an array to its end, so that zipfile verifies its checksum."""
  read_npz_header(archive, name)
  with archive.open(name + _SUFFIX) as file:
    return np.lib.format.read_array(file, allow_pickle=False)


def read_npz_text(archive: zipfile.ZipFile, name: str) -> str:
  """Reads an array that is one text of at most 4 million characters."""
  shape, dtype = read_npz_header(archive, name)
  most = np.dtype(('U', _MOST_CHARACTERS))
  if shape or dtype.kind != 'U' or dtype.itemsize > most.itemsize:
    raise ValueError(
      f'array {name!r} must be a text of at most {_MOST_CHARACTERS:,} '
      f'characters, got {dtype}{list(shape)}'
    )
  return str(read_npz_array(archive, name))


def _read_header(file: BinaryIO) -> tuple[tuple[int, ...], np.dtype]:
  version = np.lib.format.read_magic(file)
  read = (
    np.lib.format.read_array_header_1_0
    if version == (1, 0)
    else np.lib.format.read_array_header_2_0
  )
  shape, _, dtype = read(file)
  return shape, dtype
