# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tensors in files, known by shape and dtype before they are read."""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import dataclasses
import os
from typing import BinaryIO

from fedfish_tff import errors
from fedfish_tff import regular_files

import h5py
import numpy as np


@dataclasses.dataclass(frozen=True)
class StoredTensor:
  """A tensor that is read on demand.

  Attributes:
    shape: The sizes of the axes, known before the values are read.
    dtype: The name of the dtype.
    is_real: Whether the dtype is one of real numbers.
    read: A function that returns the values.
  """

  shape: tuple[int, ...]
  dtype: str
  is_real: bool
  read: Callable[[], np.ndarray]

  @classmethod
  def of(
    cls,
    shape: Sequence[int],
    dtype: np.dtype,
    read: Callable[[], np.ndarray],
  ) -> 'StoredTensor':
    """Returns a tensor of one of NumPy's dtypes."""
    return cls(tuple(shape), dtype.name, is_real(dtype), read)

  @classmethod
  def of_array(cls, array: np.ndarray | h5py.Dataset) -> 'StoredTensor':
    """Returns an array, or one in an HDF5 file."""
    return cls.of(array.shape, array.dtype, lambda: np.asarray(array))


def is_real(dtype: np.dtype) -> bool:
  """Returns whether a dtype is one of real numbers, bfloat16 included."""
  # NumPy takes the dtypes of other libraries for bytes without a meaning.
  is_foreign = dtype.kind == 'V' and dtype.type is not np.void
  return dtype.kind in 'iuf' or is_foreign


def cast(tensor: StoredTensor, dtype: np.dtype, *, name: str) -> np.ndarray:
  """Reads a tensor as another dtype, which may round it.

  Values that are not finite in that dtype raise an error that names the tensor
  and its file.
  """
  is_number = tensor.is_real if is_real(dtype) else tensor.dtype == dtype.name
  if not is_number:
    raise errors.InputError(
      f'{name} must hold numbers that {dtype.name} can have, got '
      f'{tensor.dtype}.'
    )
  found = tensor.read()
  if not is_real(dtype):
    return found
  with np.errstate(over='ignore', invalid='ignore'):
    values = found.astype(dtype)
    # Only floats are rounded.
    is_kept = values == found if dtype.kind in 'iu' else np.isfinite(values)
  if not np.all(is_kept):
    raise errors.InputError(
      f'{name} must hold finite numbers that {dtype.name} can have, got '
      f'{found[~is_kept][0]}.'
    )
  return values


@contextlib.contextmanager
def open_hdf5(file: str | os.PathLike[str] | BinaryIO) -> Iterator[h5py.File]:
  """Opens an HDF5 file that needs memory in proportion to its size.

  Args:
    file: The file or its path.

  Yields:
    The file, whose datasets are all in it.

  Raises:
    Exception: If it is no such file. Depending on the wrong byte, h5py raises
      nearly any exception.
  """
  with contextlib.ExitStack() as stack:
    if isinstance(file, (str, os.PathLike)):
      file = stack.enter_context(open(file, 'rb', opener=regular_files.opener))
    size = file.seek(0, os.SEEK_END)
    opened = stack.enter_context(h5py.File(file, 'r'))
    promised = 0
    for name, dataset in find_datasets(opened).items():
      if dataset.external or dataset.is_virtual:
        raise ValueError(f'dataset {name} must be in the file, got another one')
      # A chunk is read as a whole.
      chunk = np.prod(dataset.chunks or (), dtype=object)
      promised += max(dataset.size or 0, chunk) * dataset.dtype.itemsize
    most = regular_files.most_content_bytes(size)
    if promised > most:
      raise ValueError(
        f'an HDF5 file of {size:,} bytes must have datasets of at most '
        f'{most:,}, got {promised:,}'
      )
    yield opened


def find_items(group: h5py.Group) -> dict[str, h5py.Group | h5py.Dataset]:
  """Returns all below a group by path, without following links."""
  found = {}
  group.visititems(found.__setitem__)
  return found


def find_datasets(group: h5py.Group) -> dict[str, h5py.Dataset]:
  """Returns the datasets below a group, by their paths."""
  return {
    name: item
    for name, item in find_items(group).items()
    if isinstance(item, h5py.Dataset)
  }
