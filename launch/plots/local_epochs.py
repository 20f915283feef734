# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Figure 4 of FedFish: global and personalised scores by local epochs.

Beside the scores are their paired differences to the baseline, seed by seed,
which are much less noisy (arXiv 2311.10291, section 5).
"""

from collections.abc import Mapping

from fedfish_tff.evaluation import metric_names
from fedfish_tff.evaluation import ranking
from launch.plots import panels
from launch.plots import style
from launch.results import column_titles
from launch.results import frames as frames_lib
from launch.results import method_comparison
from launch.results import run_notes
from launch.results import settings as settings_lib

from matplotlib import axes as mpl_axes
import numpy as np
import pandas as pd

# The share of the distance between two numbers of epochs that points take up.
_GROUP_WIDTH = 0.72
_STATES = ('global', 'personalized')

# The values of settings by state and seed.
_Values = dict[settings_lib.Setting, dict[str, pd.Series]]


@style.styled_for_paper
def plot_local_epochs(
  settings: settings_lib.Settings, name: str
) -> panels.Drawing | None:
  """Plots scores before and after personalisation, and paired differences.

  Args:
    settings: The result of `settings.fixed_rounds` or `fixed_compute`.
    name: The metric, for example `'accuracy'`.

  Returns:
    The figure and its caption, for test clients and the settings with only
    finished runs, or, without such a setting, for validation clients at the
    last round so far. None if no run has the metric.
  """
  is_finished = {s: of.runs['is_finished'].all() for s, of in settings.items()}
  # Unfinished settings are left out, if any setting is finished.
  kept = [
    s for s in settings if is_finished[s] or not any(is_finished.values())
  ]
  left_out = [f'{_describe(s)} ({s.task})' for s in settings if s not in kept]
  split = 'test' if any(is_finished.values()) else 'validation'
  settings = {s: settings[s] for s in kept}
  scores: _Values = {
    s: {state: _read_scores(of, name, state, split) for state in _STATES}
    for s, of in settings.items()
  }
  if all(of_seeds.empty for of in scores.values() for of_seeds in of.values()):
    return None
  tasks = settings_lib.unique(s.task for s in settings)
  methods = settings_lib.unique(s.method for s in settings)
  looks = style.method_looks(methods)
  pairs = settings_lib.pair_with_baselines(settings)
  differences: _Values = {}
  results = []
  higher_is_better = metric_names.higher_is_better(name)
  for s, other in pairs:
    for state in _STATES:
      both = scores[s][state], scores[other][state]
      result = method_comparison.compare(
        *both, higher_is_better=higher_is_better
      )
      if result is not None:
        a, b = both[0].align(both[1], join='inner')
        # Ties have a difference of 0.
        gains = ranking.gains(a, b, higher_is_better=True)
        differences.setdefault(s, {})[state] = pd.Series(gains, a.index)
        results.append(f'  {s.task}, {_describe(s)}, {state}: {result}')

  # One row per task, with the scores and, if there are any, their differences.
  cells = [(task, j) for task in tasks for j in range(1 + bool(pairs))]
  figure, axes = panels.new_grid(
    cells, (panels.PAPER_COLUMN, 2.0), columns=2 if pairs else 3
  )
  for axis, (task, j) in zip(axes, cells):
    of_task = [s for s in settings if s.task == task]
    values = differences if j else scores
    epochs = sorted({s.local_epochs for s in of_task})
    present = [m for m in methods if any(s.method == m for s in of_task)]
    # Each number of local epochs has a group of methods side by side.
    slot = _GROUP_WIDTH / len(present)
    for s in filter(values.get, of_task):
      place = present.index(s.method) - (len(present) - 1) / 2
      x = epochs.index(s.local_epochs) + place * slot
      _draw(axis, values[s], x, 0.21 * slot, looks[s.method], joined=not j)
    axis.grid(False, axis='x')
    titles = [task] if len(tasks) > 1 else []
    if j:
      names = {other.method for _, other in pairs if other.task == task}
      what = names.pop() if len(names) == 1 else 'baseline'
      titles.append(f'minus {what}')
      axis.axhline(0, color=style.INK, linewidth=0.7, zorder=1)
    y_label = column_titles.title(f'{split}/{name}')
    axis.set_xticks(range(len(epochs)), [str(number) for number in epochs])
    axis.set_xlim(-0.5, len(epochs) - 0.5)
    rounds = {s.rounds for s in of_task}
    what = f'{max(s.total_epochs for s in of_task)} in total'
    if len(rounds) == 1:
      what = f'{rounds.pop()} rounds'
    x_label = f'Local epochs per round ({what})'
    panels.set_labels(axis, x_label, y_label, ', '.join(titles))
  look = {'linestyle': 'none', 'marker': 'o', 'color': style.MUTED}
  panels.draw_legend(
    figure,
    [panels.entry(m, **of | {'linestyle': 'none'}) for m, of in looks.items()],
    [
      panels.entry('global', markerfacecolor='white', **look),
      panels.entry('personalised', **look),
    ],
  )
  counts = [len(of['global']) for of in scores.values() if len(of['global'])]
  caption = (
    f'{column_titles.title(name)} on {split} clients by local epochs: of the '
    'global model (open) and after personalisation (filled), both on the half '
    'of each client that fine-tuning does not see. Points: means over '
    f'{run_notes.count_seeds(counts or [0])}; bars: lowest to highest seed; '
    'dashes: each seed.'
  )
  left_out += [
    f'{_describe(s)} ({s.task}): {missing} of {len(settings[s].runs)}'
    for s, of in scores.items()
    if (missing := len(settings[s].runs) - len(of['global']))
  ]
  if left_out:
    caption += f' Left out, diverged or not finished: {"; ".join(left_out)}.'
  if pairs:
    names = settings_lib.unique(
      f'{s.method} minus {other.method}' for s, other in pairs
    )
    caption += f' At the right: differences within seeds, {", ".join(names)}.\n'
    caption += '\n'.join(results)
  return panels.Drawing(figure, caption)


def _read_scores(
  frames: frames_lib.Frames, name: str, state: str, split: str
) -> pd.Series:
  """Returns finite scores by seed, without diverged runs.

  Both states are scored on the examples that fine-tuning does not see, if
  there was fine-tuning.
  """
  columns = {
    'global': (f'personalized/{name}_before', f'global/{name}'),
    'personalized': (f'personalized/{name}',),
  }[state]
  scores = pd.Series(dtype=float)
  for column in columns:
    if split == 'test':
      found = method_comparison.by_seed(frames.runs, f'test/{column}')
    else:
      found = frames.column(f'eval/{column}').groupby(level=0).last()
    scores = found if scores.empty else scores.combine_first(found)
  return scores[np.isfinite(scores)]


def _draw(
  axis: mpl_axes.Axes,
  of_states: Mapping[str, pd.Series],
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
    values = of_seeds.to_numpy()
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


def _describe(setting: settings_lib.Setting) -> str:
  return f'{setting.method}, {panels.name_epochs(setting.local_epochs)}'
