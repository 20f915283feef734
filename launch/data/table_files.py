# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Reads the files of a table into columns of a few plain types."""

from collections.abc import Iterator
from collections.abc import Sequence
import csv as std_csv
import gzip
import io
import os
import pathlib
import re
from typing import BinaryIO
import zlib

from fedfish_tff import errors
from fedfish_tff import regular_files
from launch.data import labelled_dataset

import pyarrow as pa
from pyarrow import csv
from pyarrow import json
from pyarrow import parquet
import tqdm

_CSV_SUFFIXES = ('.csv', '.tsv')
_SUFFIXES = (
  *_CSV_SUFFIXES,
  '.jsonl',
  '.ndjson',
  '.parquet',
  '.arrow',
  '.feather',
)
_GZIP = '.gz'
_ONLY_SPLIT = 'train'
# Spark's names of the parts of one table.
_PART = re.compile(r'part-\d+')
_HELD_OUT = re.compile(
  f'({"|".join(labelled_dataset.HELD_OUT_SPLITS)})[-._]', re.IGNORECASE
)
# What Hugging Face's library writes beside the files of one split.
_STATE = 'state.json'
_INTEGER = re.compile(r'\s*[-+]?\d+\s*', re.ASCII)
_DELIMITERS = ',;\t|'
# A row must fit into a block.
_JSON_BLOCK_BYTES = 2**26
# The largest block that Arrow takes.
_MOST_BLOCK_BYTES = 2**31 - 1
_PIECE = 2**20
_MOST_CHARACTERS = 2**31 - 1
_ARROW_FILE = b'ARROW1'
_SHOWN = 5
_READ_ERRORS = (
  EOFError,
  OSError,
  pa.ArrowException,
  zlib.error,
)


def is_table(dataset: str) -> bool:
  """Returns whether `dataset` is a file, or a folder that `read` accepts."""
  path = pathlib.Path(os.path.expanduser(dataset))
  if path.is_dir():
    return bool(_list_files(path) or (path / 'dataset_dict.json').exists())
  # Which LEAF has.
  return path.suffix != '.json' and (
    path.exists() or _suffix_of(path) is not None
  )


def read(
  path: pathlib.Path,
  split: str,
  texts: Sequence[str],
  label: str | None = None,
) -> pa.Table:
  """Returns the rows of a split.

  Args:
    path: A file, or a folder of files with the same columns. CSV is separated
      by what its first line shows: commas, or else semicolons, tabs or bars.
    split: The split: the prefix of files, or the name of a subfolder; 'train'
      for data without splits.
    texts: The columns of CSV files that stay strings.
    label: The column of classes or targets. In CSV files, its integers must be
      distinct as numbers if they are as texts, and fit into 64 bits.

  Returns:
    The rows, with dictionaries, extensions and views replaced by their values,
    float16 by float32, and decimals by integers or floats.
  """
  tables = []
  files = _find_files(path, split)
  as_written = texts if label is None else [*texts, label]
  for file in tqdm.tqdm(files, desc='read', unit=' files', disable=None):
    try:
      with open(file, 'rb', opener=regular_files.opener) as source:
        is_packed = file.name.lower().endswith(_GZIP)
        table = _read_file(
          file,
          gzip.GzipFile(fileobj=source) if is_packed else source,
          as_written,
        )
      table.validate(full=True)
      tables.append(_to_plain(table))
    except UnicodeDecodeError as error:
      raise errors.InputError(
        f'{file} must be text in UTF-8, got other bytes.'
      ) from error
    except _READ_ERRORS as error:
      reason = getattr(error, 'strerror', None) or errors.first_line(error)
      raise errors.InputError(f'{file} cannot be read: {reason}.') from error
  table = _concatenate(path, tables)
  if not table.num_rows:
    raise errors.InputError(f'{path} must have rows, got none.')
  if (
    _suffix_of(files[0]) in _CSV_SUFFIXES
    and table.column_names.count(label) == 1
    and label not in texts
  ):
    return _infer_labels(table, label)
  return table


def _suffix_of(path: pathlib.Path) -> str | None:
  """Returns the one of `_SUFFIXES` that a name ends with, without .gz."""
  name = path.name.lower().removesuffix(_GZIP)
  return next((suffix for suffix in _SUFFIXES if name.endswith(suffix)), None)


def _list_files(folder: pathlib.Path) -> list[pathlib.Path]:
  """Returns the data files of a folder, or of its subfolder data."""
  for place in (folder, folder / 'data'):
    files = [
      file
      for file in sorted(place.glob('*'))
      # Spark, macOS and Hugging Face's library keep others beside the data.
      if _suffix_of(file) and not file.name.startswith(('.', '_', 'cache-'))
    ]
    if files:
      return _saved_files(place, files)
  return []


