# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedFish's figure 3: a metric as training goes on, at fixed compute.

All settings of a task make the same number of local epochs altogether: those
with more of them a round make fewer rounds (arXiv 2311.10291, section 5).
"""

from collections.abc import Sequence
import math

from launch.plots import curves
from launch.plots import panels
from launch.plots import paper_style
from launch.plots import style
from launch.results import settings as settings_lib

# More lines than these have a panel for each number of local epochs.
_MAX_LINES = 6
# One linear axis for rounds that differ by more squeezes the short runs.
_ROUNDS_RATIO = 4
_AGAINST = {
  'round': 'rounds',
  'local_steps': (
    'local gradient steps of all clients together, the Fisher pass included'
  ),
  'bytes': 'bytes sent between the server and all clients together',
  'payload_bytes': 'bytes of the weights that clients have chosen and sent',
}


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
    s: found
    for s in settings
    if (found := curves.read_points(s.runs, metric, x)) is not None
  }
  if not points:
    return None
  tasks = settings_lib.unique(s.task for s in points)
  methods = settings_lib.unique(s.method for s in points)
  epochs = sorted({s.local_epochs for s in points})
  looks = style.series_looks(methods)
  most = max(sum(s.task == task for s in points) for task in tasks)
  split = most > _MAX_LINES and len(epochs) > 1
  epoch_lines = paper_style.epoch_lines(epochs)
  shows_epochs = not split and len(epochs) > 1
  cells = [(t, number) for t in tasks for number in (epochs if split else [0])]
  figure, axes = panels.new_grid(
    cells,
    (panels.PAPER_COLUMN, 2.0),
    columns=len(epochs) if split else 3,
    widths=panels.PAPER,
  )
  firsts = {}
  for (task, number), axis in zip(cells, axes):
    # At equal compute the panels of a task end at equal steps.
    first = firsts.setdefault(task, axis)
    if first is not axis:
      axis.sharey(first)
      if x != 'round':
        axis.sharex(first)
    lines = [
      curves.Line(
        *found,
        looks[s.method]
        | ({} if split else {'linestyle': epoch_lines[s.local_epochs]}),
        shift=methods.index(s.method) / len(methods),
      )
      for s, found in points.items()
      if s.task == task and number in (0, s.local_epochs)
    ]
    ratio = _ROUNDS_RATIO if x == 'round' else math.inf
    x_label = curves.draw_lines(axis, lines, x, ratio)
    title = [task] if len(tasks) > 1 else []
    if number:
      title.append(paper_style.name_epochs(number))
    panels.set_labels(
      axis, x_label, style.metric_title(metric), ', '.join(title)
    )
  panels.draw_legend(
    figure,
    paper_style.method_entries(methods, solid=shows_epochs),
    *([paper_style.epoch_entries(epoch_lines)] if shows_epochs else []),
  )
  totals = {s.task: s.total_epochs for s in points}
  seeds = paper_style.seeds_phrase([len(ys) for _, ys in points.values()])
  caption = (
    f'{style.describe_metric(metric)}, against {_AGAINST[x]}, at fixed '
    'compute: rounds times local epochs are '
    f'{paper_style.per_task(totals)}. Lines: means over {seeds}; bands: lowest '
    'to highest seed.'
  )
  return paper_style.Drawing(figure, caption)
