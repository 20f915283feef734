# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A heat map of a grid of learning rates, with a panel per method."""

from fedfish_tff.evaluation import ranking
from launch.plots import heat_map
from launch.plots import panels
from launch.plots import style

from matplotlib import colors as mpl_colors
from matplotlib import figure as mpl_figure
from matplotlib import patches
import numpy as np
import pandas as pd


@style.styled
def plot_heat_map(
  values: pd.Series,
  *,
  metric: str,
  higher_is_better: bool,
  title: str,
  note: str = '',
) -> mpl_figure.Figure:
  """Draws a metric over client and server learning rates.

  The best cell of a panel has a frame, on a tie the first given. A cell without
  a finite value, since a run has diverged or is not finished, is blank and
  crossed.

  Args:
    values: The metric by the panel's title, the client and the server rate.
    metric: The metric's name.
    higher_is_better: Whether higher values of the metric are better.
    title: The title of the figure.
    note: A note on the runs.
  """
  client, server = (sorted(values.index.unique(i)) for i in (1, 2))
  by_panel = dict(iter(values.groupby(level=0, sort=False)))
  tables = [
    of.droplevel(0).unstack().reindex(index=client, columns=server).to_numpy()
    for of in by_panel.values()
  ]
  finite = values[np.isfinite(values)]
  # Losses far above the best would give all others the same colour.
  highest = 1.0 if higher_is_better else 0.8
  low, high = np.quantile(finite, [0, highest]) if len(finite) else (0, 1)
  norm = mpl_colors.Normalize(low, high, clip=True)
  figure, axes = panels.new_grid(
    tables,
    (0.62 * len(server) + 1.2, 0.5 * len(client) + 1.0),
    sharex=True,
    sharey=True,
  )
  for axis, name, table in zip(axes, by_panel, tables):
    image = heat_map.draw_table(
      axis,
      table,
      origin='lower',
      cmap='cividis' if higher_is_better else 'cividis_r',
      norm=norm,
    )
    axis.set_facecolor('none')
    texts = np.array([[style.format_value(v) for v in row] for row in table])
    heat_map.write_cells(image, texts, size=8)
    rows, columns = np.nonzero(~np.isfinite(table))
    axis.plot(columns, rows, 'x', color=style.MUTED, markersize=6)
    best = ranking.select_best(
      by_panel[name][np.isfinite(by_panel[name])].to_dict(),
      higher_is_better=higher_is_better,
    )
    if best is not None:
      row, column = client.index(best.best[1]), server.index(best.best[2])
      frame = patches.Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False)
      frame.set(edgecolor='#D55E00', linewidth=2.2, clip_on=False, zorder=3)
      axis.add_patch(frame)
    heat_map.name_ticks(axis.xaxis, [f'{rate:g}' for rate in server])
    heat_map.name_ticks(axis.yaxis, [f'{rate:g}' for rate in client])
    # The last panel of a column need not be in the last row.
    axis.tick_params(labelbottom=True)
    panels.set_labels(
      axis, 'Server learning rate', 'Client learning rate', name
    )
  if len(finite):
    extend = 'max' if high < finite.max() else 'neither'
    label = style.metric_title(metric)
    panels.draw_colorbar(image, axes, label, extend=extend)
  panels.set_figure_title(figure, title)
  panels.draw_legend(figure, note=note)
  return figure
