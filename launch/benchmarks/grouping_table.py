# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What was measured of grouping as a table: a column a way to group."""

from collections.abc import Mapping
import dataclasses
import statistics

from launch.benchmarks import grouping_measurement


@dataclasses.dataclass(frozen=True)
class Way:
  """A way to group.

  Attributes:
    workers: Processes that work.
    plain: Whether by Beam's GroupByKey; else by this package.
  """

  workers: int
  plain: bool

  @property
  def title(self) -> str:
    """What the table calls it."""
    return 'GroupByKey' if self.plain else 'grouping'


@dataclasses.dataclass(kw_only=True)
class Figures:
  """What was measured of a way.

  Attributes:
    results: With all lines.
    starts: With a single line, as often.
  """

  results: list[grouping_measurement.Result] = dataclasses.field(
    default_factory=list
  )
  starts: list[grouping_measurement.Result] = dataclasses.field(
    default_factory=list
  )

  @property
  def seconds(self) -> float:
    """The median with all lines."""
    return statistics.median(r.seconds for r in self.results)

  @property
  def start_seconds(self) -> float:
    """The median with a single line."""
    return statistics.median(r.seconds for r in self.starts)

  @property
  def net_seconds(self) -> float:
    """Without the start, which may be all of it."""
    return max(self.seconds - self.start_seconds, 0.0)


def table_lines(
  figures: Mapping[Way, Figures], num_bytes: int
) -> list[list[str]]:
  """Returns the header and the rows as text.

  Args:
    figures: What was measured; of GroupByKey with each number of workers.
    num_bytes: The size of the lines.
  """
  columns = [
    _cells(way, found, figures[Way(way.workers, True)], num_bytes)
    for way, found in figures.items()
  ]
  return [
    ['processes that work', *(str(way.workers) for way in figures)],
    *([title, *(c[title] for c in columns)] for title in columns[0]),
  ]


def _cells(
  way: Way, found: Figures, yardstick: Figures, num_bytes: int
) -> dict[str, str]:
  """Returns a column of the table by the titles of its rows."""
  megabytes = num_bytes / 1e6
  peak_bytes = max(r.peak_bytes for r in found.results)
  return {
    'pipeline': way.title,
    'clients': f'{found.results[0].clients:,}',
    'examples': f'{found.results[0].examples:,}',
    'seconds': f'{found.seconds:.1f}',
    'of these, to start': f'{found.start_seconds:.1f}',
    'MB a second': _quotient(megabytes, found.seconds),
    'MB a second without the start': _quotient(megabytes, found.net_seconds),
    'time by that of GroupByKey': _quotient(found.seconds, yardstick.seconds),
    'the same without the start': _quotient(
      found.net_seconds, yardstick.net_seconds
    ),
    'peak memory, MB': f'{peak_bytes / 1e6:,.0f}',
  }


def _quotient(a: float, b: float) -> str:
  return f'{a / b:.2f}' if b else ''
