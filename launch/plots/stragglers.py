# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Figure 3 of SRPFL: scores by simulated time, a row per cost of messages.

Tziotis et al. (arXiv:2206.02078), section 5: the higher the cost of messages
per round, the smaller the gain of rounds that do not wait for slow clients.
"""

from collections.abc import Sequence

from launch.plots import panels
from launch.plots import paper_style
from launch.plots import style
from launch.results import run_notes
from launch.results import settings as settings_lib
from launch.results import straggler_lines

import pandas as pd

# The costs of messages in SRPFL's figure.
COMMUNICATION_SECONDS = (0.0, 10.0, 100.0)
_BEFORE = 'before fine-tuning'
_STYLES = {
  'uniform': '-',
  'SRPFL': '--',
  'FLANP': '-.',
  'fastest': (0, (5, 1, 1, 1, 1, 1)),
  'Poisson': (0, (3, 1, 1, 1)),
  'visit once': (0, (8, 2)),
  'epochs': (0, (8, 2, 2, 2)),
  'first visits': (0, (2, 2)),
  _BEFORE: ':',
}
# With more lines in a panel, bands would hide each other.
_MAX_BANDS = 6


def plot_stragglers(
  lines: Sequence[straggler_lines.Line],
  communication_seconds: Sequence[float] = COMMUNICATION_SECONDS,
) -> dict[str, paper_style.Drawing]:
  """Plots a figure for each conditions, with a column of panels per task.

  Methods differ in colour and marker, participation in line style.

  Args:
    lines: The result of `straggler_lines.read_lines`.
    communication_seconds: The seconds that messages add to each round, one per
      row. They only change the time of rounds, so that runs need not differ in
      them.

  Returns:
    The drawings by conditions.
  """
  return {
    conditions: _plot(
      [line for line in lines if line.conditions == conditions],
      communication_seconds,
    )
    for conditions in settings_lib.unique(line.conditions for line in lines)
  }


@style.styled_for_paper
def _plot(
  lines: Sequence[straggler_lines.Line], costs: Sequence[float]
) -> paper_style.Drawing:
  tasks = settings_lib.unique(line.task for line in lines)
  looks, entries = _looks(lines)
  cells = [(cost, task) for cost in costs for task in tasks]
  figure, axes = panels.new_grid(
    cells, (panels.PAPER_COLUMN, 1.8), columns=len(tasks)
  )
  most = max(sum(line.task == task for line in lines) for task in tasks)
  spread = 'band' if most <= _MAX_BANDS else ''
  for axis, (cost, task) in zip(axes, cells):
    panels.draw_lines(
      axis,
      {line: line.points(cost) for line in lines if line.task == task},
      looks,
      spread=spread,
    )
    title = f'messages: {cost:g} s a round'
    panels.set_labels(
      axis,
      'Simulated time in seconds',
      style.metric_title(lines[0].metric),
      f'{task}, {title}' if len(tasks) > 1 else title,
    )
  panels.draw_legend(figure, *entries)
  metric = min((line.metric for line in lines), key=len)
  runs = pd.concat([line.runs for line in lines])
  seeds = run_notes.count_seeds(len(line.runs) for line in lines)
  caption = (
    f'{style.describe_metric(metric)}, against the simulated time of rounds, '
    f'whose messages cost more from row to row; {lines[0].conditions}. Lines: '
    f'means over {seeds}{spread and "; bands: lowest to highest seed"}. '
    f'{run_notes.tell_clients(runs)}.\n'
    + straggler_lines.format_table(lines, costs)
  )
  return paper_style.Drawing(figure, caption)


def _looks(lines: Sequence[straggler_lines.Line]):
  """Returns the looks of lines and the two groups of the legend's entries."""
  colors = style.series_looks(settings_lib.unique(line.base for line in lines))
  colors = {name: look | {'linestyle': '-'} for name, look in colors.items()}
  looks, used = {}, []
  for line in lines:
    what = _BEFORE if line.is_before_tuning else line.policy
    used.append(what)
    looks[line] = colors[line.base] | {'linestyle': _STYLES.get(what, '-')}
  return looks, [
    [panels.entry(name, **look) for name, look in colors.items()],
    [
      panels.entry(what, color=style.INK, linestyle=_STYLES.get(what, '-'))
      for what in settings_lib.unique(used)
    ],
  ]
