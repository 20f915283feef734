# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Figures 3 to 6 of FedFish (arXiv 2311.10291), with captions.

  python -m launch.plot --layout=research.fedfish.figures:draw \
    --sweep_dir=runs/fixed_compute --output_dir=plots

draws, as far as the runs have the data,

  fixed_compute: the metric against rounds, local steps and bytes for runs with
    equal rounds times local epochs; a panel per task
  local_epochs: scores on test clients before and after personalisation by
    local epochs, and their paired differences to FedAvg
  transfer: scores on other tasks by the share of a client's data, at half of
    the rounds and at the end, of workdirs that launch.evaluate --targets has
    scored. --metric chooses a metric other than accuracy, such as
    --metric=eval/global/perplexity
  barrier: the barriers of each method against FedAvg's, a marker for each
    number of local epochs, shaded by round
"""

from fedfish_tff import errors
from launch.plots import curves
from launch.plots import panels
from launch.plots import style
from launch.results import frames as frames_lib
from launch.results import settings as settings_lib
from launch.results import text_table
from research.fedfish import barrier_panels
from research.fedfish import fixed_compute
from research.fedfish import local_epochs
from research.fedfish import transfer_panels
from research.fedfish import views

_SEVERAL = (
  'runs of one task with several numbers of local epochs and equal rounds'
)
# What each figure needs of the runs.
_NEEDS = {
  'fixed_compute': f'{_SEVERAL} times local epochs',
  'local_epochs': f'{_SEVERAL}, or equal rounds times local epochs',
  'barrier': (
    'barriers in {metric} (evaluation.barrier) of a method and of FedAvg or '
    'FedSGD with the same seeds, rounds and local epochs'
  ),
  'transfer': 'scores of {metric} by launch.evaluate --targets',
}


def draw(frames: frames_lib.Frames, metric: str) -> dict[str, panels.Drawing]:
  """Draws the figures that the runs make, at least one.

  What the others need is printed.

  Args:
    frames: The labelled runs.
    metric: A column of metrics.csv.

  Returns:
    The drawings by the names of their files.
  """
  settings = settings_lib.read_settings(frames)
  name = metric.rpartition('/')[2]
  compute = views.fixed_compute(settings)
  shown = {
    '_fixed_rounds': views.fixed_rounds(settings),
    '_fixed_compute': compute,
  }
  figures = {
    'fixed_compute': {
      f'fixed_compute_{metric}_by_{x}': fixed_compute.plot_fixed_compute(
        compute, metric, x=x
      )
      for x in curves.X_AXES
    },
    'local_epochs': {
      f'local_epochs_{name}{view}': local_epochs.plot_local_epochs(of, name)
      for view, of in shown.items()
    },
  }
  # Without several local epochs there is one figure for all settings.
  if all(of.runs.empty for of in shown.values()):
    shown = {'': settings}
  figures |= {
    'barrier': {
      f'barrier_panels_{name}{view}': barrier_panels.plot_barrier_panels(
        of, name
      )
      for view, of in shown.items()
    },
    'transfer': {
      f'transfer_{name}{view}': transfer_panels.plot_transfer(of, name)
      for view, of in shown.items()
    },
  }
  found = {
    figure: {style.slug(file): of for file, of in drawn.items() if of}
    for figure, drawn in figures.items()
  }
  needs = {
    figure: _NEEDS[figure].format(metric=name)
    for figure, drawings in found.items()
    if not drawings
  }
  if len(needs) == len(figures):
    raise errors.InputError(
      f'The figures of FedFish must have {"; or ".join(needs.values())}; got '
      f'{_describe(settings)}.'
    )
  for figure, needed in needs.items():
    print(f'The figure {figure} is left out: it needs {needed}.')
  return {
    file: of for drawings in found.values() for file, of in drawings.items()
  }


def _describe(settings: frames_lib.Frames) -> str:
  told = [
    f'{s.method} on {s.task}, {text_table.count(s.rounds, "round")}'
    for s in settings_lib.describe(settings).itertuples()
  ]
  return '; '.join(told[:4]) + '; ...' * (len(told) > 4)
