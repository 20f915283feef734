# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Contents of the files of runs, to compare bit for bit but for times."""

import contextlib
import csv
import json
import pathlib
import sqlite3

from fedfish_tff import simulation

import numpy as np

# Drawn, or told of how it went. A run that is killed after its summary, as in
# drawing, is finished, and its lock stays.
_OTHERS = frozenset(('plots', 'tensorboard', 'logs', '.lock'))
_OTHER_FILES = frozenset(('statistics.png', 'usage.json'))


def _is_of_the_process(name):
  """Returns whether a column or field tells the resources of the process."""
  return (
    name.startswith('time/')
    or 'seconds' in name
    or name in ('peak_bytes', 'checksum')
  )


def without_times(value):
  """Returns a JSON value without what the process took."""
  if isinstance(value, dict):
    return {
      k: without_times(v) for k, v in value.items() if not _is_of_the_process(k)
    }
  return value


def _read_arrays(path):
  with np.load(path) as arrays:
    return {
      name: without_times(json.loads(str(array)))
      if array.dtype.kind == 'U'
      else array.tobytes()
      for name, array in arrays.items()
      # Of a checkpoint: digests of rows with times, and the seconds.
      if name != 'manifest' and (array.dtype, array.shape) != (np.float64, ())
    }


def _read(path):
  """Returns the content of a file, but for the resources of the process."""
  if path.name in _OTHER_FILES:
    return None
  if path.suffix == '.npz':
    return _read_arrays(path)
  if path.suffix == '.csv':
    return list(map(without_times, read_table(path)))
  if path.suffix == '.json':
    return without_times(json.loads(path.read_text(encoding='utf-8')))
  if path.suffix == '.sqlite':
    with contextlib.closing(sqlite3.connect(path)) as database:
      return list(database.iterdump())
  return path.read_bytes()


def read_all(folder):
  """Returns the content of every file of a folder by its name."""
  paths = sorted(path for path in folder.rglob('*') if path.is_file())
  names = [path.relative_to(folder) for path in paths]
  return {
    str(name): _read(path)
    for name, path in zip(names, paths, strict=True)
    if not _OTHERS & set(name.parts)
  }


def read_rows(workdir):
  """Returns the rows of metrics.csv as numbers, without columns of time."""
  return [
    {k: v for k, v in row.items() if not k.startswith('time/')}
    for row in simulation.read_rows(pathlib.Path(workdir, 'metrics.csv'))
  ]


def read_columns(workdir):
  """Returns the rows of metrics.csv as text, without columns of time."""
  return [
    {k: v for k, v in row.items() if not k.startswith('time/')}
    for row in read_table(pathlib.Path(workdir, 'metrics.csv'))
  ]


def read_table(path):
  """Returns the rows of a CSV file as text."""
  with open(path, newline='', encoding='utf-8') as file:
    return list(csv.DictReader(file))
