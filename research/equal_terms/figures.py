# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Figures of the comparison, from its tables."""

from collections.abc import Hashable
from collections.abc import Mapping
import math
import re

from launch.plots import panels
from launch.plots import style
from launch.results import text_table
from research.equal_terms import ranks
from research.equal_terms import tables

from matplotlib import axes as mpl_axes
from matplotlib import figure as mpl_figure
import numpy as np
import pandas as pd

# The distance of two names beside a panel, as a share of its height.
_NAME_GAP = 0.05


def front(costs: pd.Series, scores: pd.Series) -> list[Hashable]:
  """Returns the points that no other one beats, the cheapest first.

  A point is beaten by one that costs no more and scores no less, and differs
  in one of them.

  Args:
    costs: The cost of each point; NaN is left out.
    scores: The score of each point, of which a higher one is better.
  """
  points = pd.DataFrame({'cost': costs, 'score': scores}).dropna()
  points = points.sort_values(
    ['cost', 'score'], ascending=[True, False], kind='stable'
  )
  best = points['score'].cummax().shift(fill_value=-math.inf)
  return list(points.index[points['score'] > best])


@style.styled
def draw_ranks(tests: Mapping[str, ranks.RankTest]) -> mpl_figure.Figure:
  """Draws the mean ranks of methods, with bars that join undecided ones.

  `tests` has the test of each section by title.
  """
  most = max(len(test.ranks) for test in tests.values())
  figure, axes = panels.new_grid(
    list(tests), (6.6, 1.1 + 0.27 * most), columns=2
  )
  for axis, (title, test) in zip(axes, tests.items()):
    _draw_rank_panel(axis, title, test)
  panels.draw_legend(
    figure,
    note='A block is a seed of a task. The best rank is 1. '
    f'{tables.CONTROL} is blue. Methods that a vertical bar joins lie within '
    'the critical difference, so that their order is undecided.',
  )
  return figure


def _draw_rank_panel(
  axis: mpl_axes.Axes, title: str, test: ranks.RankTest
) -> None:
  names, k = list(test.ranks.index), len(test.ranks)
  axis.scatter(
    test.ranks, range(k), color=[_color(name) for name in names], zorder=3
  )
  # Each clique has a bar of its own at the right of the ranks.
  for number, (first, last) in enumerate(ranks.find_cliques(test)):
    x = k * (1.04 + 0.025 * number)
    ends = names.index(first), names.index(last)
    axis.plot([x, x], ends, color=style.INK, linewidth=2.5)
  low = test.ranks.min()
  high = low + test.critical_difference
  axis.plot([low, high], [-0.9, -0.9], color=style.INK, marker='|')
  axis.annotate(
    f'critical difference {test.critical_difference:.2f}',
    (low, -0.9),
    xytext=(0, 4),
    textcoords='offset points',
    fontsize=9,
  )
  axis.set_yticks(range(k), names)
  axis.set_ylim(k - 0.4, -1.9)
  axis.set_xticks(range(1, k + 1, 2 if k > 8 else 1))
  panels.set_labels(
    axis,
    'Mean rank',
    '',
    title,
    f'{text_table.count(test.num_blocks, "block")}; {ranks.tell_friedman(test)}',
  )


@style.styled
def draw_costs(sections: Mapping[str, pd.DataFrame]) -> mpl_figure.Figure:
  """Draws accuracy so far against bytes and simulated seconds, with the front.

  Args:
    sections: The rows of equal_terms_rounds.csv of each section by title.
  """
  cells = [(title, cost) for title in sections for cost in ('bytes', 'seconds')]
  curves, ended = {}, []
  for title, rounds in sections.items():
    of_methods = {
      m: tables.mean_curve(of) for m, of in rounds.groupby('method')
    }
    means = pd.concat(of_methods, names=['method']).reset_index()
    curves[title] = means.dropna(subset=['score'])
    # A mean over seeds ends with the first seed that has diverged.
    without = means['method'][means['score'].isna()].unique()
    ended += [f'{method} ({title})' for method in without]
  best = {}
  for title, cost in cells:
    # All methods share the point before training.
    trained = curves[title][curves[title]['round'] > 0]
    ends = front(trained[cost], trained['score'])
    best[title, cost] = trained['method'][ends].unique()
  # A method has one look at all of its values, such as mixtures.
  looks = style.method_looks(
    [_without_values(method) for of in best.values() for method in of]
  )
  figure, axes = panels.new_grid(cells, (6.6, 4.0), columns=2)
  for axis, (title, cost) in zip(axes, cells):
    in_bytes = cost == 'bytes'
    points = curves[title]
    points[cost] /= 1e6 if in_bytes else 1.0
    shown = {
      method: looks[_without_values(method)] for method in best[title, cost]
    }
    for method, of in points.groupby('method'):
      look = {'color': style.PALE, 'linewidth': 1, 'zorder': 1}
      axis.plot(of[cost], of['score'], **shown.get(method, look))
    ends = points.groupby('method').last()
    _write_names(
      axis,
      ends[cost],
      ends['score'],
      dict.fromkeys(ends.index, style.MUTED)
      | {method: look['color'] for method, look in shown.items()},
    )
    panels.set_labels(
      axis,
      'Megabytes of all messages' if in_bytes else 'Simulated seconds',
      '',
      title,
    )
    axis.set_ylabel('Accuracy')
  panels.draw_legend(
    figure,
    note='Means over seeds; for one model, on validation clients; for personal '
    'models, on own test data of training clients. Lines with markers '
    'have a point that no other method beats in both numbers.'
    + (f' Lines end where a seed diverged: {"; ".join(ended)}.' * bool(ended)),
  )
  return figure


