# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Reads labelled examples of tables into arrays.

Class names and images in bytes are read in the format of Hugging Face's library.
"""

from collections.abc import Sequence
import json
import os
import pathlib
import re

from fedfish_tff import errors
from launch.data import image_column
from launch.data import labelled_dataset
from launch.data import table_files

import numpy as np
import pyarrow as pa
from pyarrow import compute

# Names that pandas gives to row numbers without one.
_ROW_NUMBERS = re.compile(r'|Unnamed: \d+(\.\d+)*|__index_level_\d+__')
_NUMBER = r'^\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*$'
# Numbers with decimal commas, separated thousands or per cent, too.
_LIKE_NUMBER = (
  r"^\s*[-+]?(\d{1,3}([.,' ]\d{3})+|\d+)?[.,]?\d+([eE][-+]?\d+)?\s*%?\s*$"
)
# Spellings of missing values, where other values are numbers.
_MISSING = ('NA', 'N/A', 'NaN', 'nan', 'None', 'null', 'NULL', '<NA>', '?', '-')
# Larger integers have no exact float64.
_LARGEST_EXACT = 2**53
# Hugging Face's library gives it to examples without a class.
_NO_CLASS = -1


def read(
  dataset: str,
  *,
  split: str,
  feature: str | None = None,
  label: str | None = None,
  others: Sequence[str] = (),
  image_size: tuple[int, int] | None = None,
) -> labelled_dataset.LabelledDataset:
  """Reads a table into memory.

  No column may have missing, infinite or mixed values.

  Args:
    dataset: The path of a file, or of a folder of files of one kind.
    split: The split: the prefix of files, or the name of a subfolder; 'train'
      for data without splits.
    feature: The columns that become x, separated by commas: numbers, lists of
      numbers of one length, or one column of images. By default the only column
      of images or lists, otherwise all other columns of numbers but for row
      numbers, which pandas writes.
    label: The column that becomes y: integers and strings are classes, floats
      are targets of a regression. By default 'label'.
    others: Further columns to read, integers or strings. Those of CSV files are
      strings as written, so that 007 is not 7.
    image_size: The height and width to which images are resized; None if they
      have one size.
  """
  label = label or 'label'
  texts = [name for name in others if name != label]
  table = table_files.read(
    pathlib.Path(os.path.expanduser(dataset)), split, texts, label
  )
  _check_column(table, label, '--label')
  for other in texts:
    _check_column(table, other, 'A column to divide by')
  names = _choose_features(table, feature, label, others)
  for name in texts:
    if name in names:
      raise errors.InputError(
        f'--feature must not name the column to divide by, {name!r}, which is '
        'read as text.'
      )
  if image_size and not _is_image(table.schema.field(names[0]).type):
    raise errors.InputError(
      f'--image_size must be left out for column {names[0]!r}, which holds no '
      f'images, got {",".join(map(str, image_size))}.'
    )
  arrays = [_to_features(table, name, image_size) for name in names]
  if len(arrays) > 1:
    wide = [n for n, a in zip(names, arrays, strict=True) if a.ndim > 1]
    if wide:
      raise errors.InputError(
        '--feature must be one column of lists or images, or several of '
        f'numbers, got {errors.list_some(names)}, of which {wide[0]} holds '
        'lists.'
      )
  _check_exact(names, arrays)
  used = {label, *others, *names}
  keys = {name: _to_keys(table, name) for name in texts}
  _check_numbers_in_text(
    table, label, 'write a number there, or all classes as words'
  )
  # A label that is also a key must hold classes.
  labels = _to_keys(table, label, allow_floats=label not in others)
  columns = {**keys, label: labels}
  class_names = {
    name: known
    for name, known in _class_names(table.schema).items()
    if name in columns and _have_classes(name, known, columns[name])
  }
  if labels.dtype.hasobject:
    names_of_labels, labels = np.unique(labels, return_inverse=True)
    class_names[label] = names_of_labels.tolist()
  if labels.dtype.kind != 'f':
    labels = labels.astype(np.int64)
  if label in others:
    keys[label] = labels
  return labelled_dataset.LabelledDataset(
    name=pathlib.Path(dataset).name,
    feature=','.join(names),
    label=label,
    x=np.stack(arrays, axis=1) if len(arrays) > 1 else arrays[0],
    is_image=_is_image(table.schema.field(names[0]).type)
    and arrays[0].dtype == np.uint8,
    labels=labels,
    others=keys,
    class_names=class_names,
    unused=[name for name in table.column_names if name not in used],
  )


def _check_column(table: pa.Table, name: str, flag: str) -> str:
  """Returns the name of a column; raises InputError if it cannot be used."""
  places = table.schema.get_all_field_indices(name)
  if len(places) > 1:
    raise errors.InputError(
      f'Column {name!r} must stand in the table once, got {len(places)} of it.'
    )
  if not places:
    known = table.column_names
    shown = errors.list_some(list(map(repr, known)))
    raise errors.InputError(
      f'{flag} must be one of {shown}, got {name!r}.'
      + errors.suggest(name, known)
    )
  column = table.column(places[0])
  missing = column.null_count
  if _is_text(column.type):
    missing += compute.sum(compute.equal(column, '')).as_py() or 0
    if _are_numbers_but_for(column, _MISSING):
      missing += compute.sum(_is_one_of(column, _MISSING)).as_py()
  if missing:
    raise errors.InputError(
      f'Column {name!r} must have a value in each of {table.num_rows} rows, got '
      f'none in {missing}; fill them, or leave these rows or the column out.'
    )
  return name


def _is_one_of(column: pa.ChunkedArray, texts: Sequence[str]) -> pa.Array:
  return compute.is_in(column, value_set=pa.array(texts, column.type))


def _are_numbers_but_for(column: pa.ChunkedArray, texts: Sequence[str]) -> bool:
  """Returns whether some values are these texts, and the others numbers."""
  are_texts = _is_one_of(column, texts)
  others = column.filter(compute.invert(are_texts))
  are_numbers = compute.match_substring_regex(others, _NUMBER)
  return 0 < len(others) < len(column) and compute.all(are_numbers).as_py()


def _check_exact(names: Sequence[str], arrays: Sequence[np.ndarray]) -> None:
  """Raises an InputError for integers that columns beside them would round."""
  if np.result_type(*arrays).kind != 'f':
    return
  for name, values in zip(names, arrays, strict=True):
    if values.dtype.kind not in 'iu':
      continue
    largest = max(int(values.max(initial=0)), -int(values.min(initial=0)))
    if largest > _LARGEST_EXACT:
      raise errors.InputError(
        f'Column {name!r} must hold integers of at most 2**53 beside columns of '
        f'other numbers, which would round them, got {largest}; choose columns '
        'by --feature.'
      )


def _choose_features(
  table: pa.Table, feature: str | None, label: str, others: Sequence[str]
) -> list[str]:
  """Returns the names of the columns that become x."""
  if feature is not None:
    names = feature.split(',')
    if label in names or len(set(names)) < len(names):
      raise errors.InputError(
        f'--feature must name each column once, and not the label {label!r}, '
        f'got {feature}.'
      )
    for name in names:
      _check_column(table, name, '--feature')
      _check_numbers_in_text(table, name, 'mend them')
    return names
  free = [f for f in table.schema if f.name not in {label, *others}]
  wide = [f.name for f in free if _is_image(f.type) or _is_list(f.type)]
  if not wide:
    for field in free:
      _check_numbers_in_text(
        table, field.name, 'mend them, or choose other columns by --feature'
      )
  numbers = [
    f.name
    for f in free
    if _is_number(f.type) and not _ROW_NUMBERS.fullmatch(f.name)
  ]
  chosen = wide or numbers
  if len(wide) > 1 or not chosen:
    known = errors.list_some([repr(field.name) for field in free])
    raise errors.InputError(
      '--feature must name the columns that become x, of '
      f'{known or "which there are none"}.'
    )
  return [_check_column(table, name, '--feature') for name in chosen]


def _check_numbers_in_text(table: pa.Table, name: str, remedy: str) -> None:
  """Raises an InputError if most texts of a column are numbers, but not all.

  CSV makes texts of a column of numbers with one '?', and of decimal commas.
  """
  (place, *_) = table.schema.get_all_field_indices(name)
  column = table.column(place)
  if not _is_text(column.type):
    return
  is_number = compute.match_substring_regex(column, _NUMBER)
  is_like = compute.match_substring_regex(column, _LIKE_NUMBER)
  like = compute.sum(is_like).as_py() or 0
  odd = column.filter(compute.invert(is_number))
  if 2 * like >= table.num_rows and len(odd):
    raise errors.InputError(
      f'Column {name!r} must hold numbers such as 1.5 in each of '
      f'{table.num_rows} rows, got {odd[0].as_py()!r:.40} or the like in '
      f'{len(odd)}; {remedy}.'
    )


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
  """Returns whether values are lists of numbers, nested or not."""
  types = pa.types
  return (
    types.is_list(kind)
    or types.is_large_list(kind)
    or types.is_fixed_size_list(kind)
  ) and (_is_number(kind.value_type) or _is_list(kind.value_type))


def _is_image(kind: pa.DataType) -> bool:
  """Returns whether values are images as bytes, also inside a struct."""
  if pa.types.is_struct(kind):
    return kind.get_field_index('bytes') >= 0
  return pa.types.is_binary(kind) or pa.types.is_large_binary(kind)


def _to_features(
  table: pa.Table, name: str, image_size: tuple[int, int] | None
) -> np.ndarray:
  """Returns a column of numbers, lists or images, [n, ...]."""
  column = table[name].combine_chunks()
  if _is_image(column.type):
    return _check_finite(image_column.decode(column, name, image_size), name)
  if not _is_number(column.type) and not _is_list(column.type):
    raise errors.InputError(
      f'Column {name!r} must hold numbers, lists of them or images, got '
      f'{column.type}.'
    )
  values = _to_dense(column, name)
  # Tasks take numbers.
  values = values.astype(np.uint8) if values.dtype.kind == 'b' else values
  return _check_finite(values, name)


def _check_finite(values: np.ndarray, name: str) -> np.ndarray:
  return labelled_dataset.check_finite(
    values, f'Column {name!r}', remedy='leave these rows or the column out'
  )


def _to_dense(column: pa.Array, name: str) -> np.ndarray:
  """Returns nested lists of numbers, of one length per level, as one array."""
  if isinstance(column, pa.ChunkedArray):
    column = column.combine_chunks()
  if not _is_list(column.type):
    if column.null_count:
      raise errors.InputError(
        f'The lists of column {name!r} must have no missing values, got '
        f'{column.null_count}.'
      )
    return column.to_numpy(zero_copy_only=False)
  lengths = compute.unique(compute.list_value_length(column)).to_pylist()
  if len(lengths) > 1 or not lengths[0]:
    raise errors.InputError(
      f'The lists of column {name!r} must have one length of at least 1, got '
      f'{", ".join(map(str, lengths[:5]))}.'
    )
  values = _to_dense(compute.list_flatten(column), name)
  return values.reshape(len(column), lengths[0], *values.shape[1:])


def _to_keys(
  table: pa.Table, name: str, *, allow_floats: bool = False
) -> np.ndarray:
  """Returns a column of integers or strings, [n]; strings as objects."""
  column = table[name]
  kind = column.type
  is_float = pa.types.is_floating(kind)
  if _is_text(kind):
    _check_spaces(column, name)
  elif not _is_number(kind) or (is_float and not allow_floats):
    raise errors.InputError(
      f'Column {name!r} must hold integers or strings, got {kind}.'
    )
  values = _check_finite(column.to_numpy(), name)
  if values.dtype.kind == 'u' and values.max() > np.iinfo(np.int64).max:
    raise errors.InputError(
      f'Column {name!r} must hold integers below 2**63, got {values.max()}.'
    )
  return values


def _check_spaces(column: pa.ChunkedArray, name: str) -> None:
  """Raises an InputError if texts differ by spaces around them alone."""
  known = {}
  for text in compute.unique(column).to_pylist():
    other = known.setdefault(text.strip(), text)
    if other != text:
      raise errors.InputError(
        f'Column {name!r} must hold each value in one form, got {other!r} and '
        f'{text!r}, which differ by spaces alone.'
      )


def _have_classes(name: str, names: Sequence[str], values: np.ndarray) -> bool:
  """Returns whether values are numbers of classes with these names."""
  if values.dtype.kind not in 'iu':
    return False
  missing = np.count_nonzero(values == _NO_CLASS)
  if missing:
    raise errors.InputError(
      f'Column {name!r} must have a class in each of {len(values)} rows, got '
      f'{_NO_CLASS}, which stands for none, in {missing}; leave these rows out, '
      'or choose another --split.'
    )
  return bool(np.all((values >= 0) & (values < len(names))))


def _class_names(schema: pa.Schema) -> dict[str, Sequence[str]]:
  """Returns class names by column, from the metadata of Hugging Face."""
  note = (schema.metadata or {}).get(b'huggingface', b'{}')
  try:
    features = json.loads(note)['info']['features']
    found = {
      name: [str(label) for label in feature['names']]
      for name, feature in features.items()
      if feature.get('_type') == 'ClassLabel'
    }
    return {
      name: names
      for name, names in found.items()
      if len(set(names)) == len(names) and ''.join(names).encode()
    }
  # The metadata is untrusted; without it, classes are numbers.
  except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
    return {}
