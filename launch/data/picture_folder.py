# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Reads pictures in folders of classes, or of clients and classes."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence
from concurrent import futures
import dataclasses
import functools
import os
import pathlib

from fedfish_tff import errors
from fedfish_tff import regular_files
from launch.data import image_pixels
from launch.data import labelled_dataset

import numpy as np
from PIL import Image
import tqdm

_SUFFIXES = frozenset(
  ('.bmp', '.jpeg', '.jpg', '.png', '.tif', '.tiff', '.webp')
)
# class/file, or client/class/file.
_DEPTHS = (2, 3)
# File managers write it beside pictures, and others that begin with a dot.
_NO_DATA = frozenset(('Thumbs.db', 'desktop.ini', '__MACOSX'))
# Threads change less often than by picture, and no picture waits for long.
_PER_THREAD = 32
_AT_ONCE = 1024
_LABEL = 'class'
_ONLY_SPLIT = 'train'
_SPLITS = (_ONLY_SPLIT, *labelled_dataset.HELD_OUT_SPLITS)


@dataclasses.dataclass(frozen=True, kw_only=True)
class PictureFolder:
  """A listed folder of pictures.

  Attributes:
    name: The name of the data set, for titles.
    folder: The folder that was listed.
    pictures: The path of each picture below it, by its parts, sorted.
    others: The paths of other files and of links below it.
    empty: The names of its subfolders without pictures.
  """

  name: str
  folder: pathlib.Path
  pictures: Sequence[tuple[str, ...]]
  others: Sequence[str]
  empty: Sequence[str]

  @property
  def has_clients(self) -> bool:
    """True if pictures stand in client/class/, False if in class/."""
    return len(self.pictures[0]) == max(_DEPTHS)


def find(
  dataset: str, split: str, *, is_table: bool = False
) -> PictureFolder | None:
  """Returns the pictures of a folder; None if there are none.

  Args:
    dataset: The path of the folder.
    split: The name of the subfolder to read; 'train' for a folder without one.
    is_table: Whether the folder also holds a table, which may not stand beside
      pictures in folders.
  """
  root = pathlib.Path(os.path.expanduser(dataset))
  is_split = os.sep not in split and (root / split).is_dir()
  folder = root / split if is_split else root
  pictures, others, filled = [], [], set()
  for parts in _walk(folder):
    path = folder.joinpath(*parts)
    if path.suffix.lower() in _SUFFIXES and not path.is_symlink():
      pictures.append(parts)
      filled.add(parts[0])
    else:
      others.append('/'.join(parts))
  if is_table:
    for parts in pictures:
      if len(parts) in _DEPTHS:
        raise errors.InputError(
          f'{root} must hold a table or pictures in folders, got both, such as '
          f'the picture {"/".join(parts)}; give the path of the table, or move '
          'it elsewhere.'
        )
    return None
  if not pictures:
    return None
  if is_split:
    _check_splits(root, split)
  if not is_split and split != _ONLY_SPLIT:
    raise errors.InputError(
      f'--split must name a folder of {root}, got {split!r}.'
    )
  return PictureFolder(
    name=root.resolve().name,
    folder=folder,
    pictures=sorted(pictures),
    others=sorted(others),
    empty=sorted(
      entry.name
      for entry in _entries(folder)
      if entry.is_dir(follow_symlinks=False) and entry.name not in filled
    ),
  )


def read(
  found: PictureFolder, *, image_size: tuple[int, int] | None = None
) -> labelled_dataset.LabelledDataset:
  """Reads pictures into memory, on all cores.

  They stand in class/ or client/class/, of which none is empty, and no file is
  a link. `image_pixels.decode` reads them.

  Args:
    found: The pictures to read, of one size and depth.
    image_size: The height and width to which they are resized; None if they
      have one size.

  Returns:
    The examples, with clients, if the folder has them, as feature `CLIENT`.
    Classes have the names of their folders: numbers in their order, then
    others.
  """
  _check(found)
  names = sorted({parts[-2] for parts in found.pictures}, key=_class_order)
  numbers = {name: number for number, name in enumerate(names)}
  others = {}
  if found.has_clients:
    clients = [parts[0] for parts in found.pictures]
    others[labelled_dataset.CLIENT] = np.array(clients, object)
  x = labelled_dataset.check_finite(
    _read_pixels(found, image_size), f'The pictures of {found.folder}'
  )
  return labelled_dataset.LabelledDataset(
    name=found.name,
    feature='picture',
    label=_LABEL,
    x=x,
    is_image=x.dtype == np.uint8,
    labels=np.array([numbers[p[-2]] for p in found.pictures], np.int64),
    others=others,
    class_names={_LABEL: names},
    unused=found.others,
  )