def _saved_files(
  folder: pathlib.Path, files: list[pathlib.Path]
) -> list[pathlib.Path]:
  """Leaves out files of earlier saves by Hugging Face's library."""
  state = folder / _STATE
  if not state.exists():
    return files
  form = {'_data_files': ([{'filename': str}], None)}
  known = regular_files.read_json(state, form).get('_data_files')
  if known is None:
    return files
  names = [entry['filename'] for entry in known]
  missing = sorted(set(names) - {file.name for file in files})
  if missing:
    raise errors.InputError(
      f'{folder} must have the files that its {_STATE} names, got none of '
      f'{errors.list_some(missing, _SHOWN)}.'
    )
  return [file for file in files if file.name in names]


def _stem(path: pathlib.Path) -> str:
  """Returns a name without what tells its kind."""
  name = path.name
  if name.lower().endswith(_GZIP):
    name = name[: -len(_GZIP)]
  return name[: -len(_suffix_of(path))]


def _find_files(path: pathlib.Path, split: str) -> list[pathlib.Path]:
  """Returns the files of a split."""
  if not path.is_dir():
    if split != _ONLY_SPLIT:
      raise errors.InputError(
        f'--split must be {_ONLY_SPLIT} for one file, {path}, got {split!r}.'
      )
    if _suffix_of(path) is None:
      raise errors.InputError(
        f'The name of a table must end in one of {", ".join(_SUFFIXES)}, with '
        f'or without {_GZIP}, got {path}.'
      )
    return [path]
  if pathlib.Path(split).name == split and (path / split).is_dir():
    return _list_files(path / split)
  files = _list_files(path)
  of_split = [
    f for f in files if f.name.startswith(f'{split}-') or _stem(f) == split
  ]
  has_no_splits = (
    (len(files) == 1 and not _HELD_OUT.match(files[0].name))
    or (path / _STATE).exists()
    or all(_PART.match(file.name) for file in files)
  )
  found = of_split or (files if split == _ONLY_SPLIT and has_no_splits else [])
  if not found:
    names = [file.name for file in files or sorted(path.glob('*'))]
    raise errors.InputError(
      f'--split must name files or a folder of {path}, which has '
      f'{errors.list_some(names, _SHOWN) or "nothing"}, got {split!r}; a file '
      'per client must become one file with a column of clients, for --key.'
    )
  by_stem: dict[str, list[str]] = {}
  for file in found:
    by_stem.setdefault(_stem(file), []).append(file.name)
  for names in by_stem.values():
    if len(names) > 1:
      raise errors.InputError(
        f'{path} must hold each file once, got {", ".join(names)}; give the '
        'path of one.'
      )
  return found


def _read_file(
  file: pathlib.Path, source: BinaryIO, texts: Sequence[str]
) -> pa.Table:
  suffix = _suffix_of(file)
  if suffix in _CSV_SUFFIXES:
    return _read_csv(file, source, texts, '\t' if suffix == '.tsv' else None)
  if suffix == '.parquet':
    return parquet.read_table(source, partitioning=None)
  if suffix in ('.jsonl', '.ndjson'):
    options = json.ReadOptions(block_size=_JSON_BLOCK_BYTES)
    return json.read_json(source, read_options=options)
  is_file = source.read(len(_ARROW_FILE)) == _ARROW_FILE
  source.seek(0)
  read = pa.ipc.open_file if is_file else pa.ipc.open_stream
  return read(source).read_all()


def _read_csv(
  file: pathlib.Path,
  source: BinaryIO,
  texts: Sequence[str],
  delimiter: str | None,
) -> pa.Table:
  """Reads CSV, separated by `delimiter` or what the first line shows."""
  if delimiter is None:
    delimiter = next(
      (d for d in _DELIMITERS if _count_names(source, d) > 1), ','
    )
  source.seek(0)
  size, is_quoted = 0, False
  for piece in iter(lambda: source.read(_PIECE), b''):
    size += len(piece)
    is_quoted = is_quoted or b'"' in piece
  if is_quoted:
    _check_quotes(file, source, delimiter)
  source.seek(0)
  # In one block: between two, Arrow may lose the \n of a quoted \r\n.
  block_size = min(size + 1, _MOST_BLOCK_BYTES)
  table = csv.read_csv(
    source,
    read_options=csv.ReadOptions(block_size=block_size),
    parse_options=csv.ParseOptions(
      delimiter=delimiter, newlines_in_values=True
    ),
    convert_options=csv.ConvertOptions(
      column_types=dict.fromkeys(texts, pa.string())
    ),
  )
  for field in table.schema:
    if pa.types.is_binary(field.type):
      raise errors.InputError(
        f'{file} must be text in UTF-8, got other bytes in column '
        f'{field.name!r}.'
      )
  return table


