# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedFish's figure 5: scores on other corpora by share of a client's data.

Zero-shot, few-shot and personalised scores, always on the same unseen half of
each held-out client, of the model half-way and of the last one (arXiv
2311.10291, section 5).
"""

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import itertools

from launch.plots import panels
from launch.plots import paper_style
from launch.plots import style
from launch.results import run_notes
from launch.results import settings as settings_lib
from launch.results import transfer_reader
from launch.results import transfer_table

from matplotlib import axes as mpl_axes
from matplotlib import figure as mpl_figure
import numpy as np

# The lines of a panel are shifted so that their bars do not hide each other.
_SHIFT = 1.6  # Per cent of a client's data.


# A setting and, by percent, the scores of its seeds.
_Line = tuple[settings_lib.Setting, Mapping[int, Mapping[int, float]]]
_Panels = dict[tuple[str, str, str], list[_Line]]  # By task, round and target.


@style.styled_for_paper
def plot_transfer(
  settings: Sequence[settings_lib.Setting], metric: str
) -> paper_style.Drawing | None:
  """Plots a column of panels a target, a row for each of R/2 and R.

  Methods differ by colour and marker, local epochs by line style.

  Args:
    settings: As `settings.read_settings` returns them.
    metric: A metric of the model, for example `'accuracy'`.

  Returns:
    The figure and its caption; None where no run has been scored.
  """
  shown = _read_panels(settings, metric)
  if not shown:
    return None
  targets = settings_lib.unique(target for _, _, target in shown)
  rows = settings_lib.unique((task, at) for task, at, _ in shown)
  tasks = settings_lib.unique(task for task, _ in rows)
  looks, entries = paper_style.series_looks(
    settings_lib.unique(s for lines in shown.values() for s, _ in lines)
  )
  keys = [(*row, target) for row in rows for target in targets]
  cells = [key if key in shown else None for key in keys]
  percents = {
    percent for lines in shown.values() for _, of in lines for percent in of
  }
  figure, axes = panels.new_grid(
    cells, (panels.PAPER_COLUMN, 1.9), columns=len(targets)
  )
  for axis, (task, at, target) in zip(axes, filter(None, cells)):
    lines = shown[task, at, target]
    for number, (s, of_seeds) in enumerate(lines):
      points = []
      for percent in sorted(of_seeds):
        values = np.array(list(of_seeds[percent].values()))
        mean = values.mean()
        spread = values.std(ddof=1) if len(values) > 1 else 0.0
        points.append((percent, mean, mean - spread, mean + spread))
      _draw_line(axis, points, number - (len(lines) - 1) / 2, looks[s])
    title = f'{task} to {target}' if len(tasks) > 1 else target
    y_label = style.metric_title(metric)
    _set_labels(axis, percents, y_label, f'{title}, round {at}')
  panels.draw_legend(figure, *entries)
  return paper_style.Drawing(figure, _caption(shown, settings, metric))


def _read_panels(
  settings: Sequence[settings_lib.Setting], metric: str
) -> _Panels:
  """Returns the lines of each panel that has any."""
  targets = settings_lib.unique(
    score.target for s in settings for run in s.runs for score in run.transfer
  )
  tasks = settings_lib.unique(s.task for s in settings)
  shown = {}
  for task, at, target in itertools.product(
    tasks, (transfer_reader.HALF, transfer_reader.LAST), targets
  ):
    for s in settings:
      points = transfer_table.read_line(
        s.runs, target=target, at=at, metric=metric
      )
      if s.task == task and points:
        shown.setdefault((task, at, target), []).append((s, points))
  return shown


def _draw_line(
  axis: mpl_axes.Axes,
  points: Sequence[tuple[int, float, float, float]],
  position: float,
  look: style.Look,
) -> None:
  """Draws (percent, mean, low, high), beside the other lines of the panel."""
  percents, means, lows, highs = np.array(points, np.float64).T
  axis.errorbar(
    percents + _SHIFT * position,
    means,
    # Few clients have no interval, and no bar.
    yerr=np.maximum(0, [means - lows, highs - means]),
    elinewidth=0.8,
    capsize=1.5,
    **look,
  )


def _set_labels(
  axis: mpl_axes.Axes, percents: Iterable[int], *texts: str
) -> None:
  """Sets an axis up, with its label of y, title and subtitle."""
  percents = sorted(set(percents))
  axis.set_xticks(percents, [f'{p} %' for p in percents])
  axis.grid(False, axis='x')
  panels.set_labels(axis, "Share of a client's data", *texts)


def _caption(
  shown: _Panels, settings: Sequence[settings_lib.Setting], metric: str
) -> str:
  counts = [
    len(scores)
    for lines in shown.values()
    for _, points in lines
    for scores in points.values()
    if scores
  ]
  caption = (
    f'{style.metric_title(metric)} on held-out clients after fine-tuning on a '
    'share of the data of each, always on the same unseen half; clients of '
    'fewer than 4 examples are left out. R is the last round, R/2 the round '
    'half-way. Points: means over clients, then over '
    f'{run_notes.count_seeds(counts)}; bars: one standard deviation over '
    'seeds.'
  )
  clients: dict[str, set[tuple[int, int]]] = {}
  for (task, _, target), lines in shown.items():
    clients.setdefault(f'{task} to {target}', set()).update(
      (score.num_clients, score.num_too_small)
      for s, _ in lines
      for run in s.runs
      for score in run.transfer
      if score.target == target
    )
  for name, found in clients.items():
    numbers, too_small = map(run_notes.span, zip(*found))
    caption += f' {name}: {numbers} clients ({too_small} too small).'
  without = [
    str(run.workdir) for s in settings for run in s.runs if not run.transfer
  ]
  if without:
    caption += f' Without {transfer_reader.TRANSFER_CSV}: {", ".join(without)}.'
  return caption


@style.styled
def plot_workdir_transfer(
  scores: Sequence[transfer_reader.Score], *, rounds: int, task: str
) -> dict[str, mpl_figure.Figure]:
  """Returns figures of one run by name: a panel a target, a line a round.

  Args:
    scores: Of the run.
    rounds: That the run is to have.
    task: The task that the model was trained on.
  """
  figures = {}
  for metric in settings_lib.unique(s.metric for s in scores):
    if metric not in transfer_reader.COUNTS:
      of_metric = [s for s in scores if s.metric == metric]
      figure = _plot_workdir(of_metric, rounds)
      title = f'Transfer from {task}: mean over held-out clients'
      if any(np.isfinite(s.low) for s in of_metric):
        title += ', 95 % intervals'
      panels.set_figure_title(figure, title)
      figures[f'transfer_{metric}'] = figure
  return figures


def _plot_workdir(
  scores: Sequence[transfer_reader.Score], rounds: int
) -> mpl_figure.Figure:
  targets = settings_lib.unique(s.target for s in scores)
  numbers = sorted({s.round for s in scores})
  look = style.series_looks([''])['']
  look['markeredgecolor'] = look['color']
  half = look | {'linestyle': (0, (4, 1.2)), 'markerfacecolor': 'white'}
  looks = {n: half if n == rounds // 2 else look for n in numbers}
  figure, axes = panels.new_grid(targets, (3.2, 3.4), columns=len(targets))
  for axis, target in zip(axes, targets):
    of_target = sorted(s for s in scores if s.target == target)
    for i, number in enumerate(numbers):
      points = [
        (s.percent, s.mean, s.low, s.high)
        for s in of_target
        if s.round == number and np.isfinite(s.mean)
      ]
      if points:
        _draw_line(axis, points, i - (len(numbers) - 1) / 2, looks[number])
    one = of_target[0]
    _set_labels(
      axis,
      [s.percent for s in scores],
      f'{style.metric_title(one.metric)} on the unseen half',
      target,
      f'{one.num_clients} clients, {one.num_too_small} too small',
    )
  entries = [panels.entry(f'round {n}', **looks[n]) for n in numbers]
  panels.draw_legend(figure, entries)
  return figure
