# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Reads the JSON files of LEAF into arrays.

A file holds `users`, `num_samples` and `user_data`, which has x and y by user;
Caldas et al., 2018, arXiv:1812.01097.
"""

from collections.abc import Sequence
import os
import pathlib
from typing import Any

from fedfish_tff import errors
from fedfish_tff import regular_files
from launch.data import labelled_dataset

import numpy as np
import tqdm

_FORM = {
  'users': [str],
  'num_samples': [int],
  'user_data': {...: {'x': list, 'y': list}},
}
_TRAIN, _TEST = 'train', 'test'


def is_leaf(dataset: str) -> bool:
  """Returns whether `dataset` is a .json file, or a folder that `read` takes."""
  path = _expand(dataset)
  if path.is_dir():
    return bool(_list_files(path / _TRAIN if _is_divided(path) else path))
  return path.suffix == '.json'


def read(dataset: str) -> labelled_dataset.LabelledDataset:
  """Reads all users into memory.

  A user must stand in one file, with as many examples as that says, at least
  one for training. x are numbers of one shape, at least one each, and y one
  number or string each; floats are in the range of float32.

  Args:
    dataset: The path of a file, of a folder of files, or of a folder with the
      subfolders train and test, whose users are the same.

  Returns:
    The examples, with the users as feature `CLIENT`. Strings y are classes.
  """
  path = _expand(dataset)
  if _is_divided(path):
    files = [
      (file, part == _TEST)
      for part in (_TRAIN, _TEST)
      for file in _list_files(path / part)
    ]
  else:
    files = [
      (file, False) for file in (_list_files(path) if path.is_dir() else [path])
    ]
  known = {False: {}, True: {}}
  xs, ys, names, is_test = [], [], [], []
  for file, in_test in tqdm.tqdm(
    files, desc='read', unit=' files', disable=None
  ):
    for user, x, y in _read_users(file):
      if user in known[in_test]:
        raise errors.InputError(
          f'User {user!r} must stand in one file, got {known[in_test][user]} '
          f'and {file}.'
        )
      known[in_test][user] = file
      if in_test and user not in known[False]:
        raise errors.InputError(
          f'User {user!r} of {file} must have training examples, too, got test '
          "examples alone; '-t sample' of LEAF's preprocess.sh divides each "
          "user's examples."
        )
      if not in_test and not len(y):
        raise errors.InputError(
          f'User {user!r} of {file} must have training examples, got none.'
        )
      # An empty list has no shape to compare.
      if len(y):
        _check_shape(x, xs, user, file)
        xs.append(x)
        ys.append(y)
        names += [user] * len(y)
        is_test += [in_test] * len(y)
  if not xs:
    raise errors.InputError(f'{path} must have users, got none.')
  x = np.concatenate(xs)
  labels, class_names = _to_labels(ys, path)
  return labelled_dataset.LabelledDataset(
    name=path.name,
    feature='x',
    label='y',
    # Integers of one user may be the floats of another.
    x=_to_float32(x.astype(np.uint8) if x.dtype.kind == 'b' else x),
    is_image=False,
    labels=labels,
    others={labelled_dataset.CLIENT: np.array(names, object)},
    class_names=class_names,
    is_test=np.array(is_test) if any(is_test) else None,
  )


def _expand(dataset: str) -> pathlib.Path:
  return pathlib.Path(os.path.expanduser(dataset))


def _is_divided(path: pathlib.Path) -> bool:
  return (path / _TRAIN).is_dir()


def _list_files(folder: pathlib.Path) -> list[pathlib.Path]:
  return sorted(
    file for file in folder.glob('*.json') if not file.name.startswith('.')
  )


def _read_users(
  file: pathlib.Path,
) -> list[tuple[str, np.ndarray, np.ndarray]]:
  """Returns the users of a file with their x and y."""
  content = regular_files.read_json(file, _FORM)
  users, sizes = content['users'], content['num_samples']
  found = content['user_data']
  if len(users) != len(sizes) or sorted(users) != sorted(found):
    raise errors.InputError(
      f'{file} must name each user once in users, with one of num_samples and '
      f'of user_data, got {len(users)} users, {len(sizes)} num_samples and '
      f'{len(found)} user_data.'
    )
  read = []
  for user, size in zip(users, sizes, strict=True):
    lengths = {name: len(found[user][name]) for name in 'xy'}
    if set(lengths.values()) != {size}:
      raise errors.InputError(
        f'User {user!r} of {file} must have {size} examples, as num_samples '
        f'says, got {lengths["x"]} of x and {lengths["y"]} of y.'
      )
    x = _to_array(found[user]['x'])
    if size and (x is None or x.dtype.kind not in 'buif' or not x.size):
      raise errors.InputError(
        f'User {user!r} of {file} must have numbers x of one shape per example, '
        f'got others, such as {found[user]["x"][0]!r:.40}.'
      )
    y = _to_array(found[user]['y'])
    if size and (
      y is None
      or y.ndim != 1
      or y.dtype.kind not in 'buifU'
      or (y.dtype.kind == 'U')
      != all(isinstance(v, str) for v in found[user]['y'])
    ):
      raise errors.InputError(
        f'User {user!r} of {file} must have one number or string y per example, '
        f'got others, such as {found[user]["y"][0]!r:.40}.'
      )
    # NumPy's strings end before a NUL.
    if size and y.dtype.kind == 'U' and '\0' in ''.join(found[user]['y']):
      raise errors.InputError(
        f'User {user!r} of {file} must have strings y without the character NUL, '
        'got one.'
      )
    for name, array in (('x', x), ('y', y)):
      labelled_dataset.check_finite(
        array,
        f'{name} of user {user!r} of {file}, as float32,',
        remedy='scale them, or leave these examples out',
      )
    read.append((user, x, y))
  return read


def _to_array(values: list[Any]) -> np.ndarray | None:
  """Returns an array, floats as float32; None if values differ in shape."""
  try:
    array = np.array(values)
  except ValueError:
    return None
  return _to_float32(array)


def _to_float32(array: np.ndarray) -> np.ndarray:
  """Returns floats as float32, others as they are."""
  if array.dtype.kind != 'f':
    return array
  with np.errstate(over='ignore'):
    return array.astype(np.float32)


def _check_shape(
  x: np.ndarray, xs: Sequence[np.ndarray], user: str, file: pathlib.Path
) -> None:
  if xs and x.shape[1:] != xs[0].shape[1:]:
    raise errors.InputError(
      f'User {user!r} of {file} must have x of the shape '
      f'{list(xs[0].shape[1:])}, as the first user does, got '
      f'{list(x.shape[1:])}.'
    )


def _to_labels(
  ys: Sequence[np.ndarray], path: pathlib.Path
) -> tuple[np.ndarray, dict[str, list[str]]]:
  """Returns all labels and, for strings, the names of classes."""
  if len({y.dtype.kind == 'U' for y in ys}) > 1:
    raise errors.InputError(
      f'All users of {path} must have numbers y or all strings, got both.'
    )
  labels = np.concatenate(ys)
  if labels.dtype.kind == 'U':
    names, labels = np.unique(labels, return_inverse=True)
    return labels.astype(np.int64), {'y': names.tolist()}
  if labels.dtype.kind == 'f':
    return _to_float32(labels), {}
  return labels.astype(np.int64), {}
