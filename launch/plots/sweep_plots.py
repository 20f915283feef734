# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Draws the plots that suit a sweep."""

from collections.abc import Collection
from collections.abc import Mapping
import pathlib

from fedfish_tff.evaluation import ranking
from launch.plots import catalogue
from launch.plots import comparison
from launch.plots import heat_map
from launch.plots import panels
from launch.plots import style
from launch.results import column_titles
from launch.results import run_labels
from launch.results import run_notes
from launch.results import sweep_folder
from launch.results import sweep_results

from matplotlib import colors as mpl_colors
from matplotlib import figure as mpl_figure
from matplotlib import patches
import numpy as np
import pandas as pd


def draw(
  folder: sweep_folder.SweepFolder, runs: pd.DataFrame
) -> list[pathlib.Path]:
  """Draws a sweep into its folder of plots; prints and returns the paths.

  A sweep over both learning rates gets heat maps of the validation metric, one
  figure for each value of its other fields, with a panel per variant. Any other
  sweep gets comparisons of its methods for each value of the fields that they
  share, such as local epochs. The runs are those of
  `sweep_results.read_results`.
  """
  finished = runs[runs['is_finished'].astype(bool)]
  if finished.empty:
    return []
  tuned = sweep_results.is_tuned(runs)
  if tuned and all(_varies(runs, rate) for rate in run_labels.RATES):
    figures = draw_heat_maps(runs)
    paths = catalogue.write_figures(figures, folder.plots_path)
    for path in paths:
      print(path)
    return paths
  paths, left_out = [], sweep_results.tell_unfinished(runs)
  comparisons = find_comparisons(runs)
  names = style.slugs(comparisons)
  for setting, workdirs in comparisons.items():
    target = folder.plots_path / names[setting]
    paths += comparison.compare_workdirs(
      workdirs, target, setting=setting, left_out=left_out
    )
  return paths


def _varies(runs: pd.DataFrame, field: str) -> bool:
  values = {varied.get(field) for varied in runs['varied']}
  return len(values) > 1 and None not in values


def draw_heat_maps(runs: pd.DataFrame) -> dict[str, mpl_figure.Figure]:
  """Returns a figure for each setting without its variant, by file name."""
  figures = {}
  labels = _describe(runs, run_labels.RATES)
  names = style.slugs(f'learning_rates {label}' for label in labels)
  for label, of in runs.groupby(labels, sort=False):
    table = sweep_results.tabulate(of)
    title = f'Scores by learning rates ({of["task"].iloc[0]})'
    rates = [table['config'].str[rate] for rate in run_labels.RATES]
    figures[names[f'learning_rates {label}']] = plot_heat_map(
      table.set_index(['method', *rates])['validation'],
      columns=dict(zip(table['method'], table['column'])),
      higher_is_better=sweep_results.judged(of).higher_is_better,
      title=f'{title}, {label}' if label else title,
      note=run_notes.describe_finished(
        of,
        'a cell is their mean, the best is framed, and a cross tells that one '
        'has diverged or is not finished',
        'title',
      ),
    )
  return figures


@style.styled
def plot_heat_map(
  values: pd.Series,
  *,
  columns: Mapping[str, str],
  higher_is_better: bool,
  title: str,
  note: str = '',
) -> mpl_figure.Figure:
  """Draws a metric over client and server learning rates.

  Panels with scores of different columns name theirs. The best cell of a panel
  has a frame, on a tie the first given. A cell without a finite value, since a
  run has diverged or is not finished, is blank and crossed.

  Args:
    values: The metric by the panel's title, the client and the server rate.
    columns: The column that the values are of, such as
      `'validation/global/accuracy'`, by the panel's title.
    higher_is_better: Whether higher values of the metric are better.
    title: The title of the figure, above the panels.
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
  scored = {name: column_titles.title(of) for name, of in columns.items()}
  several = len(set(scored.values())) > 1
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
    at_y, at_x = np.nonzero(~np.isfinite(table))
    axis.plot(at_x, at_y, 'x', color=style.MUTED, markersize=6)
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
      axis,
      'Server learning rate',
      'Client learning rate',
      name,
      scored[name] if several else '',
    )
  if len(finite):
    extend = 'max' if high < finite.max() else 'neither'
    label = 'Score' if several else next(iter(scored.values()))
    panels.draw_colorbar(image, axes, label, extend=extend)
  panels.set_figure_title(figure, title)
  panels.draw_legend(figure, note=note)
  return figure


def find_comparisons(runs: pd.DataFrame) -> dict[str, list[pathlib.Path]]:
  """Returns finished workdirs to compare, by the setting that they share.

  Runs of different methods are compared if they agree in the other fields, and
  a field of a block, such as the share that clients send, is part of the method.
  If each setting has one pair of learning rates, these are tuned and do not
  distinguish settings.
  """
  tuned = sweep_results.is_tuned(runs)
  finished = runs[runs['is_finished'].astype(bool)]
  fields = {field for varied in finished['varied'] for field in varied}
  labels = _describe(
    finished,
    [
      *filter(run_labels.is_of_method, fields),
      *(() if tuned else run_labels.RATES),
    ],
  )
  return {
    label: list(of['workdir'])
    for label, of in finished.groupby(labels, sort=False)
  }


def _describe(runs: pd.DataFrame, without: Collection[str]) -> pd.Series:
  """Returns each run's varied fields, without variants and seeds."""
  labels = [
    ', '.join(run_labels.describe_fields(varied, ['seed', *without]))
    for varied in runs['varied']
  ]
  return pd.Series(labels, runs.index)
