# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""metrics.csv: one row a round, never torn, never with a lost digit.

TFF's own `tff.program.CSVFileReleaseManager` appends without care for a crash;
this one repairs and rewinds the file, so that a resumed run continues it as if
it had never stopped.
"""

import collections
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import csv
import io
import os
import pathlib
from typing import Any

from fedfish_tff import errors
from fedfish_tff.simulation import files
from fedfish_tff.simulation import metrics_flattening

import tensorflow_federated as tff

ROUND_COLUMN = 'round'

Row = Mapping[str, int | float]


class CsvMetricsManager(tff.program.ReleaseManager[Mapping[str, Any], int]):
  """A `tff.program.ReleaseManager` that appends rows to a CSV file.

  The first column is `round`. Floats are written so that reading them gives the
  same bits. A row is on the disk when `release` returns. A value without a
  column yet widens the header: the file is rewritten atomically.
  """

  def __init__(self, path: str | os.PathLike[str]) -> None:
    """Opens a new or existing file; a torn last row is dropped.

    Args:
      path: The file; its folder exists.

    Raises:
      errors.InputError: If the file exists and is not one of metrics.
    """
    self._path = pathlib.Path(path)
    self._columns, self._cells = [ROUND_COLUMN], []
    if self._path.exists():
      self._columns, self._cells, torn = _read_cells(self._path)
      if torn:
        self._rewrite()

  @property
  def path(self) -> pathlib.Path:
    """The file."""
    return self._path

  @property
  def last_round(self) -> int | None:
    """The round of the last row; None without rows."""
    return int(self._cells[-1][0]) if self._cells else None

  def drop_rows_after(self, round_number: int) -> None:
    """Removes the rows of later rounds, atomically."""
    kept = [cells for cells in self._cells if int(cells[0]) <= round_number]
    if len(kept) != len(self._cells):
      self._cells = kept
      self._rewrite()

  async def release(self, value: Mapping[str, Any], key: int) -> None:
    """Appends the row of a round.

    Args:
      value: Numbers by column name.
      key: The round, larger than that of the last row.

    Raises:
      errors.InputError: If the file cannot be written; earlier rows are intact.
      ValueError: If the rounds do not increase.
    """
    last = self.last_round
    if last is not None and key <= last:
      raise ValueError(f'Round {key} follows round {last} in {self._path}.')
    numbers = {
      name: _format(metrics_flattening.to_number(number))
      for name, number in value.items()
    }
    new_columns = [name for name in numbers if name not in self._columns]
    numbers[ROUND_COLUMN] = str(int(key))
    self._columns.extend(new_columns)
    cells = [numbers.get(name, '') for name in self._columns]
    self._cells.append(cells)
    if new_columns or len(self._cells) == 1:
      self._rewrite()
    else:
      self._append(_encode([cells]))

  def _rewrite(self) -> None:
    width = len(self._columns)
    self._cells = [cells + [''] * (width - len(cells)) for cells in self._cells]
    files.write_atomically(self._path, _encode([self._columns, *self._cells]))

  def _append(self, row: bytes) -> None:
    """Appends to the file; takes a part back if the rest does not fit."""
    try:
      with open(self._path, 'ab', buffering=0) as file:
        size = file.seek(0, os.SEEK_END)
        try:
          if file.write(row) != len(row):
            raise OSError(0, 'only a part of a row fits on the disk')
          os.fsync(file.fileno())
        except OSError:
          file.truncate(size)
          raise
    except OSError as error:
      raise files.unwritable_error(self._path, error) from error


def read_rows(path: str | os.PathLike[str]) -> list[Row]:
  """Reads the whole rows of a metrics.csv.

  Args:
    path: The file.

  Returns:
    A mapping from column to number for each row, without the empty cells;
    numbers without a decimal point are integers.

  Raises:
    errors.InputError: If the file is not one of metrics.
  """
  columns, cells_by_row, _ = _read_cells(pathlib.Path(path))
  return [
    collections.OrderedDict(
      (name, _parse(cell))
      for name, cell in zip(columns, cells, strict=True)
      if cell
    )
    for cells in cells_by_row
  ]


def _read_cells(
  path: pathlib.Path,
) -> tuple[list[str], list[list[str]], bool]:
  """Returns columns, rows, and whether a torn last row was left out."""
  try:
    content = path.read_bytes()
  except OSError as error:
    raise errors.InputError(f'Cannot read {path}: {error.strerror}.') from error
  whole, _, rest = content.rpartition(b'\n')
  torn = bool(rest)
  lines = list(csv.reader(io.StringIO(whole.decode('utf-8', 'replace'))))
  if not lines or lines[0][:1] != [ROUND_COLUMN]:
    if not whole and ROUND_COLUMN.encode().startswith(rest[:5]):
      return [ROUND_COLUMN], [], torn
    raise errors.InputError(
      f'{path} is not a file of metrics: its first line should begin with '
      f'{ROUND_COLUMN!r}.'
    )
  columns, rows = lines[0], lines[1:]
  # After a power failure the last line can be whole in length only.
  if rows and not _is_valid(rows[-1], len(columns)):
    rows, torn = rows[:-1], True
  for number, cells in enumerate(rows, start=2):
    if not _is_valid(cells, len(columns)):
      raise errors.InputError(
        f'Line {number} of {path} is damaged: {len(columns)} numbers were '
        f'expected, found {",".join(cells)[:80]!r}.'
      )
  return columns, rows, torn


def _is_valid(cells: Sequence[str], width: int) -> bool:
  """Whether the cells are a row: a round and numbers or nothing."""
  if len(cells) != width or not cells[0].isdecimal():
    return False
  try:
    for cell in cells:
      if cell:
        float(cell)
  except ValueError:
    return False
  return True


def _format(number: int | float) -> str:
  return repr(number)


def _parse(cell: str) -> int | float:
  try:
    return int(cell)
  except ValueError:
    return float(cell)


def _encode(lines: Iterable[Sequence[str]]) -> bytes:
  text = io.StringIO()
  csv.writer(text, lineterminator='\n').writerows(lines)
  return text.getvalue().encode()
