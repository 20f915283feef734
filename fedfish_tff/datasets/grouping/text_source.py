# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Web pages and news in the files of C4 and CC-News."""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses
import datetime
import json
import posixpath
from typing import Any

from fedfish_tff.datasets.grouping import client_keys
from fedfish_tff.datasets.grouping import input_files
from fedfish_tff.datasets.grouping import sources

# The features of each format. All are texts, and only 'text' is required.
TEXT_FORMATS: Mapping[str, tuple[str, ...]] = {
  'c4': ('url', 'text', 'timestamp'),
  'cc_news': ('url', 'domain', 'title', 'text', 'date'),
}
_TEXT = {'dtype': 'string', 'shape': []}


@dataclasses.dataclass(frozen=True, kw_only=True)
class TextSource(sources.Source):
  """Lines of JSON (*.json, *.jsonl, also packed) or rows of *.parquet.

  A record is skipped if it is not a JSON object, is not UTF-8, or has no text
  or no client. Other fields may be missing, and are then empty.

  Attributes:
    format: The format, 'c4' or 'cc_news'.
    pattern: The files: a path with * and ?, also on file systems known to
      fsspec.
    key: The client key of records.
  """

  format: str
  pattern: str
  key: client_keys.ClientKey

  @property
  def features(self) -> Mapping[str, Mapping[str, Any]]:
    return dict.fromkeys(sorted(TEXT_FORMATS[self.format]), _TEXT)

  @property
  def size_unit(self) -> str:
    return 'B'

  def parts(self) -> Sequence[sources.Part]:
    return [
      sources.Part(number=i, content=item, size=item.stop - item.start)
      for i, item in enumerate(input_files.find_ranges(self.pattern))
    ]

  def estimated_bytes(self, parts: Sequence[sources.Part]) -> int:
    return input_files.estimate_text_bytes([part.content for part in parts])

  def read(
    self, part: sources.Part, progress: Callable[[int], None]
  ) -> Iterator[sources.SourceExample | sources.Skipped]:
    is_text = input_files.is_text(part.content.path)
    if is_text:
      records = input_files.read_lines(part.content, progress)
    else:
      columns = {*TEXT_FORMATS[self.format], *self.key.fields}
      records = input_files.read_rows(part.content, columns, progress)
    path, number = part.content.path, 0
    try:
      for number, record in records:
        if isinstance(record, sources.Skipped):
          yield record
          continue
        try:
          yield self._read_record(record)
        except client_keys.BadRecordError as error:
          what = 'line' if is_text else 'row'
          where = f'{part.content.name}, {what} {number:,}'
          yield sources.Skipped(kind=error.kind, where=where)
    except input_files.DamagedFileError as error:
      # The rest of the file is kept if it parses as a whole record.
      with contextlib.suppress(client_keys.BadRecordError):
        last = self._read_record(error.rest)
        number += 1
        yield last
      yield sources.Skipped(
        kind=error.kind, where=f'{path}, read up to line {number:,}'
      )

  def description(self, parts: Sequence[sources.Part]) -> dict[str, Any]:
    sizes = {part.content.path: part.content.size for part in parts}
    return {
      'format': self.format,
      'input': posixpath.basename(self.pattern),
      'files': len(sizes),
      'bytes': sum(sizes.values()),
    }

  @client_keys.decoding()
  def _read_record(
    self, record: bytes | input_files.Row | None
  ) -> sources.SourceExample:
    """Returns the example of one line or row."""
    if record is None:
      raise client_keys.BadRecordError('line_too_long')
    if isinstance(record, bytes):
      record = _parse_line(record)
    values = {
      name: client_keys.to_text(
        record.get(name) if name == 'text' else _as_text(record.get(name)),
        invalid='missing_text' if name == 'text' else f'invalid_{name}',
      ).encode()
      for name in TEXT_FORMATS[self.format]
    }
    if not values['text'].strip():
      raise client_keys.BadRecordError('missing_text')
    return sources.SourceExample(
      client_id=self.key.client_id(record), values=values
    )


def _parse_line(line: bytes) -> Mapping[str, Any]:
  try:
    record = json.loads(line.decode())
  except UnicodeDecodeError:
    raise client_keys.BadRecordError('invalid_utf8') from None
  # A deeply nested line is not a record.
  except (ValueError, RecursionError):
    raise client_keys.BadRecordError('malformed_json') from None
  if not isinstance(record, dict):
    raise client_keys.BadRecordError('malformed_json')
  return record


def _as_text(value: Any) -> Any:
  """Returns numbers and dates as texts, everything else unchanged."""
  if isinstance(value, (int, float, datetime.date)):
    return str(value)
  return value
