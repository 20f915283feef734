# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Makes the tables and figures of the comparison from its raw tables.

  python -m research.equal_terms.report --input_dir=docs/results \
    --output_dir=runs/equal_terms/report

reads equal_terms_runs.csv and equal_terms_rounds.csv, which collect.py writes,
and writes for each task and question

  <question>_<task>.md   a row for each method: accuracy with its interval, the
                         difference from FedAvg with its interval, mean rank and
                         corrected p, the worst tenth of clients, costs in total
                         and until a target
  ranks.png              mean ranks with critical differences
  costs.png              accuracy so far against bytes and simulated seconds,
                         with the front of methods that no other one beats
  personal_global.png    clients' fine-tuned models against the server's model

README.md has the design and the tests.
"""

from collections.abc import Hashable
from collections.abc import Mapping
from collections.abc import Sequence
import functools
import math

from fedfish_tff import errors
from fedfish_tff import evaluation
from fedfish_tff import simulation
from launch import cli
from launch import path_flags
from launch.plots import panels
from launch.plots import style
from launch.results import text_table
from research.equal_terms import budget
from research.equal_terms import ranks

from matplotlib import axes as mpl_axes
from matplotlib import figure as mpl_figure
import numpy as np
import pandas as pd

CONTROL = 'FedAvg'
_COSTS = ('round', 'bytes', 'steps', 'seconds')
_SECTION = ['question', 'task']
_NOISE = 1e-9
# The distance of two names beside a panel, as a share of its height.
_NAME_GAP = 0.05

_INPUT_DIR = path_flags.define(
  'input_dir', 'docs/results', 'The folder with the raw tables.'
)
_OUTPUT_DIR = path_flags.define(
  'output_dir', None, 'The folder for all output; made if it does not exist.'
)


def blocks(runs: pd.DataFrame, by: str = 'method') -> pd.DataFrame:
  """Returns the scores of runs, a row per task and seed, a column per method.

  Methods that lack a block are left out: ranks need all of them.

  Args:
    runs: The rows of equal_terms_runs.csv of one question. A run that has
      diverged has no score, and stays as NaN.
    by: The column that tells methods apart. Titles have tuned values, which
      differ between tasks; variants have none.
  """
  keys = [*_SECTION[1:], 'seed']
  scores = runs.pivot(index=keys, columns=by, values='score')
  has_run = runs.assign(there=1).pivot(index=keys, columns=by, values='there')
  return scores[has_run.columns[has_run.notna().all()]]


def describe(
  runs: pd.DataFrame, rounds: pd.DataFrame
) -> tuple[pd.DataFrame, ranks.RankTest, float]:
  """Returns a row for each method of a section, the rank test and the target.

  Args:
    runs: The rows of equal_terms_runs.csv of one task and question.
    rounds: Those of equal_terms_rounds.csv.

  Returns:
    The rows by method, the best mean rank first: `mean`, `low`, `high`,
    `diverged`, the number of seeds; `difference` from FedAvg, paired by seed,
    `difference_low`, `difference_high`, `n`, the number of seeds in which both
    have a score; `rank`, `z`, `p_holm`; the means of
    other columns of `runs`; and `to_<cost>`, the cost until the target. Then
    the test of ranks and the target.

  Raises:
    errors.InputError: If a method lacks a seed, or FedAvg is not among them.
  """
  scores = blocks(runs)
  lacking = set(runs['method']) - set(scores)
  if lacking:
    raise errors.InputError(
      f'All methods must have the same seeds, which {sorted(lacking)} lack.'
    )
  errors.check_member('The baseline', CONTROL, scores.columns)
  test = ranks.rank(scores)
  found = {}
  for method in test.ranks.index:
    values = scores[method].to_dict()
    level = evaluation.compare_paired(
      values, dict.fromkeys(values, 0.0), higher_is_better=True
    )
    gain = evaluation.compare_paired(
      values, scores[CONTROL].to_dict(), higher_is_better=True
    )
    found[method] = {
      'mean': level.mean,
      'low': level.low,
      'high': level.high,
      'diverged': int(scores[method].isna().sum()),
      'difference': gain.mean,
      'difference_low': gain.low,
      'difference_high': gain.high,
      'n': gain.n,
      'rank': test.ranks[method],
    }
  table = pd.DataFrame(found).T
  table = table.join(ranks.compare_with(test, CONTROL)[['z', 'p_holm']])
  others = ['worst_tenth', 'client_std', 'new_clients', 'one_model']
  means = runs.groupby('method')[[*others, *_COSTS[1:]]].mean()
  settings = runs.groupby('method')['settings'].first()
  target = find_target(rounds)
  reached = rounds.groupby('method').apply(
    functools.partial(cost_until, target), include_groups=False
  )
  return table.join(means).join(settings).join(reached), test, target


def _curve(rounds: pd.DataFrame) -> pd.DataFrame:
  """Returns a method's means over seeds by round; NaN if a seed lacks one."""
  by_seed = rounds.set_index(['round', 'seed'])[['score', *_COSTS[1:]]]
  of_seeds = by_seed.unstack('seed')
  return pd.DataFrame(
    {name: of_seeds[name].mean(axis=1, skipna=False) for name in by_seed}
  )