def _infer_labels(table: pa.Table, name: str) -> pa.Table:
  """Gives a column of texts the type that Arrow infers for those of CSV files.

  Arrow alone would read 01 and 1 as one class, and integers beyond 64 bits as
  the targets of a regression.
  """
  encoded = table[name].combine_chunks().dictionary_encode()
  texts = encoded.dictionary.to_pylist()
  lines = io.StringIO(newline='')
  std_csv.writer(lines).writerows([text] for text in texts)
  content = lines.getvalue().encode()
  values = csv.read_csv(
    io.BytesIO(content),
    read_options=csv.ReadOptions(
      column_names=[name], block_size=min(len(content) + 1, _MOST_BLOCK_BYTES)
    ),
    parse_options=csv.ParseOptions(newlines_in_values=True),
  )[name].combine_chunks()
  if pa.types.is_floating(values.type) and all(map(_is_integer, texts)):
    # With a plus sign, or too large.
    numbers = list(map(int, texts))
    largest = max(numbers, key=abs)
    if not -(2**63) <= largest < 2**63:
      raise errors.InputError(
        f'Column {name!r} must hold integers below 2**63, got {largest}; give '
        'classes names that are no numbers.'
      )
    values = pa.array(numbers, pa.int64())
  is_bool = pa.types.is_boolean(values.type)
  if pa.types.is_integer(values.type) or is_bool:
    known = {}
    for text, value in zip(texts, values.to_pylist(), strict=True):
      other = known.setdefault(value, text)
      if value is not None and text.strip() != other.strip():
        raise errors.InputError(
          f'Column {name!r} must hold each value in one form, got {other!r} and '
          f'{text!r}, which are one value.'
        )
  if is_bool:
    return table  # The texts are names of classes.
  place = table.column_names.index(name)
  return table.set_column(place, name, values.take(encoded.indices))


def _is_integer(text: str) -> bool:
  return bool(_INTEGER.fullmatch(text))


def _count_names(source: BinaryIO, delimiter: str) -> int:
  """Returns the number of names in the first line; 0 where they do not fit."""
  try:
    return len(next(filter(None, _rows(source, delimiter)), []))
  except std_csv.Error:
    return 0


def _check_quotes(file: pathlib.Path, source: BinaryIO, delimiter: str) -> None:
  """Raises an InputError unless the quotation marks of a CSV file are paired.

  Arrow takes the rows between two marks without partners for one text.
  """
  rows = 0
  try:
    for _ in _rows(source, delimiter):
      rows += 1
  except std_csv.Error as error:
    raise errors.InputError(
      f'{file} must close each quotation mark before the next comma, got '
      f'another one in row {rows + 1} ({error}).'
    ) from error


def _rows(source: BinaryIO, delimiter: str) -> Iterator[list[str]]:
  """Yields the rows of a CSV file, read by Python's own parser."""
  source.seek(0)
  text = io.TextIOWrapper(source, encoding='utf-8-sig', newline='')
  most = std_csv.field_size_limit(_MOST_CHARACTERS)
  try:
    yield from std_csv.reader(text, delimiter=delimiter, strict=True)
  finally:
    std_csv.field_size_limit(most)
    text.detach()


def _to_plain(table: pa.Table) -> pa.Table:
  schema = pa.schema(
    [field.with_type(_plain_type(field.type)) for field in table.schema],
    table.schema.metadata,
  )
  columns = []
  for field, column in zip(schema, table.columns, strict=True):
    is_plain = field.type.equals(column.type)
    try:
      columns.append(column if is_plain else column.cast(field.type))
    except pa.ArrowException as error:
      raise errors.InputError(
        f'Column {field.name!r} must hold values that fit {field.type}, got '
        f'others in {column.type} ({errors.first_line(error)}).'
      ) from error
  return pa.Table.from_arrays(columns, schema=schema)


def _plain_type(kind: pa.DataType) -> pa.DataType:
  """Returns the type that holds the values of `kind` in a plain way."""
  types = pa.types
  if isinstance(kind, pa.BaseExtensionType):
    return _plain_type(kind.storage_type)
  if types.is_dictionary(kind):
    return _plain_type(kind.value_type)
  if types.is_decimal(kind):
    return pa.float64() if kind.scale > 0 else pa.int64()
  if types.is_float16(kind):
    return pa.float32()
  if types.is_list(kind) or types.is_large_list(kind):
    new = pa.list_ if types.is_list(kind) else pa.large_list
    return new(kind.value_field.with_type(_plain_type(kind.value_type)))
  if types.is_fixed_size_list(kind):
    field = kind.value_field.with_type(_plain_type(kind.value_type))
    return pa.list_(field, kind.list_size)
  # Older versions of Arrow have no functions for these.
  views = {'string_view': pa.string(), 'binary_view': pa.binary()}
  return views.get(str(kind), kind)


def _concatenate(path: pathlib.Path, tables: Sequence[pa.Table]) -> pa.Table:
  """Returns the rows of files with the same columns, in any order."""
  if len(tables) == 1:
    return tables[0]
  names = tables[0].column_names
  for table in tables:
    others = set(names) ^ set(table.column_names)
    if others:
      raise errors.InputError(
        f'The files of {path} must have the same columns, got '
        f'{errors.list_some(sorted(others))} in some alone.'
      )
  try:
    # Integers of one file become the floats of another.
    return pa.concat_tables(tables, promote_options='permissive')
  except pa.ArrowException as error:
    raise errors.InputError(
      f'The files of {path} must have the same types of columns: '
      f'{errors.first_line(error)}.'
    ) from error
