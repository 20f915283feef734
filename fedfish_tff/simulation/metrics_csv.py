# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Writer of metrics.csv: one row per round, safe from crashes and exact.

`tff.program.CSVFileReleaseManager` does not guard against crashes. This manager
repairs and rewinds the file, so that a resumed run continues it as if it had
never stopped.
"""

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import csv
import errno
import io
import os
import pathlib
from typing import Any

from fedfish_tff import regular_files
from fedfish_tff.simulation import files
from fedfish_tff.simulation import metrics_flattening
from fedfish_tff.simulation import metrics_rows

from absl import logging
import tensorflow_federated as tff


class CsvMetricsManager(tff.program.ReleaseManager[Mapping[str, Any], int]):
  """A `tff.program.ReleaseManager` that appends rows to a CSV file.

  The first column is `round`. Reading a written float gives the same bits. A
  row is on the disk when `release` returns. A value without a column adds one,
  and the file is rewritten atomically.
  """

  def __init__(self, path: str | os.PathLike[str]) -> None:
    """Opens a new or existing file; drops a torn last row.

    Of a damaged file, the rows before the damage are used. The file stays
    unchanged until a row is added or rows of later rounds are dropped.

    Args:
      path: The file, in an existing folder.
    """
    self._path = pathlib.Path(path)
    self._columns, self._cells = [metrics_rows.ROUND_COLUMN], []
    self._damaged = False
    if self._path.exists():
      found = metrics_rows.read_cells(self._path)
      self._columns, self._cells = found.columns, found.rows
      self._damaged = found.damage is not None
      if self._damaged:
        logging.warning('%s The rows before it are used.', found.damage)
      elif found.torn:
        self._rewrite()
    self._digests = metrics_rows.chain_digests(self._columns, self._cells)

  @property
  def path(self) -> pathlib.Path:
    """The file."""
    return self._path

  @property
  def rows(self) -> list[metrics_rows.Row]:
    """The rows, as `metrics_rows.read_rows` returns them."""
    return metrics_rows.to_rows(self._columns, self._cells)

  @property
  def last_round(self) -> int | None:
    """The round of the last row; None without rows."""
    return int(self._cells[-1][0]) if self._cells else None

  def digest(self, round_number: int) -> str | None:
    """Returns the digest of the rows up to a round's; None without that row."""
    return self._digests.get(round_number)

  def drop_rows_after(self, round_number: int) -> None:
    """Removes the rows of later rounds, atomically."""
    kept = [cells for cells in self._cells if int(cells[0]) <= round_number]
    if len(kept) != len(self._cells) or self._damaged:
      for cells in self._cells[len(kept) :]:
        del self._digests[int(cells[0])]
      # A column that only later rows have comes again with them.
      width = max(
        (n for cells in kept for n, cell in enumerate(cells, 1) if cell),
        default=1,
      )
      self._columns = self._columns[:width]
      self._cells = [cells[:width] for cells in kept]
      self._rewrite()

  async def release(self, value: Mapping[str, Any], key: int) -> None:
    """Appends the row of a round; if it cannot, earlier rows are intact.

    Args:
      value: Numbers by column name.
      key: The round, larger than that of the last row.
    """
    last = self.last_round
    if last is not None and key <= last:
      raise ValueError(f'Round {key} follows round {last} in {self._path}.')
    numbers = {
      name: repr(metrics_flattening.to_number(number))
      for name, number in value.items()
    }
    new_columns = [name for name in numbers if name not in self._columns]
    numbers[metrics_rows.ROUND_COLUMN] = str(int(key))
    self._columns.extend(new_columns)
    cells = [numbers.get(name, '') for name in self._columns]
    self._cells.append(cells)
    self._digests |= metrics_rows.chain_digests(
      self._columns, [cells], '' if last is None else self._digests[last]
    )
    if new_columns or len(self._cells) == 1 or self._damaged:
      self._rewrite()
    else:
      self._append(_encode([cells]))

  def _rewrite(self) -> None:
    width = len(self._columns)
    self._cells = [cells + [''] * (width - len(cells)) for cells in self._cells]
    files.write_atomically(self._path, _encode([self._columns, *self._cells]))
    self._damaged = False

  def _append(self, row: bytes) -> None:
    """Appends a row to the file; removes it again if it does not fit whole."""
    try:
      with open(
        self._path, 'ab', buffering=0, opener=regular_files.own_opener
      ) as file:
        size = file.seek(0, os.SEEK_END)
        try:
          if file.write(row) != len(row):
            raise OSError(0, 'only a part of a row fits on the disk')
          os.fsync(file.fileno())
        except OSError:
          file.truncate(size)
          raise
    except OSError as error:
      if error.errno != errno.EMLINK:
        raise files.unwritable_error(self._path, error) from error
      # A backup by hard links keeps the file as it was.
      self._rewrite()


def _encode(lines: Iterable[Sequence[str]]) -> bytes:
  text = io.StringIO()
  csv.writer(text, lineterminator='\n').writerows(lines)
  return text.getvalue().encode()
