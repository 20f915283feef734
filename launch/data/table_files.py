# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Reads the CSV, Parquet and Arrow files of a table.

Arrow files are those that `save_to_disk` of a Hugging Face data set writes.
"""

from collections.abc import Sequence
import os
import pathlib

from fedfish_tff import errors

import pyarrow as pa
from pyarrow import csv
from pyarrow import parquet
import tqdm

_SUFFIXES = ('.csv', '.parquet', '.arrow')
_ONLY_SPLIT = 'train'


def is_table(dataset: str) -> bool:
  """Returns whether `dataset` is a file or folder that `read` accepts."""
  path = pathlib.Path(dataset).expanduser()
  if path.suffix in _SUFFIXES:
    return True
  return path.is_dir() and bool(
    _list_files(path) or (path / 'dataset_dict.json').exists()
  )


def read(path: pathlib.Path, split: str, texts: Sequence[str]) -> pa.Table:
  """Returns the rows of a split, with columns of CSV files that stay texts."""
  tables = []
  options = csv.ConvertOptions(column_types=dict.fromkeys(texts, pa.string()))
  for file in tqdm.tqdm(
    _find_files(path, split), desc='read', unit=' files', disable=None
  ):
    try:
      if file.suffix == '.csv':
        table = csv.read_csv(file, convert_options=options)
      elif file.suffix == '.parquet':
        table = parquet.read_table(file, partitioning=None)
      else:
        with pa.memory_map(str(file)) as source:
          table = pa.ipc.open_stream(source).read_all()
      table.validate(full=True)
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
      raise errors.InputError(
        f'{file} cannot be read: {errors.first_line(error)}.'
      ) from error
    tables.append(table)
  try:
    table = pa.concat_tables(tables)
  except pa.ArrowInvalid as error:
    raise errors.InputError(
      f'The files of {path} must have the same columns: '
      f'{" ".join(str(error).split())}'
    ) from error
  if not table.num_rows:
    raise errors.InputError(f'{path} must have rows, got none.')
  return table


def _list_files(folder: pathlib.Path) -> list[pathlib.Path]:
  """Returns the data files of a folder, or of its subfolder data."""
  for place in (folder, folder / 'data'):
    files = [
      file
      for suffix in _SUFFIXES
      for file in sorted(place.glob(f'*{suffix}'))
      # Hugging Face's library keeps these files beside the data.
      if not file.name.startswith('cache-')
    ]
    if files:
      return files
  return []


def _find_files(path: pathlib.Path, split: str) -> list[pathlib.Path]:
  """Returns the files of a split."""
  if path.suffix in _SUFFIXES and split == _ONLY_SPLIT:
    return [path]
  if os.path.basename(split) == split and (path / split).is_dir():
    return _list_files(path / split)
  files = _list_files(path) if path.is_dir() else []
  of_split = [f for f in files if f.name.startswith((f'{split}-', f'{split}.'))]
  has_no_splits = len(files) == 1 or (path / 'state.json').exists()
  found = of_split or (files if split == _ONLY_SPLIT and has_no_splits else [])
  if not found:
    shown = ', '.join(entry.name for entry in files[:5]) or 'no files of data'
    raise errors.InputError(
      f'--split must name files or a folder of {path}, which has {shown}, got '
      f'{split!r}.'
    )
  return found