def _check_splits(root: pathlib.Path, split: str) -> None:
  """Raises an InputError if the folder of a split may be that of a class."""
  beside = [
    entry.name
    for entry in _entries(root)
    if entry.is_dir(follow_symlinks=False)
    and entry.name.lower() not in (split, *_SPLITS)
    and any(
      pathlib.PurePath(parts[-1]).suffix.lower() in _SUFFIXES
      for parts in _walk(root / entry.name)
    )
  ]
  if beside and split in _SPLITS:
    raise errors.InputError(
      f'{root} must hold splits alone beside {split}, which is read as one, got '
      f'{errors.list_some(beside)}; give a class or client another name than '
      f'{split}, or move the others elsewhere.'
    )


def _entries(folder: pathlib.Path) -> list[os.DirEntry]:
  with os.scandir(folder) as entries:
    return [
      entry
      for entry in entries
      if not entry.name.startswith('.') and entry.name not in _NO_DATA
    ]


def _walk(
  folder: pathlib.Path, parts: tuple[str, ...] = ()
) -> Iterator[tuple[str, ...]]:
  """Yields the paths of files and links, one level below the deepest allowed."""
  if not folder.joinpath(*parts).is_dir():
    return
  for entry in _entries(folder.joinpath(*parts)):
    path = (*parts, entry.name)
    if not entry.is_dir(follow_symlinks=False):
      yield path
    elif len(parts) < max(_DEPTHS):
      yield from _walk(folder, path)


def _check(found: PictureFolder) -> None:
  """Raises an InputError unless all pictures stand in one way."""
  for other in found.others:
    if (found.folder / other).is_symlink():
      raise errors.InputError(
        f'{found.folder / other} must be a picture, got a link, which is not '
        'followed; cp -rL copies a folder with what links in it point to.'
      )
  first = found.pictures[0]
  for parts in found.pictures:
    try:
      '/'.join(parts).encode()
    except UnicodeEncodeError:
      raise errors.InputError(
        f'Names of folders and pictures must be in UTF-8, got {parts!r}.'
      ) from None
    if len(parts) not in _DEPTHS or len(parts) != len(first):
      raise errors.InputError(
        f'Pictures must all stand in {found.folder}/CLASS, or all in '
        f'{found.folder}/CLIENT/CLASS, got {"/".join(first)} and '
        f'{"/".join(parts)}.'
      )
  if found.empty:
    raise errors.InputError(
      f'Each folder of {found.folder} must hold pictures '
      f'({", ".join(sorted(_SUFFIXES))}), got none in '
      f'{errors.list_some(found.empty)}.'
    )


def _class_order(name: str) -> tuple[bool, int, str]:
  is_number = name.isdecimal()
  return not is_number, int(name) if is_number else 0, name


def _read_pixels(
  found: PictureFolder, image_size: tuple[int, int] | None
) -> np.ndarray:
  """Returns the pixels of all pictures, [n, height, width, channels]."""
  paths = [found.folder.joinpath(*parts) for parts in found.pictures]
  stack = image_pixels.ImageStack(f'The pictures of {found.folder}')
  load = functools.partial(_load, image_size=image_size, stack=stack)
  with (
    image_pixels.warnings_settled(),
    futures.ThreadPoolExecutor(os.cpu_count()) as pool,
    tqdm.tqdm(
      total=len(paths), desc='read', unit=' pictures', disable=None
    ) as bar,
  ):
    # The others are compared with the first one as soon as they are decoded.
    stack.add(load(paths[0]), str(paths[0]))
    if image_size is None:
      _check_total(found, paths, stack)
    bar.update()
    for start in range(1, len(paths), _AT_ONCE):
      some = paths[start : start + _AT_ONCE]
      parts = [
        some[i : i + _PER_THREAD] for i in range(0, len(some), _PER_THREAD)
      ]
      loaded = pool.map(lambda part: list(map(load, part)), parts)
      for part, images in zip(parts, loaded, strict=True):
        for path, image in zip(part, images, strict=True):
          stack.add(image, str(path))
        bar.update(len(part))
  return stack.to_array()


def _load(
  path: pathlib.Path,
  *,
  image_size: tuple[int, int] | None,
  stack: image_pixels.ImageStack,
) -> Image.Image:
  content = regular_files.read_bytes(path)
  try:
    image = image_pixels.decode(content)
    if image_size is not None:
      image = image_pixels.resize(image, image_size)
  # Pillow's decoders may raise any error.
  except Exception as error:
    raise errors.InputError(
      f'{path} must be a picture ({", ".join(image_pixels.FORMATS)}): '
      f'{errors.first_line(error)}.'
    ) from error
  stack.check(image, str(path))
  return image


def _check_total(
  found: PictureFolder,
  paths: Sequence[pathlib.Path],
  stack: image_pixels.ImageStack,
) -> None:
  """Raises an InputError if small files promise a huge array."""
  promised = len(paths) * stack.to_array().nbytes
  most = regular_files.most_content_bytes(
    sum(os.lstat(path).st_size for path in paths)
  )
  if promised > most:
    raise errors.InputError(
      f'The {len(paths):,} pictures of {found.folder} must have at most '
      f'{most:,} bytes of pixels, by the size of their files, got '
      f'{promised:,} if all are as large as the first; '
      '--image_size=HEIGHT,WIDTH resizes them.'
    )
