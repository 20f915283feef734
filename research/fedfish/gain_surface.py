# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Draws where FedFish gains over FedAvg, and how many clients decide there.

The runs are those of the sweep `surface` of research/fedfish/digits.py or of
images.py beside it:

  python -m launch.sweep --config=research/fedfish/digits.py:surface_tuning \
    --sweep_dir=runs/digits_surface_tuning
  python -m launch.sweep --config=research/fedfish/digits.py:surface \
    --tuned_by=runs/digits_surface_tuning --sweep_dir=runs/digits_surface
  python -m research.fedfish.gain_surface \
    --surface=Digits:5:runs/digits_surface/runs.csv --output_dir=plots

writes gain_surface.png and gain_surface.csv, a row per cell, to --output_dir.
Several --surface give a row of panels each, which have heterogeneity down and
local epochs across: the gain in accuracy on test clients, and the effective
number of clients per weight relative to the cohort, which
`FisherWeightedMeanFactory` measures. The last panel of a row has one against
the other, with Spearman's rank correlation over the cells.

A gain is the mean difference of runs with one seed. Its p-value is that of all
flips of the differences' signs, times Holm's factor over the row's cells.
"""

from collections.abc import Mapping
from collections.abc import Sequence

from fedfish_tff import errors
from fedfish_tff import evaluation
from fedfish_tff import simulation
from launch import cli
from launch import path_flags
from launch.plots import heat_map
from launch.plots import panels
from launch.plots import style

from absl import flags
from matplotlib import axes as mpl_axes
from matplotlib import colors as mpl_colors
from matplotlib import figure as mpl_figure
import numpy as np
import pandas as pd
from scipy import stats

_HETEROGENEITY, _EPOCHS = 'task.alpha', 'local_epochs'
_CELL = [_HETEROGENEITY, _EPOCHS]
_METRIC = 'test/global/accuracy'
_EFFECTIVE = 'aggregator/effective_clients_mean'
_BASELINE, _METHOD = 'fed_avg', 'diagnosed'
_LEVEL = 0.05
# Clients that no alpha has drawn, such as writers.
_PUBLISHED = 'published'

_SURFACES = flags.DEFINE_multi_string(
  'surface',
  None,
  'The data set, the clients per round and the runs.csv of its sweep, between '
  'colons.',
)
_OUTPUT_DIR = path_flags.define(
  'output_dir', None, 'The folder for the figure; made if it does not exist.'
)


def measure(runs: pd.DataFrame, *, cohort_size: int) -> pd.DataFrame:
  """Returns a row for each cell of the surface.

  Args:
    runs: The rows of runs.csv.
    cohort_size: The number of clients per round.

  Returns:
    By heterogeneity (text, in the order of alphas, last the published clients)
    and local epochs: `gain`, `seeds` with runs of both methods, `p` (after
    Holm) and `effective`, the share of the cohort that decides a weight.
  """
  for name in (*_CELL, 'variant', 'seed', _METRIC, _EFFECTIVE):
    if name not in runs:
      raise errors.InputError(f'the runs must have the column {name}.')
  runs = runs.sort_values(_HETEROGENEITY)
  alphas = runs[_HETEROGENEITY].map('{:g}'.format, na_action='ignore')
  alphas = alphas.fillna(_PUBLISHED)
  runs[_HETEROGENEITY] = pd.Categorical(alphas, alphas.unique(), ordered=True)
  # Axes that all runs share follow, such as size=results; older sweeps name the
  # plain server.
  pattern = f'^({_BASELINE}|{_METHOD})(?:,server=sgd)?(?:,(?!server=)|$)'
  runs['variant'] = runs['variant'].str.extract(pattern)
  wide = runs.dropna(subset='variant').pivot(
    index=[*_CELL, 'seed'], columns='variant', values=_METRIC
  )
  for variant in (_BASELINE, _METHOD):
    if variant not in wide:
      raise errors.InputError(f'the runs must have some of {variant}.')
  gains = (wide[_METHOD] - wide[_BASELINE]).dropna()
  cells = gains.groupby(_CELL, observed=True).agg(
    gain='mean', seeds='count', p=evaluation.flip_signs
  )
  cells['p'] = evaluation.adjust_holm(cells['p'])
  methods = runs[runs['variant'] == _METHOD].groupby(_CELL, observed=True)
  cells['effective'] = methods[_EFFECTIVE].mean() / cohort_size
  return cells


@style.styled
def draw(surfaces: Mapping[str, pd.DataFrame]) -> mpl_figure.Figure:
  """Draws the surface, the effective clients, and one against the other.

  Args:
    surfaces: The cells, from `measure`, of each data set.
  """
  figure, axes = panels.new_grid(range(3 * len(surfaces)), (4.4, 3.2))
  for (name, cells), row in zip(surfaces.items(), np.reshape(axes, (-1, 3))):
    _draw_row(row, name, cells)
  panels.set_figure_title(
    figure, 'FedFish against FedAvg: where it gains, and who decides there'
  )
  fewest = min(cells['seeds'].min() for cells in surfaces.values())
  panels.draw_legend(
    figure,
    note=f'Means of at least {fewest} seeds. * p < {_LEVEL:g} over all flips of '
    'signs, after Holm over the cells of a data set.',
  )
  return figure


def _draw_row(
  axes: Sequence[mpl_axes.Axes], name: str, cells: pd.DataFrame
) -> None:
  gains = cells['gain'].unstack()
  largest = np.nanmax(np.abs(gains.to_numpy()))
  norm = mpl_colors.CenteredNorm(0, largest)
  signed = gains.map('{:+.3f}'.format)
  sure = cells['p'].unstack() < _LEVEL
  effective = cells['effective'].unstack()
  for axis, table, texts, title, look in (
    (
      axes[0],
      gains,
      signed.where(~sure, signed + '*'),
      f'{name}: gain in accuracy, test clients',
      {'cmap': 'RdBu', 'norm': norm},
    ),
    (
      axes[1],
      effective,
      effective.map('{:.0%}'.format),
      f'{name}: share that decides a weight',
      {},
    ),
  ):
    image = heat_map.draw_table(axis, table.to_numpy(), **look)
    heat_map.write_cells(image, texts.to_numpy())
    heat_map.name_ticks(axis.xaxis, [f'{v:g}' for v in table.columns])
    heat_map.name_ticks(axis.yaxis, list(table.index))
    panels.set_labels(axis, 'Local epochs', '', title)
    axis.set_ylabel('Alpha (lower: more heterogeneous)')
  last = axes[2]
  for epochs, some in cells.groupby(level=_EPOCHS):
    last.plot(some['effective'], some['gain'], 'o', label=f'{epochs:g}')
  last.axhline(0, color=style.MUTED, linewidth=1)
  last.legend(title='Local epochs')
  rank = stats.spearmanr(cells['effective'], cells['gain'])
  panels.set_labels(
    last,
    'Share of the cohort that decides a weight',
    '',
    f'{name}: rank correlation {rank.correlation:+.2f}',
    f'p = {evaluation.format_p(rank.pvalue)}',
  )
  last.set_ylabel('Gain in accuracy')


def _read_surface(text: str) -> tuple[str, pd.DataFrame]:
  """Returns the name and the cells of a value of --surface."""
  name, *rest = text.split(':', 2)
  if not name or len(rest) != 2 or not rest[0].isdecimal() or not int(rest[0]):
    raise errors.InputError(
      f'--surface must be NAME:CLIENTS:PATH, such as Digits:5:runs.csv, got '
      f'{text!r}.'
    )
  cohort_size, path = rest
  try:
    runs = pd.read_csv(path_flags.expand(path))
  except (OSError, ValueError) as error:
    raise errors.InputError(
      f'{path} must be the runs.csv of a sweep: {error}.'
    ) from error
  return name, measure(runs, cohort_size=int(cohort_size))


def main(argv: Sequence[str]) -> None:
  """Runs the binary."""
  cli.check_no_arguments(argv)
  cli.check_given(_SURFACES, _OUTPUT_DIR)
  surfaces = dict(map(_read_surface, _SURFACES.value))
  folder = simulation.make_folder(_OUTPUT_DIR.value)
  style.save_figure(draw(surfaces), folder / 'gain_surface.png')
  table = pd.concat(surfaces, names=['data'])
  csv = table.to_csv(float_format='%.6g')
  simulation.write_atomically(folder / 'gain_surface.csv', csv.encode())
  print(table.to_string(float_format='{:.3g}'.format))


if __name__ == '__main__':
  cli.run(main)
