# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What the layouts for a paper share: looks of local epochs, and captions."""

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import NamedTuple

from launch.plots import panels
from launch.plots import style
from launch.results import method_labels
from launch.results import settings as settings_lib

from matplotlib import figure as mpl_figure
from matplotlib import lines as mpl_lines

# From many local epochs to few.
_EPOCH_LINES = ('-', (0, (4, 1.2)), (0, (1, 1)), (0, (5, 1.2, 1, 1.2)))
_EPOCH_MARKERS = ('o', 's', '^', 'D', 'v', 'P', 'X', '*')


class Drawing(NamedTuple):
  """A figure without a title, and the caption that says what it shows."""

  figure: mpl_figure.Figure
  caption: str


def epoch_lines(epochs: Iterable[int]) -> dict[int, Any]:
  """Returns a line style for each number of local epochs, the most one solid."""
  ordered = sorted(set(epochs), reverse=True)
  lines = {n: _EPOCH_LINES[i % 4] for i, n in enumerate(ordered)}
  return dict(sorted(lines.items()))


def epoch_markers(epochs: Iterable[int]) -> dict[int, str]:
  """Returns a marker for each number of local epochs."""
  ordered = sorted(set(epochs))
  return {n: _EPOCH_MARKERS[i % 8] for i, n in enumerate(ordered)}


def method_entries(
  methods: Sequence[str], *, solid: bool = False, points: bool = False
) -> list[mpl_lines.Line2D]:
  """Returns a legend's entries for methods.

  Args:
    methods: The methods.
    solid: Whether lines are solid, since their styles mean something else.
    points: Whether to show the markers alone.
  """
  line = {'linestyle': '-'} if solid else {}
  line = {'linestyle': 'none'} if points else line
  return [
    panels.entry(method, **look | line)
    for method, look in style.series_looks(methods).items()
  ]


def epoch_entries(lines: Mapping[int, Any]) -> list[mpl_lines.Line2D]:
  """Returns a legend's entries for the line styles of local epochs."""
  return [
    panels.entry(name_epochs(number), color=style.INK, linestyle=line)
    for number, line in lines.items()
  ]


def name_epochs(number: int) -> str:
  """Returns '1 local epoch', '8 local epochs'."""
  return method_labels.count(number, 'local epoch')


def find_counterpart(
  setting: settings_lib.Setting,
  settings: Iterable[settings_lib.Setting],
  method: str | None,
) -> settings_lib.Setting | None:
  """Returns the setting of a method with equal local epochs and rounds."""
  sought = method, setting.local_epochs, setting.rounds
  for other in settings:
    if (other.method, other.local_epochs, other.rounds) == sought:
      return other
  return None


def span(numbers: Iterable[int]) -> str:
  """Returns '3', or '2 to 3' where numbers differ."""
  low, *_, high = sorted(numbers) * 2
  return str(low) if low == high else f'{low} to {high}'


def count_seeds(counts: Iterable[int]) -> str:
  """Returns '3 seeds', or '2 to 3 seeds' where settings have not as many."""
  return method_labels.count(span(counts), 'seed')
