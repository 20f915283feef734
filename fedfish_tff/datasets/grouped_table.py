# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Clients from a table of examples: of pandas, Arrow or NumPy."""

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from fedfish_tff import errors
from fedfish_tff.datasets import client_data
from fedfish_tff.datasets import examples as examples_lib
from fedfish_tff.datasets import grouped_examples
from fedfish_tff.datasets import natural_key

import numpy as np


def group_table(
  table: Any,
  *,
  by: str,
  x: str | Sequence[str],
  y: str | Sequence[str],
  min_examples: int = 1,
) -> client_data.InMemoryClientData:
  """Makes one client of all rows with the same value in a column.

  Args:
    table: A `pandas.DataFrame`, a `pyarrow.Table`, a mapping from names to
      arrays, or any other object with columns under `table[name]`.
    by: The name of the column of clients: integers, booleans or texts, which
      become client ids.
    x: The names of numeric columns, each of which becomes one feature of x,
      float32 [n, columns]. Or the name of one column: of numbers [n], of lists
      of one length [n, ...], or of texts (as bytes) [n].
    y: The name of the column of labels: integers or booleans, which become
      int32, or floats, which become float32, [n]. Or the names of numeric
      columns, each of which becomes one target of a regression, float32
      [n, columns].
    min_examples: The minimal number of rows per client. Values of `by` with
      fewer rows are left out.

  Returns:
    The clients, each with the arrays (x, y).
  """
  names = []
  for argument, of in (('x', x), ('y', y)):
    if not isinstance(of, str) and not len(of):
      raise errors.unexpected(argument, of, 'the name of one column or more')
    names += [of] if isinstance(of, str) else of
  columns = {name: _column(table, name) for name in (*names, by)}
  for name, column in columns.items():
    if len(column) != len(columns[by]):
      raise errors.InputError(
        f'Column {name!r} of the table must have {len(columns[by])} rows, as '
        f'{by!r} has, got {len(column)}.'
      )
  if isinstance(x, str):
    features = columns[x]
    if features.dtype == object:
      features = np.array([text.encode() for text in features], object)
    elif features.dtype.kind in 'iub':
      features = _as_int32(features, x)
    else:
      features = features.astype(np.float32)
  else:
    features = _stack(columns, x)
  if not isinstance(y, str):
    labels = _stack(columns, y)
  else:
    labels = columns[y]
    _check_numbers(labels, y)
    if labels.dtype.kind == 'f':
      labels = labels.astype(np.float32)
    else:
      labels = _as_int32(labels, y)
  try:
    client_ids, groups = natural_key.partition_by_key(
      columns[by], min_examples=min_examples
    )
  except errors.InputError as error:
    raise errors.InputError(f'Column {by!r} of the table: {error}') from error
  return client_data.InMemoryClientData(
    {
      client_id: examples_lib.take_examples((features, labels), rows)
      for client_id, rows in zip(client_ids, groups, strict=True)
    }
  )


def _stack(
  columns: Mapping[str, np.ndarray], names: Sequence[str]
) -> np.ndarray:
  """Returns columns of numbers, side by side, as float32 [n, columns]."""
  for name in names:
    _check_numbers(columns[name], name)
  return np.stack([columns[name].astype(np.float32) for name in names], axis=1)


def _column(table: Any, name: str) -> np.ndarray:
  """Returns a column as numbers [n, ...], or as an object array [n] of texts."""
  try:
    column = table[name]
  except KeyError:
    raise errors.InputError(f'The table has no column {name!r}.') from None
  if isinstance(column, (list, tuple)):
    values = _from_rows(column)
  else:
    values = np.atleast_1d(column)
    if values.dtype.kind in 'OU':
      # Texts, or lists, which Arrow nests.
      nested = hasattr(column, 'to_pylist')
      values = _from_rows(column.to_pylist() if nested else values.tolist())
  if values.dtype.kind not in 'iubf' and not _are_texts(values):
    raise errors.InputError(
      f'Column {name!r} of the table must hold numbers, texts, or lists of '
      f'numbers of one length in all rows, got {values.dtype}, in its first '
      f'row {next(iter(values.tolist()), None)!r}.'
    )
  return values


def _from_rows(rows: Sequence[Any]) -> np.ndarray:
  """Returns rows as an array, of objects unless all are numbers or lists.

  NumPy would take a number among texts for a text, True for 1, and a text that
  ends in a null character for the same without it.
  """
  are_booleans = {isinstance(row, (bool, np.bool_)) for row in rows}
  if len(are_booleans) == 1 and not any(isinstance(row, str) for row in rows):
    try:
      return np.array(rows)
    except ValueError:  # Lists of several lengths.
      pass
  return np.fromiter(rows, object, len(rows))


def _are_texts(values: np.ndarray) -> bool:
  return values.dtype == object and all(map(grouped_examples.is_text, values))


def _check_numbers(column: np.ndarray, name: str) -> None:
  if column.dtype == object:
    raise errors.InputError(
      f'Column {name!r} of the table must hold numbers, such as '
      f"table[{name!r}].astype('category').cat.codes in pandas, got texts such "
      f'as {str(column[0])!r}.'
    )
  if column.ndim != 1:
    raise errors.InputError(
      f'Column {name!r} of the table must hold one number per row, got values '
      f'of shape {list(column.shape[1:])}.'
    )


def _as_int32(column: np.ndarray, name: str) -> np.ndarray:
  values = column.astype(np.int32)
  others = column[values != column]
  if others.size:
    raise errors.InputError(
      f'Column {name!r} of the table must hold integers of 32 bits, got '
      f'{others.flat[0]}.'
    )
  return values
