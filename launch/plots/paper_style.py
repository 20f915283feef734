# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Looks of local epochs and captions for the layouts of papers."""

from collections.abc import Iterable
import itertools
from typing import NamedTuple

from launch.plots import panels
from launch.plots import style
from launch.results import method_labels
from launch.results import settings as settings_lib

from matplotlib import figure as mpl_figure
from matplotlib import lines as mpl_lines

# The line styles from many local epochs to few.
_EPOCH_LINES = ('-', (0, (4, 1.2)), (0, (1, 1)), (0, (5, 1.2, 1, 1.2)))
_EPOCH_MARKERS = ('o', 's', '^', 'D', 'v', 'P', 'X', '*')


class Drawing(NamedTuple):
  """A figure without a title, and the caption that describes it."""

  figure: mpl_figure.Figure
  caption: str


def series_looks(
  settings: Iterable[settings_lib.Setting], *, by_epochs: bool = True
) -> tuple[
  dict[settings_lib.Setting, style.Look], list[list[mpl_lines.Line2D]]
]:
  """Returns the looks of settings and the groups of their legend's entries.

  Args:
    settings: The settings; methods differ in their look.
    by_epochs: Whether line styles differ by local epochs, the most being solid.
  """
  settings = list(settings)
  looks = style.method_looks(s.method for s in settings)
  epochs = sorted({s.local_epochs for s in settings}, reverse=True)
  if not by_epochs or len(epochs) < 2:
    entries = [panels.entry(m, **look) for m, look in looks.items()]
    return {s: looks[s.method] for s in settings}, [entries]
  lines = dict(zip(epochs, itertools.cycle(_EPOCH_LINES)))
  of_settings = {
    s: looks[s.method] | {'linestyle': lines[s.local_epochs]} for s in settings
  }
  solid = {'linestyle': '-'}
  return of_settings, [
    [panels.entry(m, **look | solid) for m, look in looks.items()],
    [
      panels.entry(name_epochs(n), color=style.INK, linestyle=lines[n])
      for n in reversed(epochs)
    ],
  ]


def epoch_markers(epochs: Iterable[int]) -> dict[int, str]:
  """Returns a marker for each number of local epochs."""
  return dict(zip(sorted(set(epochs)), itertools.cycle(_EPOCH_MARKERS)))


def name_epochs(number: int) -> str:
  """Returns '1 local epoch' or, for example, '8 local epochs'."""
  return method_labels.count(number, 'local epoch')
