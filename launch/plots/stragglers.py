# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Figure 3 of SRPFL: scores by simulated time, a row per cost of messages.

Tziotis et al. (arXiv:2206.02078), section 5: the higher the cost of messages
per round, the smaller the gain of rounds that do not wait for slow clients.
"""

from collections.abc import Sequence

from launch.plots import panels
from launch.plots import style
from launch.results import column_titles
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
  'deadline': (0, (4, 1, 1, 1)),
  'asynchronous': (0, (1, 1)),
  'fastest': (0, (5, 1, 1, 1, 1, 1)),
  'Poisson': (0, (3, 1, 1, 1)),
  'visit once': (0, (8, 2)),
  'epochs': (0, (8, 2, 2, 2)),
  'first visits': (0, (2, 2)),
  _BEFORE: ':',
}


def plot_stragglers(
  lines: Sequence[straggler_lines.Line],
) -> dict[str, panels.Drawing]:
  """Plots a figure for each conditions, with a column of panels per task.

  Methods differ in colour and marker, participation in line style. A row has
  each of COMMUNICATION_SECONDS, which messages add to each round and which only
  change the time of rounds, so that runs need not differ in them.

  Args:
    lines: The result of `straggler_lines.read_lines`.

  Returns:
    The drawings by conditions.
  """
  return {
    conditions: _plot([of for of in lines if of.conditions == conditions])
    for conditions in settings_lib.unique(line.conditions for line in lines)
  }


@style.styled_for_paper
def _plot(lines: Sequence[straggler_lines.Line]) -> panels.Drawing:
  tasks = settings_lib.unique(line.task for line in lines)
  looks, entries = _looks(lines)
  metric = min((line.metric for line in lines), key=len)
  cells = [(cost, task) for cost in COMMUNICATION_SECONDS for task in tasks]
  figure, axes = panels.new_grid(
    cells, (panels.PAPER_COLUMN, 1.8), columns=len(tasks)
  )
  for axis, (cost, task) in zip(axes, cells):
    panels.draw_lines(
      axis,
      {
        line: line.points(cost)
        for line in lines
        if line.task == task and line.has_cost(cost)
      },
      looks,
    )
    title = f'messages: {cost:g} s per round'
    panels.set_labels(
      axis,
      'Simulated time in seconds',
      column_titles.title(metric),
      f'{task}, {title}' if len(tasks) > 1 else title,
    )
  panels.draw_legend(figure, *entries)
  runs = pd.concat([line.runs for line in lines])
  seeds = run_notes.count_seeds(len(line.runs) for line in lines)
  caption = (
    f'{column_titles.describe(metric)}, against the simulated time of rounds, '
    f'whose messages cost more from row to row; {lines[0].conditions}. Lines: '
    f'means over {seeds}; bands, where there are few: lowest to highest seed. '
    f'{run_notes.tell_clients(runs)}.\n'
    + straggler_lines.format_table(lines, COMMUNICATION_SECONDS)
  )
  return panels.Drawing(figure, caption)


def _looks(lines: Sequence[straggler_lines.Line]):
  """Returns the looks of lines and the two groups of the legend's entries."""
  colors = style.method_looks(line.base for line in lines)
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
