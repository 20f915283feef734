# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Figure 5 of FedFish: scores on other corpora by share of a client's data.

Scores are zero-shot, few-shot and personalised, always on the same unseen half
of each held-out client, for the half-way and the last model (arXiv 2311.10291,
section 5).
"""

from fedfish_tff import errors
from launch.plots import panels
from launch.plots import style
from launch.plots import transfer
from launch.results import column_titles
from launch.results import frames as frames_lib
from launch.results import run_notes
from launch.results import run_reader
from launch.results import transfer_table

import numpy as np
import pandas as pd


@style.styled_for_paper
def plot_transfer(
  settings: frames_lib.Frames, metric: str
) -> panels.Drawing | None:
  """Plots a column of panels per target, with rows for R/2 and R.

  Methods differ in colour and marker, local epochs in line style.

  Args:
    settings: The settings whose runs launch.evaluate --targets has scored.
    metric: A metric of the model, for example `'accuracy'`.

  Returns:
    The figure and its caption; None if no run has been scored.
  """
  points = transfer_table.read_points(settings)
  points = points[points['metric'] == metric]
  points = points[np.isfinite(points['mean'])]
  if points.empty:
    return None
  order = {transfer_table.HALF: 0, transfer_table.LAST: 1}
  points = points.sort_values('at', key=lambda at: at.map(order), kind='stable')
  figure = transfer.plot_points(points, (panels.PAPER_COLUMN, 1.9))
  runs = settings.runs[settings.runs['label'].isin(points['label'])]
  columns = [f'{of}/{metric}' for of in run_reader.FEW_SHOT_COLUMNS.values()]
  note = run_notes.join(
    [
      run_notes.tell_starts(runs, columns),
      run_notes.tell_fine_tuning(runs, [f'test/personalized/{metric}']),
    ]
  )
  return panels.Drawing(figure, f'{_caption(points, metric)} {note}'.rstrip())


def _caption(points: pd.DataFrame, metric: str) -> str:
  line = ['label', 'at', 'target', 'percent']
  caption = (
    f'{column_titles.title(metric)} on held-out clients after fine-tuning on a '
    'share of the data of each, always on the same unseen half; clients of '
    'fewer than 4 examples are left out. R is the last round, R/2 the round '
    'half-way. Points: means over clients, then over '
    f'{run_notes.count_seeds(points.groupby(line).size())}; bars: '
    f'{transfer.tell_bars(points)}.'
  )
  for (task, target), of in points.groupby(['task', 'target'], sort=False):
    numbers, too_small = (
      errors.span(of[name]) for name in ('num_clients', 'num_too_small')
    )
    left_out = f'{too_small} too small'
    if of['num_diverged'].any():
      left_out += f', {errors.span(of["num_diverged"])} diverged'
    caption += f' {task} to {target}: {numbers} clients ({left_out}).'
  return caption
