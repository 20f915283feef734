# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A metric against rounds, local steps or bytes, one line a method.

At fixed compute these are FedFish's figure 3 (arXiv 2311.10291, section 5): all
settings of a task make the same number of local epochs altogether, and those
with more of them a round make fewer rounds.
"""

from collections.abc import Mapping
from collections.abc import Sequence
import math

from launch.plots import panels
from launch.plots import paper_style
from launch.plots import request as request_lib
from launch.plots import style
from launch.results import run_notes
from launch.results import run_reader
from launch.results import settings as settings_lib

from matplotlib import figure as mpl_figure
import numpy as np

# Bytes, and a paper's rounds, that differ by more are on a logarithmic axis.
BYTES_RATIO = 50
_ROUNDS_RATIO = 4
_UNITS = {'local_steps': '', 'bytes': 'B', 'payload_bytes': 'B'}
_AGAINST = {
  'round': 'rounds',
  'local_steps': (
    'local gradient steps of all clients together, the Fisher pass included'
  ),
  'bytes': 'bytes sent between the server and all clients together',
  'payload_bytes': 'bytes of the updates as all clients together have sent them',
  'simulated_seconds': "the rounds' simulated time in seconds",
}
# What adds up over clients; rounds and time pass for all of them at once.
_OF_ALL_CLIENTS = ('local_steps', 'bytes', 'payload_bytes')
# More lines than these have a panel for each number of local epochs.
_MAX_LINES = 6

_Points = tuple[np.ndarray, np.ndarray]


def draw(request: request_lib.Request) -> request_lib.Figures:
  """The metric against each of `x_axes` that the runs have.

  Lines are means over seeds, with their range.
  """
  figures = {}
  for x in request.x_axes:
    lines = {
      label: points
      for label, runs in request.groups.items()
      if (points := _read_points(runs, request.metric, x))
    }
    if lines:
      name = request_lib.slug(f'{request.metric}_by_{x}')
      figures[name] = _plot(request, lines, x)
  return figures


def draw_others(request: request_lib.Request) -> request_lib.Figures:
  """What else a run has measured, against rounds."""
  figures = {}
  for prefix in ('train/loss', 'eval/personalized/', 'eval/unseen/', 'csb/'):
    column = prefix + request.name if prefix.endswith('/') else prefix
    figures |= draw(request._replace(metric=column, x_axes=['round']))
  return figures


def _read_points(
  runs: Sequence[run_reader.Run], metric: str, x: str
) -> _Points | None:
  """Returns x, a mean over seeds, and y `[seeds, rounds]` at common rounds."""
  series = [run.series(request_lib.X_AXES[x][0], metric) for run in runs]
  series = [s for s in series if len(s[0])]
  if not series:
    return None
  _, xs, ys = run_reader.align(series)
  # Seeds draw different clients, so a round has not the same steps in each.
  return np.mean(xs, axis=0), ys


@style.styled
def _plot(
  request: request_lib.Request, lines: Mapping[str, _Points], x: str
) -> mpl_figure.Figure:
  figure, (axis,) = panels.new_grid([x], (7, 4.2))
  panels.draw_lines(
    axis,
    lines,
    style.series_looks(list(request.groups)),
    unit=_UNITS.get(x),
    log_ratio=BYTES_RATIO if _UNITS.get(x) else math.inf,
    spread='seeds' if request.show_seeds else 'band',
  )
  x_label = request_lib.X_AXES[x][1]
  if x in _OF_ALL_CLIENTS:
    x_label += ', all clients, cumulative'
  y_label = style.metric_title(request.metric)
  title = request.title(style.describe_metric(request.metric))
  panels.set_labels(axis, x_label, y_label, title)
  spread = 'bands from the lowest to the highest'
  if request.show_seeds:
    spread = 'a thin line for each'
  note = request.note(f'lines are their means, {spread}', request.metric)
  panels.draw_legend(figure, axis.get_legend_handles_labels()[0], note=note)
  return figure


@style.styled_for_paper
def plot_fixed_compute(
  settings: Sequence[settings_lib.Setting], metric: str, *, x: str = 'round'
) -> paper_style.Drawing | None:
  """Plots a line a method and number of local epochs, a panel a task.

  Where lines are many, each task has a row of panels, one for each number of
  local epochs.

  Args:
    settings: As `settings.fixed_compute` returns them.
    metric: A column of metrics.csv.
    x: One of `request.X_AXES`.

  Returns:
    The figure and its caption; None where no setting has both columns.
  """
  points = {
    s: found for s in settings if (found := _read_points(s.runs, metric, x))
  }
  if not points:
    return None
  tasks = settings_lib.unique(s.task for s in points)
  epochs = sorted({s.local_epochs for s in points})
  most = max(sum(s.task == task for s in points) for task in tasks)
  split = most > _MAX_LINES and len(epochs) > 1
  looks, entries = paper_style.series_looks(points, by_epochs=not split)
  cells = [(t, number) for t in tasks for number in (epochs if split else [0])]
  figure, axes = panels.new_grid(
    cells, (panels.PAPER_COLUMN, 2.0), columns=len(epochs) if split else 3
  )
  firsts = {}
  for (task, number), axis in zip(cells, axes):
    # At equal compute the panels of a task end at equal steps.
    first = firsts.setdefault(task, axis)
    if first is not axis:
      axis.sharey(first)
      if x != 'round':
        axis.sharex(first)
    lines = {
      s: found
      for s, found in points.items()
      if s.task == task and number in (0, s.local_epochs)
    }
    logarithmic = panels.draw_lines(
      axis,
      lines,
      looks,
      unit=_UNITS.get(x),
      log_ratio=_ROUNDS_RATIO if x == 'round' else math.inf,
    )
    titles = [task] if len(tasks) > 1 else []
    if number:
      titles.append(paper_style.name_epochs(number))
    x_label = request_lib.X_AXES[x][1] + ' (logarithmic)' * bool(logarithmic)
    y_label = style.metric_title(metric)
    panels.set_labels(axis, x_label, y_label, ', '.join(titles))
  panels.draw_legend(figure, *entries)
  totals = {s.task: s.total_epochs for s in points}
  total = ', '.join(f'{n} ({task})' for task, n in totals.items())
  seeds = run_notes.count_seeds(len(ys) for _, ys in points.values())
  caption = (
    f'{style.describe_metric(metric)}, against {_AGAINST[x]}, at fixed '
    f'compute: rounds times local epochs are {total}. Lines: means over '
    f'{seeds}; bands: lowest to highest seed.'
  )
  notes = [run_notes.tell_clients(run for s in points for run in s.runs)]
  for task, number in settings_lib.unique(
    (s.task, s.local_epochs) for s in points
  ):
    groups = {
      f'{s.method} ({task}, {paper_style.name_epochs(number)})': s.runs
      for s in points
      if (s.task, s.local_epochs) == (task, number)
    }
    ends = run_notes.last_rounds(groups, metric)
    notes.append(run_notes.tell_lengths(ends))
  return paper_style.Drawing(figure, f'{caption} {run_notes.join(notes)}')
