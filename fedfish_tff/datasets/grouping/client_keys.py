# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The client keys of records."""

from collections.abc import Iterator
import contextlib
import dataclasses
from typing import Any
from typing import Protocol

from fedfish_tff.datasets.grouping import web_keys

HOST = 'host'
REGISTERED_DOMAIN = 'registered_domain'


class Record(Protocol):
  """Values by name, as in a dict."""

  def get(self, name: str) -> Any:
    """Returns a value, None if it is missing."""


class BadRecordError(Exception):
  """A record that cannot be used.

  Attributes:
    kind: The reason, such as 'missing_url'.
  """

  def __init__(self, kind: str) -> None:
    super().__init__(kind)
    self.kind = kind


@contextlib.contextmanager
def decoding() -> Iterator[None]:
  """Decodes a record in its block; errors there are the record's fault.

  Raises:
    BadRecordError: For any error but a lack of memory.
  """
  try:
    yield
  except (BadRecordError, MemoryError):
    raise
  except Exception as error:
    raise BadRecordError('undecodable') from error


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClientKey:
  """The key that gives a record's client id.

  Attributes:
    name: 'host', the host of the record's 'url', or of its 'domain' if it has
      no 'url'; 'registered_domain', the domain of that host; or the name of a
      field of the record, which is then used as it is.
    keep_www: Whether a host keeps its leading 'www.'.
  """

  name: str
  keep_www: bool = False

  @property
  def is_web(self) -> bool:
    return self.name in (HOST, REGISTERED_DOMAIN)

  @property
  def fields(self) -> tuple[str, ...]:
    """The fields of a record that the key uses."""
    return ('url', 'domain') if self.is_web else (self.name,)

  def client_id(self, record: Record) -> str:
    """Returns the id of a record's client.

    Args:
      record: Values by name, with texts as str or UTF-8.

    Raises:
      BadRecordError: If the record has no such id.
    """
    if self.is_web:
      return self._web_client(record)
    value = record.get(self.name)
    if isinstance(value, int):  # For True and False, their names.
      return str(value)
    text = to_text(value, invalid='invalid_key')
    if not text:
      raise BadRecordError('missing_key')
    return text

  def _web_client(self, record: Record) -> str:
    url = to_text(record.get('url'), invalid='invalid_url').strip()
    if url:
      host = web_keys.host_of_url(url)
    else:
      domain = to_text(record.get('domain'), invalid='invalid_url').strip()
      if not domain:
        raise BadRecordError('missing_url')
      host = web_keys.normalize_host(domain)
    if host is None:
      raise BadRecordError('invalid_url')
    if self.name == REGISTERED_DOMAIN:
      return web_keys.registered_domain(host)
    # www.com is the name of a site.
    if host.count('.') > 1 and not self.keep_www:
      return host.removeprefix('www.')
    return host


def to_text(value: Any, *, invalid: str) -> str:
  """Returns a text of a record, '' if it is missing.

  Args:
    value: A text, UTF-8 or None.
    invalid: The kind of error for a value of another type.

  Raises:
    BadRecordError: If the value is of another type, or not UTF-8.
  """
  if value is None:
    return ''
  if isinstance(value, bytes):
    try:
      return value.decode()
    except UnicodeDecodeError:
      raise BadRecordError('invalid_utf8') from None
  if not isinstance(value, str):
    raise BadRecordError(invalid)
  if not value.isascii():
    try:
      value.encode()
    except UnicodeEncodeError:  # A lone surrogate, which JSON allows.
      raise BadRecordError('invalid_utf8') from None
  return value
