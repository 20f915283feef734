# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedFish's figure 4: global and personalised scores by local epochs.

Under the scores stand their paired differences to the baseline, seed by seed,
which are much less noisy than the scores (arXiv 2311.10291, section 5).
"""

from collections.abc import Mapping
from collections.abc import Sequence
from typing import NamedTuple

from fedfish_tff.evaluation import metric_names
from fedfish_tff.evaluation import paired_comparison
from launch.plots import paper_style
from launch.plots import style
from launch.results import method_labels
from launch.results import run_reader
from launch.results import settings as settings_lib

from matplotlib import axes as mpl_axes
from matplotlib import lines as mpl_lines
import numpy as np

_SCORES_HEIGHT = 1.75
_DIFFERENCES_HEIGHT = 1.15
# The share of the distance between two numbers of epochs that points take.
_GROUP_WIDTH = 0.72
_STATES = ('global', 'personalized')

Scores = Mapping[int, float]  # By seed.


class _Place(NamedTuple):
  """Where a method's points of one number of local epochs stand.

  Attributes:
    x: The middle between the two points.
    step: From the middle to either.
  """

  x: float
  step: float

  def of(self, state: str) -> float:
    return self.x + (self.step if state == 'personalized' else -self.step)


@paper_style.styled
def plot_local_epochs(
  settings: Sequence[settings_lib.Setting], name: str
) -> paper_style.Drawing | None:
  """Plots scores before and after personalisation, and paired differences.

  Args:
    settings: As `settings.fixed_rounds` or `fixed_compute` returns them.
    name: The metric, for example `'accuracy'`.

  Returns:
    The figure and its caption: of test clients and the settings all of whose
    runs are finished; where none is, of validation clients at the last round
    so far. None where no run has the metric.
  """
  finished = [s for s in settings if all(r.is_finished for r in s.runs)]
  unfinished = [s for s in settings if s not in finished] if finished else []
  split = 'test' if finished else 'validation'
  settings = finished or settings
  scores = {
    s: {state: _read_scores(s.runs, name, state, split) for state in _STATES}
    for s in settings
  }
  if not any(of_seeds for of in scores.values() for of_seeds in of.values()):
    return None
  tasks = settings_lib.unique(s.task for s in settings)
  methods = settings_lib.unique(s.method for s in settings)
  looks = style.series_styles(methods)
  baselines = {
    task: settings_lib.find_baselines([s for s in settings if s.task == task])
    for task in tasks
  }
  compared = any(baselines.values())
  heights = [_SCORES_HEIGHT] + compared * [_DIFFERENCES_HEIGHT]
  figure, places = paper_style.new_grid(len(tasks), sum(heights))
  differences = {}
  for i, (task, place) in enumerate(zip(tasks, places)):
    of_task = {s: scores[s] for s in settings if s.task == task}
    grid = place.subgridspec(len(heights), 1, height_ratios=heights)
    axis = figure.add_subplot(grid[0])
    paper_style.set_up_axis(axis, task if len(tasks) > 1 else '')
    layout = _lay_out(list(of_task), methods)
    for s, of_states in of_task.items():
      _draw_scores(axis, of_states, layout[s], looks[s.method])
    lowest = axis
    if compared:
      lowest = figure.add_subplot(grid[1], sharex=axis)
      paper_style.set_up_axis(lowest)
      axis.tick_params(labelbottom=False)
      found = _compare(of_task, baselines[task], name)
      for s, of_states in found.items():
        _draw_differences(lowest, of_states, layout[s], looks[s.method])
      lowest.axhline(0, color=style.INK, linewidth=0.7, zorder=1)
      lowest.margins(y=0.12)
      differences.update(found)
    _set_x_axis(lowest, list(of_task))
    axis.grid(False, axis='x')
    lowest.grid(False, axis='x')
    if i % 3 == 0:
      axis.set_ylabel(f'{style.metric_title(name)}, {split} clients')
      if compared:
        names = set(baselines[task].values())
        what = names.pop() if len(names) == 1 else 'baseline'
        lowest.set_ylabel(f'Minus {what}')
      figure.align_ylabels([axis, lowest])
  paper_style.draw_legend(
    figure,
    paper_style.method_handles(methods, looks, points=True),
    _state_handles(),
  )
  caption = _caption(scores, name, split)
  if unfinished:
    names = '; '.join(
      f'{s.method} at {_epochs(s)} ({s.task})' for s in unfinished
    )
    caption += f' Left out, not finished: {names}.'
  if compared:
    caption += _differences_caption(differences, baselines)
  return paper_style.Drawing(figure, caption)


def _read_scores(
  runs: Sequence[run_reader.Run], name: str, state: str, split: str
) -> Scores:
  """Returns finite scores by seed; of a run that has diverged there is none.

  Both states are scored on the examples that fine-tuning does not see, if
  there was fine-tuning.
  """
  columns = {
    'global': (f'personalized/{name}_before', f'global/{name}'),
    'personalized': (f'personalized/{name}',),
  }[state]
  scores = {}
  for run in runs:
    if split == 'test':
      found = [run.test[column] for column in columns if column in run.test]
    else:
      found = [
        values[-1]
        for column in columns
        if len(values := run.recorded(f'eval/{column}')[1])
      ]
    if found and np.isfinite(found[0]):
      scores[run.seed] = float(found[0])
  return scores


def _lay_out(
  settings: Sequence[settings_lib.Setting], methods: Sequence[str]
) -> dict[settings_lib.Setting, _Place]:
  """Returns the places of settings; groups of methods by local epochs."""
  epochs = sorted({s.local_epochs for s in settings})
  present = [m for m in methods if any(s.method == m for s in settings)]
  slot = _GROUP_WIDTH / len(present)
  return {
    s: _Place(
      x=epochs.index(s.local_epochs)
      + (present.index(s.method) - (len(present) - 1) / 2) * slot,
      step=0.21 * slot,
    )
    for s in settings
  }


def _draw_scores(
  axis: mpl_axes.Axes,
  of_states: Mapping[str, Scores],
  place: _Place,
  look: style.SeriesStyle,
) -> None:
  means = [
    (place.of(state), np.mean(list(scores.values())))
    for state, scores in of_states.items()
    if scores
  ]
  if len(means) > 1:
    axis.plot(*zip(*means), color=look.color, linewidth=0.7)
  for state, scores in of_states.items():
    if scores:
      values = np.array(list(scores.values()))
      _draw_point(axis, place.of(state), values.mean(), values, look, state)


def _draw_point(
  axis: mpl_axes.Axes,
  x: float,
  mean: float,
  values: np.ndarray,
  look: style.SeriesStyle,
  state: str,
) -> None:
  """Draws a mean, the range of the seeds and, as dashes, each seed."""
  if len(values) > 1:
    axis.vlines(x, values.min(), values.max(), color=look.color, linewidth=0.9)
    axis.plot(
      np.full(len(values), x),
      values,
      linestyle='none',
      marker='_',
      markersize=3.5,
      markeredgewidth=0.7,
      color=look.color,
    )
  axis.plot(
    [x],
    [mean],
    linestyle='none',
    marker=look.marker,
    markersize=4.5,
    color=look.color,
    markerfacecolor=look.color if state == 'personalized' else 'white',
    markeredgewidth=0.9,
    zorder=4,
  )


def _compare(
  scores: Mapping[settings_lib.Setting, Mapping[str, Scores]],
  baselines: Mapping[str, str],
  name: str,
) -> dict[
  settings_lib.Setting,
  dict[str, tuple[paired_comparison.PairedComparison, np.ndarray]],
]:
  """Returns paired differences to the baseline of equal epochs and rounds."""
  higher = metric_names.higher_is_better(name)
  found = {}
  for s, of_states in scores.items():
    others = [
      other
      for other in scores
      if other.method == baselines.get(s.method)
      and (other.local_epochs, other.rounds) == (s.local_epochs, s.rounds)
    ]
    for state, of_seeds in of_states.items() if others else ():
      reference = scores[others[0]][state]
      common = [seed for seed in of_seeds if seed in reference]
      if common:
        a = {seed: of_seeds[seed] for seed in common}
        b = {seed: reference[seed] for seed in common}
        result = paired_comparison.compare_paired(a, b, higher_is_better=higher)
        values = np.array([a[seed] - b[seed] for seed in common])
        found.setdefault(s, {})[state] = (result, values)
  return found


def _draw_differences(
  axis: mpl_axes.Axes,
  of_states: Mapping[
    str, tuple[paired_comparison.PairedComparison, np.ndarray]
  ],
  place: _Place,
  look: style.SeriesStyle,
) -> None:
  for state, (result, values) in of_states.items():
    _draw_point(axis, place.of(state), result.mean, values, look, state)


def _set_x_axis(
  axis: mpl_axes.Axes, settings: Sequence[settings_lib.Setting]
) -> None:
  epochs = sorted({s.local_epochs for s in settings})
  axis.set_xticks(range(len(epochs)), [str(number) for number in epochs])
  axis.set_xlim(-0.5, len(epochs) - 0.5)
  rounds = {s.rounds for s in settings}
  what = (
    f'{rounds.pop()} rounds'
    if len(rounds) == 1
    else f'{max(s.total_epochs for s in settings)} in total'
  )
  axis.set_xlabel(f'Local epochs a round ({what})')


def _state_handles() -> list[mpl_lines.Line2D]:
  return [
    mpl_lines.Line2D(
      [],
      [],
      linestyle='none',
      marker='o',
      markersize=4.5,
      color=style.MUTED,
      markerfacecolor=fill,
      markeredgewidth=0.9,
      label=label,
    )
    for fill, label in (
      ('white', 'global'),
      (style.MUTED, 'personalised'),
    )
  ]


def _caption(
  scores: Mapping[settings_lib.Setting, Mapping[str, Scores]],
  name: str,
  split: str,
) -> str:
  counts = [len(of['global']) for of in scores.values() if of['global']]
  seeds = paper_style.seeds_phrase(counts or [0])
  caption = (
    f'{style.metric_title(name)} on {split} clients by local epochs: of the '
    'global model (open) and after personalisation (filled), both on the half '
    'of each client that fine-tuning does not see. Points: means over '
    f'{seeds}; bars: lowest to highest seed; dashes: each seed.'
  )
  diverged = [
    f'{s.method} at {_epochs(s)} ({s.task}): '
    f'{len(s.runs) - len(of["global"])} of {len(s.runs)}'
    for s, of in scores.items()
    if len(of['global']) < len(s.runs)
  ]
  if diverged:
    caption += f' Left out, without a finite value: {"; ".join(diverged)}.'
  return caption


def _differences_caption(differences: Mapping, baselines: Mapping) -> str:
  pairs = settings_lib.unique(
    f'{method} minus {baseline}'
    for of_task in baselines.values()
    for method, baseline in of_task.items()
  )
  lines = [
    f'{s.task}, {s.method}, {_epochs(s)}, {state}: {result}'
    for s, of_states in differences.items()
    for state, (result, _) in of_states.items()
  ]
  return (
    f' Below: differences within seeds, {paper_style.join_words(pairs)}.\n'
    + '\n'.join(f'  {line}' for line in lines)
  )


def _epochs(setting: settings_lib.Setting) -> str:
  return method_labels.count(setting.local_epochs, 'local epoch')