def find_target(rounds: pd.DataFrame) -> float:
  """Returns the highest score that all methods but the worst reach.

  Args:
    rounds: The rows of equal_terms_rounds.csv of one task and question. Means
      over seeds count.
  """
  bests = rounds.groupby('method').apply(
    lambda of: _curve(of)['score'].max(), include_groups=False
  )
  return float(
    bests.fillna(-math.inf).sort_values().iloc[1 if len(bests) > 1 else 0]
  )


def cost_until(target: float, rounds: pd.DataFrame) -> pd.Series:
  """Returns the costs until the mean score over seeds reaches a target.

  Args:
    target: The target.
    rounds: The rows of one method.

  Returns:
    `to_round`, `to_bytes` and so on; NaN if the method never reaches it.
  """
  curve = _curve(rounds).reset_index()
  reached = curve[curve['score'] >= target - _NOISE]
  row = reached.iloc[0] if len(reached) else pd.Series(dtype=float)
  return row.reindex(_COSTS).astype(float).add_prefix('to_')


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


def verdict(row: pd.Series) -> str:
  """Returns the word for a method beside FedAvg."""
  if math.isnan(row['p_holm']):
    return 'baseline'
  if row['p_holm'] >= evaluation.ALPHA:
    return 'undecided'
  # As p, the word is that of ranks.
  return 'better' if row['z'] > 0 else 'worse'


def format_section(
  table: pd.DataFrame, test: ranks.RankTest, target: float, *, title: str
) -> str:
  """Returns the page of a task and question in Markdown.

  Args:
    table: The rows of `describe`.
    test: The test of ranks.
    target: The target of the costs.
    title: The title.
  """
  scores = [
    ('Method', 'Accuracy', f'Minus {CONTROL}', 'Rank', 'p', 'Verdict')
    + ('Worst tenth', 'Deviation over clients')
  ]
  costs = [
    ('Method', 'Tuned', 'MB', 'Steps', 'Seconds')
    + tuple(f'{what} to {target:.3f}' for what in ('Rounds', 'MB', 'Seconds'))
  ]
  for method, row in table.iterrows():
    diverged = int(row['diverged'])
    is_control = method == CONTROL
    scores.append(
      (
        method,
        _interval(row[['mean', 'low', 'high']], '.3f')
        + (f', {diverged} diverged' if diverged else ''),
        '' if is_control else _difference(row, test.num_blocks),
        f'{row["rank"]:.2f}',
        '' if is_control else f'{row["p_holm"]:.2g}',
        verdict(row),
        f'{row["worst_tenth"]:.3f}',
        f'{row["client_std"]:.3f}',
      )
    )
    reached = [row[f'to_{name}'] for name in ('round', 'bytes', 'seconds')]
    costs.append(
      (
        method,
        row['settings'],
        *_numbers(row['bytes'] / 1e6, row['steps'], row['seconds']),
        *_numbers(reached[0], reached[1] / 1e6, reached[2]),
      )
    )
  judged = (
    f'{text_table.count(test.num_blocks, "seed")}. Friedman: F = {test.f:.3g}, '
    f'p = {test.p:.2g}; critical difference of ranks '
    f'{test.critical_difference:.2f}. Brackets are 95 % intervals; p is that of '
    f"the rank against {CONTROL}'s, after Holm.",
  )
  paid = (
    'Means over seeds. The target is the highest accuracy that all but one '
    'method reach.',
  )
  return '\n'.join(
    text_table.to_markdown(name, text_table.Table(notes, rows, (), num_left))
    for name, notes, rows, num_left in (
      (title, judged, scores, 1),
      (f'{title}: costs', paid, costs, 2),
    )
  )


