# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Arrays in .npz files, for which no more memory is taken than they fill.

NumPy allocates what an array's header promises, whatever the file holds. Here
the two are compared first.
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
# What NumPy and zipfile raise on files that are damaged or no archives, by which
# byte is wrong: an OSError of a place outside of the file, a RuntimeError of a
# flag that asks for a password, a TokenError of a header that is no Python, and
# the errors of each way to compress.
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
      # Without the time of writing.
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
  """Returns the shape of an array, of which only the header is read.

  Args:
    archive: An .npz file.
    name: The array's name.

  Raises:
    NPZ_READ_ERRORS: If it cannot be read, or promises more or less than the
      file holds.
  """
  with archive.open(name + _SUFFIX) as file:
    shape, dtype = _read_header(file)
    # Of Python objects, the size is not known.
    promised = math.prod(shape) * dtype.itemsize
    held = archive.getinfo(name + _SUFFIX).file_size - file.tell()
    if promised != held and not dtype.hasobject:
      raise ValueError(
        f'array {name!r} promises {promised} bytes, {dtype}{list(shape)}, and '
        f'holds {held}'
      )
    return shape


def read_npz_array(archive: zipfile.ZipFile, name: str) -> np.ndarray:
  """Reads an array to its end, where zipfile compares its checksum.

  Args:
    archive: An .npz file.
    name: The array's name.

  Raises:
    NPZ_READ_ERRORS: If it cannot be read, holds Python objects, or promises
      more or less than the file holds.
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