def _without_values(method: str) -> str:
  """Returns 'FedCM' for 'FedCM, mixture of 0.3'."""
  name, *parts = method.split(', ')
  return ', '.join([name, *(p for p in parts if not re.search(r'\d', p))])


@style.styled
def draw_personal(sections: Mapping[str, pd.DataFrame]) -> mpl_figure.Figure:
  """Draws clients' fine-tuned models against the server's, by method.

  Args:
    sections: The rows of `describe` of the question personal by title.
  """
  figure, axes = panels.new_grid(list(sections), (6.6, 4.0), columns=2)
  for axis, (title, table) in zip(axes, sections.items()):
    _draw_methods(axis, table['one_model'], table)
    panels.set_labels(
      axis, "Accuracy of the server's model, test clients", '', title
    )
    axis.set_ylabel("Accuracy of clients' fine-tuned models")
  panels.draw_legend(
    figure,
    note='Bars are 95 % intervals over seeds. Where clients keep layers, the '
    "server's model is not for use by itself.",
  )
  return figure


def _color(method: str) -> str:
  return (
    style.method_looks([tables.CONTROL])[tables.CONTROL]['color']
    if method == tables.CONTROL
    else style.INK
  )


def _draw_methods(
  axis: mpl_axes.Axes, x: pd.Series, table: pd.DataFrame
) -> None:
  """Draws a point for each method, with its name at the right of the panel.

  Args:
    axis: The axis of a panel.
    x: The value of x of each method; one without is left out.
    table: The rows of `describe`, whose means are y.
  """
  shown = table.assign(x=x).dropna(subset=['x', 'mean'])
  for name, row in shown.iterrows():
    axis.errorbar(
      row['x'],
      row['mean'],
      yerr=[[row['mean'] - row['low']], [row['high'] - row['mean']]],
      color=_color(name),
      marker='o',
      markersize=4,
      elinewidth=0.7,
    )
  _write_names(
    axis, shown['x'], shown['mean'], {tables.CONTROL: _color(tables.CONTROL)}
  )


def _write_names(
  axis: mpl_axes.Axes, x: pd.Series, y: pd.Series, colors: Mapping[str, str]
) -> None:
  """Writes the names of points at the right of a panel, joined with them.

  Args:
    axis: The axis of a panel.
    x: The value of x of each name.
    y: The value of y of each name, by which names are moved apart.
    colors: The colours of names that are not black.
  """
  low, high = axis.get_ylim()
  places = spread((y - low) / (high - low), _NAME_GAP)
  for name in y.index:
    line = {'arrowstyle': '-', 'color': style.PALE, 'linewidth': 0.6}
    axis.annotate(
      name,
      (x[name], y[name]),
      xytext=(1.04, places[name]),
      textcoords='axes fraction',
      va='center',
      fontsize=8,
      color=colors.get(name, style.INK),
      arrowprops=line | {'relpos': (0, 0.5)},
    )
  axis.set_ylim(low, high)


def spread(values: pd.Series, gap: float) -> pd.Series:
  """Returns values moved apart to a least distance, in the same order.

  Args:
    values: The values, from 0 to 1.
    gap: The distance. Values stay at most 1, and as near to where they were as
      that allows.
  """
  moved = values.astype(float).sort_values(kind='stable')
  steps = gap * np.arange(len(moved))
  upward = np.maximum.accumulate(moved - steps) + steps
  # What has left the range at the top comes back, and pushes the others down.
  bounds = 1 - steps[::-1]
  return pd.Series(np.minimum(upward, bounds), moved.index)[values.index]
