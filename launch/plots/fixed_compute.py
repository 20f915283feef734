# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedFish's figure 3: a metric as training goes on, at fixed compute.

All settings of a task make the same number of local epochs altogether: those
with more of them a round make fewer rounds (arXiv 2311.10291, section 5).
"""

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence

from launch.plots import curves
from launch.plots import paper_style
from launch.plots import style
from launch.results import method_labels
from launch.results import settings as settings_lib

from matplotlib import axes as mpl_axes
from matplotlib import ticker
import numpy as np

# More lines than these have a panel for each number of local epochs.
_MAX_LINES = 6
_PANEL_HEIGHT = 2.0
_MARKERS = 6
# One linear axis for rounds that differ by more squeezes the short runs.
_LARGEST_RATIO = 4


@paper_style.styled
def plot_fixed_compute(
  settings: Sequence[settings_lib.Setting], metric: str, *, x: str = 'round'
) -> paper_style.Drawing | None:
  """Plots a line a method and number of local epochs, a panel a task.

  Where lines are many, each task has a row of panels, one for each number of
  local epochs.

  Args:
    settings: As `settings.fixed_compute` returns them.
    metric: A column of metrics.csv.
    x: One of `curves.X_AXES`.

  Returns:
    The figure and its caption; None where no setting has both columns.
  """
  lines = {
    s: line for s in settings if (line := _read_line(s, metric, x)) is not None
  }
  if not lines:
    return None
  tasks = settings_lib.unique(s.task for s in lines)
  methods = settings_lib.unique(s.method for s in lines)
  epochs = sorted({s.local_epochs for s in lines})
  looks = style.series_styles(methods)
  most = max(sum(s.task == task for s in lines) for task in tasks)
  split = most > _MAX_LINES and len(epochs) > 1
  epoch_lines = paper_style.epoch_lines(epochs)
  panels = [
    (task, number) for task in tasks for number in (epochs if split else [None])
  ]
  columns = len(epochs) if split else None
  figure, places = paper_style.new_grid(len(panels), _PANEL_HEIGHT, columns)
  first_of_task = {}
  for i, ((task, number), place) in enumerate(zip(panels, places)):
    first = first_of_task.get(task)
    # At equal compute the panels of a task end at equal steps.
    axis = figure.add_subplot(
      place, sharey=first, sharex=None if x == 'round' else first
    )
    first_of_task.setdefault(task, axis)
    parts = [task] if len(tasks) > 1 else []
    if number is not None:
      parts.append(method_labels.count(number, 'local epoch'))
    paper_style.set_up_axis(axis, ', '.join(parts))
    shown = {
      s: line
      for s, line in lines.items()
      if s.task == task and number in (None, s.local_epochs)
    }
    logarithmic = x == 'round' and _differ_much(shown.values())
    for s, line in shown.items():
      look = looks[s.method]
      if not split:
        look = look._replace(linestyle=epoch_lines[s.local_epochs])
      drawn = _without_zero(*line) if logarithmic else line
      # Lines that nearly meet have their markers beside each other.
      shift = methods.index(s.method) / len(methods)
      _draw_line(axis, *drawn, look, shift)
    _set_x_axis(axis, [xs for xs, _ in shown.values()], x, logarithmic)
    if not split or i % columns == 0:
      axis.set_ylabel(style.metric_title(metric))
  shows_epochs = not split and len(epochs) > 1
  paper_style.draw_legend(
    figure,
    paper_style.method_handles(methods, looks, lines=not shows_epochs),
    paper_style.epoch_handles(epoch_lines) if shows_epochs else [],
  )
  return paper_style.Drawing(figure, _caption(lines, metric, x))


def _read_line(
  setting: settings_lib.Setting, metric: str, x: str
) -> tuple[np.ndarray, np.ndarray] | None:
  """Returns x `[rounds]` and y `[seeds, rounds]`, None without a value."""
  series = [run.series(curves.X_AXES[x][0], metric) for run in setting.runs]
  series = [s for s in series if len(s[0])]
  return curves.pool_seeds(series) if series else None


def _draw_line(
  axis: mpl_axes.Axes,
  xs: np.ndarray,
  ys: np.ndarray,
  look: style.SeriesStyle,
  shift: float,
) -> None:
  style.shade_range(axis, xs, ys, look.color, alpha=0.12)
  last = len(xs) - 1
  marks = np.minimum((np.arange(_MARKERS) + shift) * last / _MARKERS, last)
  axis.plot(
    xs,
    ys.mean(axis=0),
    color=look.color,
    linestyle=look.linestyle,
    marker=look.marker,
    markevery=np.unique(marks.round().astype(int)).tolist(),
    markeredgecolor='white',
    markeredgewidth=0.5,
  )


def _differ_much(
  lines: Iterable[tuple[np.ndarray, np.ndarray]],
) -> bool:
  """Whether some lines would be squeezed on a linear axis."""
  ends = [xs[-1] for xs, _ in lines if len(xs)]
  return bool(ends) and max(ends) > _LARGEST_RATIO * max(1, min(ends))


def _without_zero(
  xs: np.ndarray, ys: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
  """Drops the initial model, whose round has no logarithm."""
  return xs[xs > 0], ys[:, xs > 0]


def _set_x_axis(
  axis: mpl_axes.Axes, values: list[np.ndarray], x: str, logarithmic: bool
) -> None:
  label = {
    'round': 'Round',
    'local_steps': 'Local gradient steps',
    'bytes': 'Communication',
    'payload_bytes': 'Chosen weights sent',
  }[x]
  ends = [xs[-1] for xs in values if len(xs)]
  if not ends:
    return
  if logarithmic:
    axis.set_xscale('log')
    axis.xaxis.set_major_formatter(ticker.StrMethodFormatter('{x:g}'))
    axis.xaxis.set_minor_formatter(ticker.NullFormatter())
    axis.set_xlabel(f'{label} (logarithmic)')
    return
  axis.margins(x=0.03)
  if x in curves.BYTES_AXES:
    divisor, unit = style.byte_unit(max(ends))
    axis.xaxis.set_major_locator(ticker.MaxNLocator(nbins=5))
    axis.xaxis.set_major_formatter(
      ticker.FuncFormatter(lambda v, _: f'{v / divisor:g}')
    )
    axis.set_xlabel(f'{label} ({unit})')
    return
  axis.set_xlabel(label + paper_style.set_x_ticks(axis, max(ends)))


def _caption(
  lines: Mapping[settings_lib.Setting, tuple[np.ndarray, np.ndarray]],
  metric: str,
  x: str,
) -> str:
  against = {
    'round': 'rounds',
    'local_steps': (
      'local gradient steps of all clients together, the Fisher pass included'
    ),
    'bytes': 'bytes sent between the server and all clients together',
    'payload_bytes': 'bytes of the weights that clients have chosen and sent',
  }[x]
  totals = {s.task: s.total_epochs for s in lines}
  seeds = paper_style.seeds_phrase([len(ys) for _, ys in lines.values()])
  return (
    f'{style.describe_metric(metric)}, against {against}, at fixed '
    'compute: rounds times local epochs '
    f'are {paper_style.per_task(totals)}. '
    f'Lines: means over {seeds}; bands: lowest to highest seed.'
  )
