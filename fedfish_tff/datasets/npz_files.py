# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Arrays in .npz files, read with no more memory than their data need.

NumPy allocates the size promised by an array's header, whatever the file holds.
Here both are compared first.
"""

from collections.abc import Mapping
import lzma
import math
import struct
import tokenize
from typing import BinaryIO
import zipfile
import zlib

import numpy as np

_SUFFIX = '.npy'
# The exceptions of NumPy and zipfile for files that are damaged or not
# archives. They depend on the wrong byte: an OSError for an offset outside of
# the file, a RuntimeError for a flag that asks for a password, a TokenError for
# a header that is not Python, and the errors of each compression.
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
    file: The file.
    arrays: The arrays by name, without Python objects.
  """
  with zipfile.ZipFile(file, 'w') as archive:
    for name, array in arrays.items():
      # A fixed time stamp instead of the time of writing.
      entry = zipfile.ZipInfo(name + _SUFFIX)
      with archive.open(entry, 'w', force_zip64=True) as member:
        np.lib.format.write_array(member, array, allow_pickle=False)


def npz_array_names(archive: zipfile.ZipFile) -> list[str]:
  """Returns the names of the arrays in an .npz file, sorted."""
  return sorted(
    name.removesuffix(_SUFFIX)
    for name in archive.namelist()
    if name.endswith(_SUFFIX)
  )


def read_npz_shape(archive: zipfile.ZipFile, name: str) -> tuple[int, ...]:
  """Returns the shape of an array, reading only its header.

  Args:
    archive: An .npz file.
    name: The array's name.

  Raises:
    NPZ_READ_ERRORS: If the array cannot be read, or its header promises more or
      less than the file holds.
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
    return shape


def read_npz_array(archive: zipfile.ZipFile, name: str) -> np.ndarray:
  """Reads an array to its end, so that zipfile verifies its checksum.

  Args:
    archive: An .npz file.
    name: The array's name.

  Raises:
    NPZ_READ_ERRORS: If the array cannot be read, holds Python objects, or its
      header promises more or less than the file holds.
  """
  read_npz_shape(archive, name)
  with archive.open(name + _SUFFIX) as file:
    return np.lib.format.read_array(file, allow_pickle=False)


def _read_header(file: BinaryIO) -> tuple[tuple[int, ...], np.dtype]:
  version = np.lib.format.read_magic(file)
  read = (
    np.lib.format.read_array_header_1_0
    if version == (1, 0)
    else np.lib.format.read_array_header_2_0
  )
  shape, _, dtype = read(file)
  return shape, dtype
