# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tables of a run, with digests beside them that reveal changes."""

from collections.abc import Mapping
from collections.abc import Sequence
import hashlib
import json
import math
import os
import pathlib
from typing import Any

from fedfish_tff import errors
from fedfish_tff import regular_files
from fedfish_tff import simulation
from fedfish_tff.simulation import checked_json

import pandas as pd

FILE_NAME = 'digests.json'
# The entry, beside those of tables, with the digests of the run's own files.
_RUN = 'run'


def write_tables(tables: Mapping[pathlib.Path, bytes]) -> None:
  """Writes tables of one folder, by their paths, and their digests atomically."""
  (folder,) = {path.parent for path in tables}
  digests = folder / FILE_NAME
  try:
    found = _read_digests(digests)
  except errors.InputError:  # A damaged file is replaced.
    found = {}
  run = _digests_of_run(folder)
  if found.get(_RUN) != run:
    found = {_RUN: run}
  for path, content in tables.items():
    simulation.write_atomically(path, content)
    found[path.name] = hashlib.sha256(content).hexdigest()
  simulation.write_atomically(
    digests, json.dumps(checked_json.add_checksum(found), indent=1).encode()
  )


def read_table(
  path: str | os.PathLike[str], columns: Sequence[str]
) -> list[tuple[int, dict[str, str]]]:
  """Returns the rows of a table that is unchanged, in the form of `read_csv`.

  Args:
    path: The table; one without a digest is not checked.
    columns: The columns that it must have.

  Raises:
    regular_files.MissingFileError: If there is no such file.
  """
  path = pathlib.Path(path)
  content = regular_files.read_bytes(path)
  digests = _read_digests(path.with_name(FILE_NAME))
  digest = hashlib.sha256(content).hexdigest()
  if digests.get(path.name) not in (None, digest) or digests.get(_RUN) not in (
    None,
    _digests_of_run(path.parent),
  ):
    raise errors.InputError(
      f'{path} is not what was written for this run; write it anew with '
      'launch.evaluate.'
    )
  return regular_files.parse_csv(content, columns, path=path)


def read_frame(
  path: str | os.PathLike[str], columns: Mapping[str, type | None]
) -> pd.DataFrame:
  """Returns a table as `read_table` does, as a frame.

  Args:
    path: The table; one without a digest is not checked.
    columns: The columns that it must have, with their types, None for numbers,
      as further columns are. An empty cell is NaN, a non-finite number, of a
      model that has diverged, infinite.

  Raises:
    regular_files.MissingFileError: If there is no such file.
  """
  rows = []
  for number, row in read_table(path, list(columns)):
    try:
      rows.append(
        {n: (columns.get(n) or _to_number)(cell) for n, cell in row.items()}
      )
    except ValueError as error:
      raise errors.InputError(
        f'Line {number} of {path} is damaged ({error}); write it anew with '
        'launch.evaluate.'
      ) from error
  return pd.DataFrame(rows, columns=None if rows else list(columns))


def _to_number(cell: str) -> float:
  value = float(cell) if cell else math.nan
  return value if math.isfinite(value) or not cell else math.inf


def _digests_of_run(folder: pathlib.Path) -> dict[str, str]:
  """Returns the digests that distinguish the run of a folder from others."""
  return simulation.Workdir(folder.parent).digests()


def _read_digests(path: pathlib.Path) -> dict[str, Any]:
  """Returns digests by file name; empty if the file does not exist."""
  try:
    return checked_json.read(path, {_RUN: dict, ...: str})
  except regular_files.MissingFileError:
    return {}