def _difference(row: pd.Series, num_seeds: int) -> str:
  """Returns the difference from FedAvg, with its seeds if some lack a score."""
  told = _interval(row.filter(like='difference'), '+.3f')
  some = '' if row['n'] == num_seeds else f', {row["n"]:.0f} of {num_seeds}'
  return told + some


def _interval(values: pd.Series, form: str) -> str:
  """Returns a mean with the ends of its interval, if it has one."""
  mean, low, high = values
  if math.isnan(mean):
    return 'diverged'
  ends = f' ({low:{form}} to {high:{form}})'
  return f'{mean:{form}}{"" if math.isnan(low) else ends}'


def _numbers(*values: float) -> list[str]:
  """Returns numbers with three digits or as integers."""
  return [
    'never' if math.isnan(v) else f'{v:.3g}' if v < 1e3 else f'{v:.0f}'
    for v in values
  ]


@style.styled
def draw_ranks(tests: Mapping[str, ranks.RankTest]) -> mpl_figure.Figure:
  """Draws the mean ranks of methods, with bars that join undecided ones.

  Args:
    tests: The tests by title.
  """
  most = max(len(test.ranks) for test in tests.values())
  figure, axes = panels.new_grid(
    list(tests), (6.6, 1.1 + 0.27 * most), columns=2
  )
  for axis, (title, test) in zip(axes, tests.items()):
    _draw_rank_panel(axis, title, test)
  panels.draw_legend(
    figure,
    note=f'A block is a seed of a task. The best rank is 1. {CONTROL} is blue. '
    'Methods that a vertical bar joins lie within the critical difference, so '
    'that their order is undecided.',
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
  axis.set_xticks(range(1, k + 1, 2))
  panels.set_labels(
    axis,
    'Mean rank',
    '',
    title,
    f'{text_table.count(test.num_blocks, "block")}; Friedman: p = {test.p:.2g}',
  )


@style.styled
def draw_costs(sections: Mapping[str, pd.DataFrame]) -> mpl_figure.Figure:
  """Draws accuracy so far against bytes and simulated seconds, with the front.

  Args:
    sections: The rows of equal_terms_rounds.csv of each section by title.
  """
  cells = [(title, cost) for title in sections for cost in ('bytes', 'seconds')]
  curves = {
    title: pd.concat(
      {
        method: _curve(of).dropna(subset=['score'])
        for method, of in rounds.groupby('method')
      },
      names=['method'],
    ).reset_index()
    for title, rounds in sections.items()
  }
  best = {
    (title, cost): curves[title]['method'][
      front(curves[title][cost], curves[title]['score'])
    ].unique()
    for title, cost in cells
  }
  looks = style.method_looks(np.concatenate(list(best.values())))
  figure, axes = panels.new_grid(cells, (6.6, 4.0), columns=2)
  for axis, (title, cost) in zip(axes, cells):
    in_bytes = cost == 'bytes'
    points = curves[title]
    points[cost] /= 1e6 if in_bytes else 1.0
    shown = {method: looks[method] for method in best[title, cost]}
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
    note='Means over seeds; for one model, on validation clients. Methods in '
    'colour have a point that no other method beats in both numbers.',
  )
  return figure


