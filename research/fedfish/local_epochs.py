# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Figure 4 of FedFish: global and personalised scores by local epochs.

Beside the scores are their paired differences to the baseline, seed by seed,
which are much less noisy (arXiv 2311.10291, section 5).
"""

from fedfish_tff.evaluation import ranking
from launch.plots import panels
from launch.plots import style
from launch.results import column_titles
from launch.results import frames as frames_lib
from launch.results import method_comparison
from launch.results import run_notes
from launch.results import settings as settings_lib
from launch.results import text_table

from matplotlib import axes as mpl_axes
import numpy as np
import pandas as pd

# The share of the distance between two numbers of epochs that points take up.
_GROUP_WIDTH = 0.72
# The columns of each state of a model, the first of which is preferred: both
# states are scored on the examples that fine-tuning does not see, if there was
# fine-tuning.
_STATES = {
  'global': ['personalized/{}_before', 'global/{}'],
  'personalized': ['personalized/{}'],
}


@style.styled_for_paper
def plot_local_epochs(
  settings: frames_lib.Frames, name: str
) -> panels.Drawing | None:
  """Plots scores before and after personalisation, and paired differences.

  Args:
    settings: The result of `views.fixed_rounds` or `fixed_compute`.
    name: The metric, for example `'accuracy'`.

  Returns:
    The figure and its caption, for test clients and the settings with only
    finished runs, or, without such a setting, for validation clients at the
    last round so far. None if no run has the metric.
  """
  runs = settings.runs
  finished = runs['is_finished'].astype(bool).groupby(runs['label'])
  finished = finished.transform('all')
  split = 'test' if finished.any() else 'validation'
  # Unfinished settings are left out, if any setting is finished.
  kept = settings.of(runs[finished == finished.any()])
  every = settings_lib.describe(settings)
  every['name'] = [
    f'{s.method}, {panels.name_epochs(s.local_epochs)}'
    for s in every.itertuples()
  ]
  table = every[every.index.isin(kept.runs['label'])]
  left_out = [
    f'{s.name} ({s.task})' for s in every.drop(table.index).itertuples()
  ]
  scores = {
    label: _read_scores(of, name, split) for label, of in kept.groups().items()
  }
  if all(of.isna().all(axis=None) for of in scores.values()):
    return None
  tasks = table['task'].unique()
  looks = style.method_looks(table['method'])
  pairs = settings_lib.pair_with_baselines(kept)
  groups = kept.groups()
  columns = {
    state: f'{split}/{of[0].format(name)}' for state, of in _STATES.items()
  }
  differences = {}
  results = []
  for label, other in pairs.items():
    a, b = scores[label].align(scores[other], join='inner', axis=0)
    compared = [
      state
      for state, column in columns.items()
      if method_comparison.are_results(groups, (label, other), column)
    ]
    # Ties have a difference of 0.
    differences[label] = pd.DataFrame(
      {
        state: ranking.gains(a[state], b[state], higher_is_better=True)
        for state in compared
      },
      a.index,
    )
    for state in compared:
      result = method_comparison.compare(
        a[state].dropna(),
        b[state].dropna(),
        higher_is_better=frames_lib.higher_is_better(kept.runs, name),
      )
      if result is not None:
        told = ', '.join(table.loc[label, ['task', 'name']])
        results.append(f'  {told}, {state}: {result}')

  # One row per task, with the scores and, if there are any, their differences.
  cells = [(task, j) for task in tasks for j in range(1 + bool(pairs))]
  figure, axes = panels.new_grid(
    cells, (panels.PAPER_COLUMN, 2.0), columns=2 if pairs else 3
  )
  for axis, (task, j) in zip(axes, cells):
    of_task = table[table['task'] == task]
    values = differences if j else scores
    epochs = sorted(set(of_task['local_epochs']))
    present = list(dict.fromkeys(of_task['method']))
    # Each number of local epochs has a group of methods side by side.
    slot = _GROUP_WIDTH / len(present)
    for s in of_task[of_task.index.isin(values)].itertuples():
      place = present.index(s.method) - (len(present) - 1) / 2
      x = epochs.index(s.local_epochs) + place * slot
      _draw(
        axis, values[s.Index], x, 0.21 * slot, looks[s.method], joined=not j
      )
    axis.grid(False, axis='x')
    titles = [task] if len(tasks) > 1 else []
    if j:
      usual = of_task.index.map(pairs).dropna()
      names = set(table['method'][usual])
      what = names.pop() if len(names) == 1 else 'baseline'
      titles.append(f'minus {what}')
      axis.axhline(0, color=style.INK, linewidth=0.7, zorder=1)
    y_label = column_titles.title(f'{split}/{name}')
    axis.set_xticks(range(len(epochs)), [str(number) for number in epochs])
    axis.set_xlim(-0.5, len(epochs) - 0.5)
    rounds = set(of_task['rounds'])
    what = f'{of_task["total_epochs"].max()} in total'
    if len(rounds) == 1:
      what = text_table.count(rounds.pop(), 'round')
    x_label = f'Local epochs per round ({what})'
    panels.set_labels(axis, x_label, y_label, ', '.join(titles))
  of_scores = [axis for axis, (_, j) in zip(axes, cells) if not j]
  panels.limit_shares(of_scores, name)
  look = {'linestyle': 'none', 'marker': 'o', 'color': style.MUTED}
  panels.draw_legend(
    figure,
    [panels.entry(m, **of | {'linestyle': 'none'}) for m, of in looks.items()],
    [
      panels.entry('global', markerfacecolor='white', **look),
      panels.entry('personalised', **look),
    ],
  )
  counts = [n for of in scores.values() if (n := of['global'].count())]
  caption = (
    f'{column_titles.title(name)} on {split} clients by local epochs: of the '
    'global model (open) and after personalisation (filled), both on the half '
    'of each client that fine-tuning does not see. Points: means over '
    f'{run_notes.count_seeds(counts or [0])}; bars: lowest to highest seed; '
    'dashes: each seed.'
  )
  left_out += [
    f'{s.name} ({s.task}): {missing} of {len(scores[s.Index])}'
    for s in table.itertuples()
    if (missing := scores[s.Index]['global'].isna().sum())
  ]
  for note in (
    run_notes.tell_starts(kept.runs, columns.values()),
    run_notes.tell_fine_tuning(kept.runs, columns.values()),
  ):
    if note:
      caption += f' {note}.'
  if left_out:
    caption += f' Left out, diverged or not finished: {"; ".join(left_out)}.'
  if pairs:
    methods = table['method']
    names = dict.fromkeys(
      f'{methods[label]} minus {methods[other]}'
      for label, other in pairs.items()
    )
    caption += f' At the right: differences within seeds, {", ".join(names)}.\n'
    caption += '\n'.join(results)
  return panels.Drawing(figure, caption)


def _read_scores(
  frames: frames_lib.Frames, name: str, split: str
) -> pd.DataFrame:
  """Returns scores by seed and state, NaN for those of diverged runs."""
  prefix, values = 'test', frames.runs
  if split != 'test':
    prefix, values = 'eval', frames.rounds.groupby('run').last()
    # A run may have diverged after its last evaluation.
    diverged = method_comparison.find_diverged(frames.runs)
    values = values.drop(diverged, errors='ignore')
  scores = pd.DataFrame(index=frames.runs.index)
  for state, columns in _STATES.items():
    columns = [f'{prefix}/{column.format(name)}' for column in columns]
    found = values.reindex(columns=columns).astype(float).bfill(axis=1)
    scores[state] = found[columns[0]]
  return scores.where(np.isfinite(scores)).set_index(frames.runs['seed'])


def _draw(
  axis: mpl_axes.Axes,
  of_states: pd.DataFrame,
  x: float,
  step: float,
  look: style.Look,
  *,
  joined: bool,
) -> None:
  """Draws means, the seeds' ranges and, as dashes, each seed.

  The two points stand at the distance `step` from x.
  """
  color = look['color']
  means = []
  for state, of_seeds in of_states.items():
    values = of_seeds.dropna().to_numpy()
    if not len(values):
      continue
    is_global = state == 'global'
    at = x - step if is_global else x + step
    means.append((at, values.mean()))
    if len(values) > 1:
      axis.vlines(at, values.min(), values.max(), color=color, linewidth=0.9)
      dashes = {'markersize': 3.5, 'markeredgewidth': 0.7}
      axis.plot([at] * len(values), values, '_', color=color, **dashes)
    axis.plot(
      *means[-1],
      marker=look['marker'],
      color=color,
      markerfacecolor='white' if is_global else color,
      markeredgewidth=0.9,
      zorder=4,
    )
  if joined and len(means) > 1:
    axis.plot(*zip(*means), color=color, linewidth=0.7)
