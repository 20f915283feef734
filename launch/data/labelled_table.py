# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Reads labelled examples of CSV, Parquet and Arrow files into arrays.

Class names and images in bytes are read in the format of Hugging Face's library.
"""

from collections.abc import Sequence
import json
import pathlib

from fedfish_tff import errors
from launch.data import image_column
from launch.data import labelled_dataset
from launch.data import table_files

import numpy as np
import pyarrow as pa
from pyarrow import compute


def read(
  dataset: str,
  *,
  split: str,
  feature: str | None = None,
  label: str | None = None,
  others: Sequence[str] = (),
) -> labelled_dataset.LabelledDataset:
  """Reads a table into memory.

  Args:
    dataset: The path of a file, or of a folder of files of one kind.
    split: The split: the prefix of files, or the name of a subfolder; 'train'
      for data without splits.
    feature: The columns that become x, separated by commas: numbers, lists of
      numbers of one length, or one column of images. By default the only column
      of images or lists, otherwise all other columns of numbers.
    label: The column that becomes y: integers and strings are classes, floats
      are targets of a regression. By default 'label'.
    others: Further columns to read, integers or strings. Those of CSV files are
      strings as written, so that 007 is not 7.

  Returns:
    The examples.

  Raises:
    errors.InputError: If a file cannot be read, or a column is missing, has
      missing values or has the wrong type.
  """
  table = table_files.read(pathlib.Path(dataset).expanduser(), split, others)
  label = _check_column(table, label or 'label', '--label')
  for other in others:
    _check_column(table, other, 'A column to divide by')
  names = _choose_features(table, feature, {label, *others})
  arrays = [_to_features(table, name) for name in names]
  if len(arrays) > 1:
    wide = [n for n, a in zip(names, arrays, strict=True) if a.ndim > 1]
    if wide:
      raise errors.InputError(
        f'--feature must be one column of lists or images, or several of '
        f'numbers, got {", ".join(names)}, of which {wide[0]} holds lists.'
      )
  keys = {other: _to_keys(table, other) for other in others}
  labels = _to_keys(table, label, allow_floats=True)
  class_names = {
    name: known
    for name, known in _class_names(table.schema).items()
    if _are_numbers_of(known, keys.get(name, labels))
  }
  if labels.dtype.hasobject:
    names_of_labels, labels = np.unique(labels, return_inverse=True)
    class_names[label] = names_of_labels.tolist()
  return labelled_dataset.LabelledDataset(
    name=pathlib.Path(dataset).name,
    feature=','.join(names),
    label=label,
    x=np.stack(arrays, axis=1) if len(arrays) > 1 else arrays[0],
    is_image=_is_image(table.schema.field(names[0]).type)
    and arrays[0].dtype == np.uint8,
    labels=labels if labels.dtype.kind == 'f' else labels.astype(np.int64),
    others=keys,
    class_names=class_names,
  )


def _check_column(table: pa.Table, name: str, flag: str) -> str:
  """Returns the name of a column; raises InputError if it cannot be used."""
  if table.column_names.count(name) != 1:
    raise errors.InputError(
      f'{flag} must be one of {", ".join(table.column_names)}, got {name!r}.'
      + errors.suggest(name, table.column_names)
    )
  missing = table[name].null_count
  if _is_text(table[name].type):
    missing += compute.sum(compute.equal(table[name], '')).as_py() or 0
  if missing:
    raise errors.InputError(
      f'Column {name!r} must have a value in each of {table.num_rows} rows, got '
      f'none in {missing}.'
    )
  return name


def _choose_features(
  table: pa.Table, feature: str | None, used: set[str]
) -> list[str]:
  """Returns the names of the columns that become x."""
  if feature is not None:
    return [_check_column(table, n, '--feature') for n in feature.split(',')]
  free = [field for field in table.schema if field.name not in used]
  wide = [f.name for f in free if _is_image(f.type) or _is_list(f.type)]
  numbers = [f.name for f in free if _is_number(f.type)]
  chosen = wide or numbers
  if len(wide) > 1 or not chosen:
    raise errors.InputError(
      f'--feature must name the columns that become x, of '
      f'{", ".join(field.name for field in free) or "which there are none"}.'
    )
  return [_check_column(table, name, '--feature') for name in chosen]


def _is_number(kind: pa.DataType) -> bool:
  types = pa.types
  return (
    types.is_integer(kind)
    or types.is_floating(kind)
    or (types.is_boolean(kind))
  )


def _is_text(kind: pa.DataType) -> bool:
  return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def _is_list(kind: pa.DataType) -> bool:
  if isinstance(kind, pa.BaseExtensionType):
    kind = kind.storage_type
  types = pa.types
  return (
    types.is_list(kind)
    or types.is_large_list(kind)
    or (types.is_fixed_size_list(kind))
  )


def _is_image(kind: pa.DataType) -> bool:
  """Returns whether values are images as bytes, also inside a struct."""
  if pa.types.is_struct(kind):
    return kind.get_field_index('bytes') >= 0
  return pa.types.is_binary(kind) or pa.types.is_large_binary(kind)


def _to_features(table: pa.Table, name: str) -> np.ndarray:
  """Returns a column of numbers, lists or images, [n, ...]."""
  column = table[name].combine_chunks()
  if _is_image(column.type):
    return image_column.decode(column, name)
  dense = _to_dense(column, name)
  if not _is_number(column.type) and not _is_list(column.type):
    raise errors.InputError(
      f'Column {name!r} must hold numbers, lists of them or images, got '
      f'{column.type}.'
    )
  return dense


def _to_dense(column: pa.Array, name: str) -> np.ndarray:
  """Returns nested lists of numbers, of one length per level, as one array."""
  if isinstance(column, pa.ChunkedArray):
    column = column.combine_chunks()
  if isinstance(column, pa.ExtensionArray):
    column = column.storage
  if not _is_list(column.type):
    if column.null_count:
      raise errors.InputError(
        f'The lists of column {name!r} must have no missing values, got '
        f'{column.null_count}.'
      )
    return column.to_numpy(zero_copy_only=False)
  lengths = compute.unique(compute.list_value_length(column)).to_pylist()
  if len(lengths) > 1:
    raise errors.InputError(
      f'The lists of column {name!r} must have one length, got '
      f'{", ".join(map(str, lengths[:5]))}.'
    )
  values = _to_dense(compute.list_flatten(column), name)
  return values.reshape(len(column), lengths[0], *values.shape[1:])


def _to_keys(
  table: pa.Table, name: str, *, allow_floats: bool = False
) -> np.ndarray:
  """Returns a column of integers or strings, [n]; strings as objects."""
  column = table[name].combine_chunks()
  if pa.types.is_dictionary(column.type):
    column = column.dictionary_decode()
  kind = column.type
  is_text = _is_text(kind)
  is_float = pa.types.is_floating(kind)
  if not is_text and (not _is_number(kind) or (is_float and not allow_floats)):
    raise errors.InputError(
      f'Column {name!r} must hold integers or strings, got {kind}.'
    )
  values = column.to_numpy(zero_copy_only=False)
  if values.dtype.kind == 'u' and values.max() > np.iinfo(np.int64).max:
    raise errors.InputError(
      f'Column {name!r} must hold integers below 2**63, got {values.max()}.'
    )
  return values


def _are_numbers_of(names: Sequence[str], values: np.ndarray) -> bool:
  return values.dtype.kind in 'iu' and bool(
    np.all((values >= 0) & (values < len(names)))
  )


def _class_names(schema: pa.Schema) -> dict[str, Sequence[str]]:
  """Returns class names by column, from the metadata of Hugging Face."""
  note = (schema.metadata or {}).get(b'huggingface', b'{}')
  try:
    features = json.loads(note)['info']['features']
    return {
      name: [str(label) for label in feature['names']]
      for name, feature in features.items()
      if feature.get('_type') == 'ClassLabel'
    }
  # The metadata is untrusted; without it, classes are numbers.
  except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
    return {}
