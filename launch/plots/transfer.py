# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedFish's figure 5: scores on other corpora by share of a client's data.

Zero-shot, few-shot and personalised scores, always on the same unseen half of
each held-out client, of the model half-way and of the last one (arXiv
2311.10291, section 5).
"""

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import NamedTuple

from launch.plots import paper_style
from launch.plots import style
from launch.results import run_reader
from launch.results import settings as settings_lib
from launch.results import transfer_reader

from matplotlib import axes as mpl_axes
from matplotlib import figure as mpl_figure
from matplotlib import lines as mpl_lines
import numpy as np

_PANEL_HEIGHT = 1.9
_WORKDIR_PANEL = (3.2, 3.4)  # Inches.
# The lines of a panel are shifted so that their bars do not hide each other.
_SHIFT = 1.6  # Per cent of a client's data.
_ROUND_LINES = {
  transfer_reader.HALF: ((0, (4, 1.2)), 'white'),
  transfer_reader.LAST: ('-', None),
}

Scores = Mapping[int, float]  # By seed.


class _Line(NamedTuple):
  """A line of a panel.

  Attributes:
    setting: What it is of.
    points: By percent, the scores of the seeds.
  """

  setting: settings_lib.Setting
  points: Mapping[int, Scores]


def read_line(
  runs: Sequence[run_reader.Run],
  *,
  target: str,
  at: str,
  metric: str,
  field: str = 'mean',
) -> dict[int, dict[int, float]]:
  """Returns finite scores by percent and seed.

  Args:
    runs: Runs that differ by their seed.
    target: The target.
    at: `transfer_reader.HALF` or `transfer_reader.LAST`.
    metric: The metric.
    field: Of `transfer_reader.Score`: mean (over clients) or all_tokens.
  """
  points = {}
  for run in runs:
    for score in run.transfer:
      if (score.target, score.metric) != (target, metric):
        continue
      if transfer_reader.name_round(run.config['rounds'], score.round) != at:
        continue
      value = getattr(score, field)
      if np.isfinite(value):
        points.setdefault(score.percent, {})[run.seed] = value
  return points


@paper_style.styled
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
  panels = _read_panels(settings, metric)
  if not panels:
    return None
  targets = settings_lib.unique(target for _, _, target in panels)
  rows = settings_lib.unique((task, at) for task, at, _ in panels)
  shown = settings_lib.unique(
    line.setting for lines in panels.values() for line in lines
  )
  methods = settings_lib.unique(s.method for s in shown)
  tasks = settings_lib.unique(s.task for s in shown)
  looks = style.series_styles(methods)
  epoch_lines = paper_style.epoch_lines([s.local_epochs for s in shown])
  figure, places = paper_style.new_grid(
    len(rows) * len(targets), _PANEL_HEIGHT, len(targets)
  )
  percents = sorted(
    {p for lines in panels.values() for line in lines for p in line.points}
  )
  for i, place in enumerate(places):
    (task, at), target = rows[i // len(targets)], targets[i % len(targets)]
    lines = panels.get((task, at, target))
    if lines is None:
      continue
    axis = figure.add_subplot(place)
    title = f'{task} to {target}' if len(tasks) > 1 else target
    paper_style.set_up_axis(axis, f'{title}, round {at}')
    for number, line in enumerate(lines):
      look = looks[line.setting.method]
      _draw_line(
        axis,
        line.points,
        _shift(number, len(lines)),
        look._replace(linestyle=epoch_lines[line.setting.local_epochs]),
      )
    _set_x_axis(axis, percents)
    if i % len(targets) == 0:
      axis.set_ylabel(style.metric_title(metric))
  several = len(epoch_lines) > 1
  paper_style.draw_legend(
    figure,
    paper_style.method_handles(methods, looks, lines=False),
    paper_style.epoch_handles(epoch_lines) if several else [],
  )
  return paper_style.Drawing(figure, _caption(panels, settings, metric))


def _read_panels(
  settings: Sequence[settings_lib.Setting], metric: str
) -> dict[tuple[str, str, str], list[_Line]]:
  """Returns the lines of each panel, by task, round and target."""
  targets = settings_lib.unique(
    score.target for s in settings for run in s.runs for score in run.transfer
  )
  panels = {}
  for task in settings_lib.unique(s.task for s in settings):
    for at in (transfer_reader.HALF, transfer_reader.LAST):
      for target in targets:
        lines = [
          _Line(s, points)
          for s in settings
          if s.task == task
          and (points := read_line(s.runs, target=target, at=at, metric=metric))
        ]
        if lines:
          panels[task, at, target] = lines
  return panels


def _shift(number: int, count: int) -> float:
  return _SHIFT * (number - (count - 1) / 2)


def _draw_line(
  axis: mpl_axes.Axes,
  points: Mapping[int, Scores],
  shift: float,
  look: style.SeriesStyle,
) -> None:
  percents = sorted(points)
  values = [np.array(list(points[p].values())) for p in percents]
  axis.errorbar(
    np.array(percents) + shift,
    [v.mean() for v in values],
    yerr=[v.std(ddof=1) if len(v) > 1 else 0.0 for v in values],
    color=look.color,
    linestyle=look.linestyle,
    marker=look.marker,
    markeredgecolor='white',
    markeredgewidth=0.5,
    elinewidth=0.8,
    capsize=1.5,
  )


def _set_x_axis(axis: mpl_axes.Axes, percents: Sequence[int]) -> None:
  axis.set_xticks(percents, [f'{p} %' for p in percents])
  axis.set_xlabel("Share of a client's data")
  axis.grid(False, axis='x')


def _caption(
  panels: Mapping[tuple[str, str, str], Sequence[_Line]],
  settings: Sequence[settings_lib.Setting],
  metric: str,
) -> str:
  lines = [line for of_panel in panels.values() for line in of_panel]
  counts = [
    len(scores) for line in lines for scores in line.points.values() if scores
  ]
  caption = (
    f'{style.metric_title(metric)} on held-out clients after fine-tuning on a '
    'share of the data of each, always on the same unseen half; clients of '
    'fewer than 4 examples are left out. R is the last round, R/2 the round '
    'half-way. Points: means over clients, then over '
    f'{paper_style.seeds_phrase(counts)}; bars: one standard deviation over '
    'seeds.'
  )
  for (task, target), clients in _count_clients(panels).items():
    caption += f' {task} to {target}: {clients}.'
  without = [
    str(run.workdir) for s in settings for run in s.runs if not run.transfer
  ]
  if without:
    caption += f' Without {transfer_reader.TRANSFER_CSV}: {", ".join(without)}.'
  return caption


def _count_clients(
  panels: Mapping[tuple[str, str, str], Sequence[_Line]],
) -> dict[tuple[str, str], str]:
  """Returns '31 clients (4 too small)' by task and target."""
  counts = {}
  for (task, _, target), lines in panels.items():
    counts.setdefault((task, target), set()).update(
      (score.num_clients, score.num_too_small)
      for line in lines
      for run in line.setting.runs
      for score in run.transfer
      if score.target == target
    )
  return {
    key: '{} clients ({} too small)'.format(*map(_range, zip(*found)))
    for key, found in counts.items()
  }


def _range(numbers: Sequence[int]) -> str:
  low, high = min(numbers), max(numbers)
  return str(low) if low == high else f'{low} to {high}'


def plot_workdir_transfer(
  scores: Sequence[transfer_reader.Score], *, rounds: int, task: str
) -> dict[str, mpl_figure.Figure]:
  """Returns figures of one run by name: a panel a target, a line a round.

  Args:
    scores: Of the run.
    rounds: That the run is to have.
    task: The task that the model was trained on.
  """
  metrics = settings_lib.unique(
    s.metric for s in scores if s.metric not in transfer_reader.COUNTS
  )
  return {
    f'transfer_{metric}': _plot_workdir(scores, metric, rounds, task)
    for metric in metrics
  }


@style.styled
def _plot_workdir(
  scores: Sequence[transfer_reader.Score], metric: str, rounds: int, task: str
) -> mpl_figure.Figure:
  scores = [s for s in scores if s.metric == metric]
  targets = settings_lib.unique(s.target for s in scores)
  numbers = sorted({s.round for s in scores})
  width, height = _WORKDIR_PANEL
  figure = style.new_figure(max(4.8, width * len(targets)), height)
  (look,) = style.series_styles([task]).values()
  for i, target in enumerate(targets):
    axis = figure.add_subplot(1, len(targets), i + 1)
    for j, number in enumerate(numbers):
      of_line = [s for s in scores if (s.target, s.round) == (target, number)]
      _draw_interval_line(axis, of_line, _shift(j, len(numbers)), look, rounds)
    axis.set_title(target)
    one = next(s for s in scores if s.target == target)
    style.write_subtitle(
      axis, f'{one.num_clients} clients, {one.num_too_small} too small'
    )
    _set_x_axis(axis, sorted({s.percent for s in scores}))
    if not i:
      axis.set_ylabel(f'{style.metric_title(metric)} on the unseen half')
  figure.legend(
    handles=[
      mpl_lines.Line2D(
        [],
        [],
        label=f'round {number}',
        color=look.color,
        marker=look.marker,
        **_line_of_round(number, rounds),
      )
      for number in numbers
    ],
    loc='outside lower center',
    ncols=len(numbers),
  )
  style.set_figure_title(
    figure,
    f'Transfer from {task}: mean over held-out clients, 95 % intervals',
  )
  return figure


def _line_of_round(number: int, rounds: int) -> dict[str, Any]:
  at = transfer_reader.HALF if number == rounds // 2 else transfer_reader.LAST
  linestyle, fill = _ROUND_LINES[at]
  look = {'linestyle': linestyle}
  return look | ({'markerfacecolor': fill} if fill else {})


def _draw_interval_line(
  axis: mpl_axes.Axes,
  scores: Sequence[transfer_reader.Score],
  shift: float,
  look: style.SeriesStyle,
  rounds: int,
) -> None:
  scores = sorted(
    (s for s in scores if np.isfinite(s.mean)), key=lambda s: s.percent
  )
  if not scores:
    return
  means = np.array([s.mean for s in scores])
  # One client has no interval.
  below, above = (
    np.nan_to_num(np.maximum(0, np.array(ends)))
    for ends in (
      [s.mean - s.low for s in scores],
      [s.high - s.mean for s in scores],
    )
  )
  axis.errorbar(
    np.array([s.percent for s in scores]) + shift,
    means,
    yerr=[below, above],
    color=look.color,
    marker=look.marker,
    capsize=2,
    elinewidth=1,
    **_line_of_round(scores[0].round, rounds),
  )
