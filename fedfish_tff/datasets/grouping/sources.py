# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Sources of records to group, which workers read part by part."""

import abc
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True, kw_only=True)
class Part:
  """A part of a source, read by one worker from its start to its end.

  Attributes:
    number: Its place among all parts; examples keep the order of the source.
    content: Everything that the source needs to read it.
    size: Its size, in the unit of the source.
  """

  number: int
  content: Any
  size: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class SourceExample:
  """An example with its client.

  Attributes:
    client_id: The client's id, by which examples are grouped.
    values: A value for each feature: bytes, or numbers of its shape.
  """

  client_id: str
  values: Mapping[str, Any]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Skipped:
  """Records that cannot be used.

  Attributes:
    kind: The reason, such as 'malformed_json'.
    where: The name of the record, or file, for messages.
    count: The number of records.
  """

  kind: str
  where: str
  count: int = 1


class Source(abc.ABC):
  """A source of examples. It is pickled: small, and without open files."""

  @property
  @abc.abstractmethod
  def features(self) -> Mapping[str, Mapping[str, Any]]:
    """The features of an example, sorted by name, as dataset.json has them."""

  @property
  @abc.abstractmethod
  def size_unit(self) -> str:
    """The unit of sizes: 'B' or ' examples'."""

  @abc.abstractmethod
  def parts(self) -> Sequence[Part]:
    """Returns all parts, in order."""

  @abc.abstractmethod
  def estimated_bytes(self, parts: Sequence[Part]) -> int:
    """Returns the approximate number of bytes of the examples of all parts."""

  @abc.abstractmethod
  def read(
    self, part: Part, progress: Callable[[int], None]
  ) -> Iterator[SourceExample | Skipped]:
    """Yields the examples of a part and its bad records, always the same.

    Args:
      part: One of `parts`.
      progress: A function called with the amount read since its last call, in
        the unit of sizes.
    """

  @abc.abstractmethod
  def description(self, parts: Sequence[Part]) -> dict[str, Any]:
    """Returns the source's entry in dataset.json, without paths."""
