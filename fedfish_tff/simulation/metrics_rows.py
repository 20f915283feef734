# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Reading metrics.csv, which `CsvMetricsManager` writes, without TensorFlow."""

import collections
from collections.abc import Mapping
from collections.abc import Sequence
import csv
import hashlib
import json
import os
import pathlib
import re
from typing import NamedTuple

from fedfish_tff import errors
from fedfish_tff import regular_files

ROUND_COLUMN = 'round'
_ROUND = re.compile('[0-9]{1,18}')
# Longer integers exceed every float; they are read as infinite floats.
_INTEGER = re.compile('-?[0-9]{1,300}')

Row = Mapping[str, int | float]


class Cells(NamedTuple):
  """The undamaged cells of a metrics.csv.

  Attributes:
    columns: The names of the columns.
    rows: The whole rows before the first damaged one.
    torn: Whether a torn last row was left out.
    damage: The damage of the row that ends `rows`; None if no row is damaged.
  """

  columns: list[str]
  rows: list[list[str]]
  torn: bool
  damage: str | None = None


def read_rows(path: str | os.PathLike[str]) -> list[Row]:
  """Reads the whole rows of a metrics.csv without damage.

  Returns:
    A mapping from column to number for each row, without the empty cells.
    Numbers without a decimal point are integers.
  """
  cells = read_cells(pathlib.Path(path))
  if cells.damage is not None:
    raise errors.InputError(cells.damage)
  return to_rows(cells.columns, cells.rows)


def to_rows(
  columns: Sequence[str], cells_by_row: Sequence[Sequence[str]]
) -> list[Row]:
  """Returns the numbers of rows, without the empty cells.

  Args:
    columns: The names of the columns, `round` first.
    cells_by_row: The cells of each row, such as those of `read_cells`.
  """
  return [
    collections.OrderedDict(
      (name, int(cell) if _INTEGER.fullmatch(cell) else float(cell))
      for name, cell in zip(columns, cells, strict=True)
      if cell
    )
    for cells in cells_by_row
  ]


def read_cells(path: pathlib.Path) -> Cells:
  """Reads the cells of a metrics.csv up to the first damaged row."""
  content = regular_files.read_bytes(path)
  whole, _, rest = content.rpartition(b'\n')
  torn = bool(rest)
  # Lines are parsed one by one: a damaged line may open a quotation without an
  # end.
  lines = [
    _split(line) for line in whole.decode('utf-8', 'replace').split('\n')
  ]
  if not lines or lines[0][:1] != [ROUND_COLUMN]:
    if not whole and ROUND_COLUMN.encode().startswith(rest[:5]):
      return Cells([ROUND_COLUMN], [], torn)
    raise errors.InputError(
      f'{path} is not a file of metrics: its first line should begin with '
      f'{ROUND_COLUMN!r}.'
    )
  columns, rows = lines[0], lines[1:]
  # After a power failure the last line may have its length but not its content.
  if rows and not _is_valid(rows[-1], len(columns)):
    rows, torn = rows[:-1], True
  last, fault = -1, None
  for index, cells in enumerate(rows):
    if not _is_valid(cells, len(columns)):
      found = ','.join(cells)[:80]
      fault = f'it must have {len(columns)} numbers, got {found!r}'
    elif int(cells[0]) <= last:
      fault = f'round {cells[0]} follows round {last}'
    if fault is not None:
      damage = f'Line {index + 2} of {path} is damaged: {fault}.'
      return Cells(columns, rows[:index], torn, damage)
    last = int(cells[0])
  return Cells(columns, rows, torn)


def chain_digests(
  columns: Sequence[str],
  rows: Sequence[Sequence[str]],
  digest: str = '',
  *,
  with_times: bool = True,
) -> dict[int, str]:
  """Returns the digest of all rows up to each round's.

  Empty cells do not count, so columns of later rounds change no digest.

  Args:
    columns: The names of the columns, `round` first.
    rows: The cells of each row, such as those of `read_cells`.
    digest: The digest of the rows before them.
    with_times: Whether the columns `time/*` count, which differ between runs.

  Returns:
    The SHA-256 digest in hexadecimal, by round.
  """
  digests = {}
  for cells in rows:
    filled = [
      (name, cell)
      for name, cell in zip(columns, cells)
      if cell and (with_times or not name.startswith('time/'))
    ]
    text = json.dumps([digest, filled])
    digest = hashlib.sha256(text.encode()).hexdigest()
    digests[int(cells[0])] = digest
  return digests


def _split(line: str) -> list[str]:
  try:
    return next(csv.reader([line], strict=True), [])
  except csv.Error:
    return [line]


def _is_valid(cells: Sequence[str], width: int) -> bool:
  """Returns whether the cells are a round and numbers or empty cells."""
  if len(cells) != width or not _ROUND.fullmatch(cells[0]):
    return False
  try:
    for cell in cells:
      if cell:
        float(cell)
  except ValueError:
    return False
  return True
