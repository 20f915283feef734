# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Figure 6 of FedFish: barriers of each method against FedAvg's.

`launch.plots.barrier` draws the points; a marker tells the number of local
epochs, a shade the round (arXiv 2311.10291, section 5).
"""

from launch.plots import barrier
from launch.plots import panels
from launch.plots import style
from launch.results import frames as frames_lib
from launch.results import run_notes


@style.styled_for_paper
def plot_barrier_panels(
  settings: frames_lib.Frames, name: str
) -> panels.Drawing | None:
  """Plots barriers against the baseline's, with a panel per task and method.

  Points are shaded by round and have a marker for each number of local epochs.

  Args:
    settings: The settings of all tasks, with their baselines.
    name: The metric of the barriers, for example `'accuracy'`.

  Returns:
    The figure and its caption; None if no two methods have barriers at a common
    seed and round.
  """
  points = barrier.read_points(settings, name)
  if points.empty:
    return None
  few = points.groupby(['task', 'method']).ngroups < 3
  figure = barrier.draw_panels(
    points, name, (panels.PAPER_COLUMN, 2.9 if few else 2.3), panels.PAPER_POINT
  )
  lines = []
  for _, of in points.groupby('label', sort=False):
    one, ties = of.iloc[0], (of['gain'] == 0).sum()
    lines.append(
      f'  {one.task}, {one.method} against {one.baseline}, '
      f'{panels.name_epochs(one.local_epochs)}: lower for {one.method} at '
      f'{(of["gain"] > 0).sum()} of {len(of)} points'
      + f' ({ties} tied)'
      * bool(ties)
    )
  seeds = run_notes.count_seeds(points.groupby('label')['seed'].nunique())
  caption = (
    f'Client-server barrier in {name} of the cohorts, one point per seed and '
    f'round, {seeds}; lower is better, so points above the line '
    'y = x speak for the method on the x axis. Shades: rounds; markers: local '
    'epochs.'
  )
  clients = run_notes.join([run_notes.tell_clients(settings.runs)])
  caption = f'{caption} {clients}'.rstrip() + '\n'
  return panels.Drawing(figure, caption + '\n'.join(lines))
