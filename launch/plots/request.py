# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What is to be drawn."""

from collections.abc import Sequence
import hashlib
import re
from typing import NamedTuple

from launch.results import method_comparison
from launch.results import run_notes
from launch.results import run_reader

from matplotlib import figure as mpl_figure

# For each kind of x axis: the column of metrics.csv and the axis' label.
X_AXES = {
  'round': ('round', 'Round'),
  'local_steps': ('compute/local_steps_total', 'Local gradient steps'),
  'bytes': ('communication/wire_bytes_total', 'Communication'),
  'payload_bytes': ('communication/payload_bytes_total', 'Updates as sent'),
  'simulated_seconds': ('simulated/seconds', 'Simulated time in seconds'),
}
# File systems take 255 bytes, of which a temporary name adds some.
_MAX_SLUG = 80

# By the names of their files, without a suffix.
Figures = dict[str, mpl_figure.Figure]


class Request(NamedTuple):
  """What is to be drawn.

  Attributes:
    groups: Runs by label, as `run_reader.group_runs` returns them.
    metric: A column of metrics.csv.
    x_axes: What curves are drawn against, of `X_AXES`.
    show_seeds: Whether curves have a line a seed in place of a band.
  """

  groups: method_comparison.Groups
  metric: str
  x_axes: Sequence[str] = tuple(X_AXES)
  show_seeds: bool = False

  @property
  def name(self) -> str:
    """The metric's name without what it is measured on."""
    return self.metric.rpartition('/')[2]

  @property
  def runs(self) -> list[run_reader.Run]:
    """The runs of all groups."""
    return [run for runs in self.groups.values() for run in runs]

  def note(self, pooling: str, metric: str | None = None) -> str:
    """Returns what `run_notes.describe` tells of the runs."""
    return run_notes.describe(self.groups, pooling, metric)

  def title(self, text: str) -> str:
    """Returns a title with the task's name, where there is one task only."""
    tasks = {run.task for run in self.runs}
    return f'{text} ({tasks.pop()})' if len(tasks) == 1 else text


def slug(text: str) -> str:
  """Returns a file's name for a text, unique even where it is cut short."""
  name = re.sub(r'[^a-z0-9.]+', '_', text.lower()).strip('_.')
  if len(name) <= _MAX_SLUG:
    return name
  digest = hashlib.sha256(text.encode()).hexdigest()[:8]
  return f'{name[:_MAX_SLUG]}_{digest}'