@style.styled
def draw_personal(tables: Mapping[str, pd.DataFrame]) -> mpl_figure.Figure:
  """Draws clients' fine-tuned models against the server's, by method.

  Args:
    tables: The rows of `describe` of the question personal by title.
  """
  figure, axes = panels.new_grid(list(tables), (6.6, 4.0), columns=2)
  for axis, (title, table) in zip(axes, tables.items()):
    _draw_methods(axis, table['one_model'], table)
    panels.set_labels(
      axis, "Accuracy of the server's model, test clients", '', title
    )
    axis.set_ylabel("Accuracy of clients' fine-tuned models")
  panels.draw_legend(figure, note='Bars are 95 % intervals over seeds.')
  return figure


def _color(method: str) -> str:
  return (
    style.method_looks([CONTROL])[CONTROL]['color']
    if method == CONTROL
    else style.INK
  )


def _draw_methods(
  axis: mpl_axes.Axes, x: pd.Series, table: pd.DataFrame
) -> None:
  """Draws a point for each method, with its name at the right of the panel.

  Args:
    axis: The axis.
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
  _write_names(axis, shown['x'], shown['mean'], {CONTROL: _color(CONTROL)})


def _write_names(
  axis: mpl_axes.Axes, x: pd.Series, y: pd.Series, colors: Mapping[str, str]
) -> None:
  """Writes the names of points at the right of a panel, joined with them.

  Args:
    axis: The axis.
    x: The value of x of each name.
    y: The value of y.
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


def main(argv: Sequence[str]) -> None:
  """Runs the binary."""
  cli.check_no_arguments(argv)
  cli.check_given(_OUTPUT_DIR)
  raw = {}
  for name in ('runs', 'rounds'):
    path = f'{_INPUT_DIR.value}/equal_terms_{name}.csv'
    try:
      raw[name] = pd.read_csv(path, keep_default_na=True)
    except OSError as error:
      raise errors.InputError(
        f'{path} must be a table of collect.py: {error.strerror}.'
      ) from error
  folder = simulation.make_folder(_OUTPUT_DIR.value)
  sections, tests, personal = {}, {}, {}
  for (question, task), runs in raw['runs'].groupby(_SECTION, sort=False):
    rounds = raw['rounds']
    rounds = rounds[(rounds['question'] == question) & (rounds['task'] == task)]
    table, test, target = describe(runs, rounds)
    title = f'{task}, {question}'
    sections[title], tests[title] = rounds, test
    if question == budget.QUESTIONS[1]:
      personal[title] = table
    page = format_section(table, test, target, title=title)
    simulation.write_atomically(
      folder / f'{style.slug(f"{question}_{task}")}.md', page.encode()
    )
    print(page)
  for question, runs in raw['runs'].groupby('question', sort=False):
    if runs['task'].nunique() < 2:
      continue
    scores = blocks(runs, by='variant')
    if scores.shape[1] > 2:
      # The shortest title of a method has no tuned value.
      titles = runs.groupby('variant')['method'].agg(
        lambda of: min(of, key=len)
      )
      title = f'All tasks, {question}'
      tests[title] = ranks.rank(scores.rename(columns=titles))
      lacking = sorted(titles.drop(scores.columns))
      if lacking:
        print(f'{title}: without {", ".join(lacking)}, which lack a task.')
  style.save_figure(draw_ranks(tests), folder / 'ranks.png')
  style.save_figure(draw_costs(sections), folder / 'costs.png')
  if personal:
    style.save_figure(draw_personal(personal), folder / 'personal_global.png')


if __name__ == '__main__':
  cli.run(main)
