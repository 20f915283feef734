# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Draws where FedFish gains over FedAvg, and how many clients decide there.

The runs are those of the sweep `surface` of a config, such as digits:

  python -m launch.sweep --config=digits:surface_tuning \
    --sweep_dir=runs/digits_surface_tuning
  python -m launch.sweep --config=digits:surface \
    --tuned_by=runs/digits_surface_tuning --sweep_dir=runs/digits_surface
  python -m launch.studies.gain_surface \
    --runs=runs/digits_surface/runs.csv --output_dir=plots

writes gain_surface.png and gain_surface.csv, a row per cell, to --output_dir.
Each panel has heterogeneity down, local epochs across: the gain in accuracy on
test clients, and the effective number of clients per weight relative to the
cohort (see `FisherWeightedMeanFactory`). The last panel has one against the
other, with Spearman's rank correlation over the cells.

A gain is the mean difference of runs with one seed. Its p-value is that of all
flips of the differences' signs, times Holm's factor over the cells.
"""

from collections.abc import Sequence

from fedfish_tff import errors
from fedfish_tff import simulation
from launch import cli
from launch import path_flags
from launch.plots import heat_map
from launch.plots import panels
from launch.plots import style

from absl import flags
from matplotlib import colors as mpl_colors
from matplotlib import figure as mpl_figure
import numpy as np
import pandas as pd
from scipy import stats

_HETEROGENEITY, _EPOCHS = 'task.alpha', 'local_epochs'
_CELL = [_HETEROGENEITY, _EPOCHS]
_METRIC = 'test/global/accuracy'
_EFFECTIVE = 'aggregator/effective_clients_mean'
_BASELINE, _METHOD = 'fed_avg,server=sgd', 'diagnosed,server=sgd'
_LEVEL = 0.05

_RUNS = path_flags.define('runs', None, 'The runs.csv of the sweep.')
_OUTPUT_DIR = path_flags.define(
  'output_dir', None, 'The folder for the figure; made if it does not exist.'
)
_COHORT = flags.DEFINE_integer(
  'cohort_size', 5, 'The clients per round in the sweep.', lower_bound=1
)


def measure(runs: pd.DataFrame, *, cohort_size: int) -> pd.DataFrame:
  """Returns a row for each cell of the surface.

  Args:
    runs: The rows of runs.csv.
    cohort_size: The number of clients per round.

  Returns:
    By heterogeneity and local epochs: `gain`, `seeds`, `p` (after Holm) and
    `effective`, the share of the cohort that decides a weight.

  Raises:
    errors.InputError: If a column or a method is missing.
  """
  for name in (*_CELL, 'variant', 'seed', _METRIC, _EFFECTIVE):
    if name not in runs:
      raise errors.InputError(f'--runs must have the column {name}.')
  wide = runs.pivot(index=[*_CELL, 'seed'], columns='variant', values=_METRIC)
  for variant in (_BASELINE, _METHOD):
    if variant not in wide:
      raise errors.InputError(f'--runs must have runs of {variant}.')
  gains = (wide[_METHOD] - wide[_BASELINE]).groupby(_CELL)
  cells = gains.agg(gain='mean', seeds='count', p=_flip_signs)
  cells['p'] = _holm(cells['p'].to_numpy())
  methods = runs[runs['variant'] == _METHOD]
  cells['effective'] = methods.groupby(_CELL)[_EFFECTIVE].mean() / cohort_size
  return cells


def _flip_signs(differences: pd.Series) -> float:
  """Returns the two-sided p-value over all flips of signs."""
  return stats.permutation_test(
    (differences.dropna().to_numpy(),),
    np.mean,
    permutation_type='samples',
    n_resamples=np.inf,
  ).pvalue


def _holm(p: np.ndarray) -> np.ndarray:
  """Returns p-values adjusted for their number (Holm, 1979)."""
  order = np.argsort(p)
  factors = np.arange(len(p), 0, -1)
  adjusted = np.empty(len(p))
  adjusted[order] = np.maximum.accumulate(factors * p[order]).clip(max=1)
  return adjusted


@style.styled
def draw(cells: pd.DataFrame) -> mpl_figure.Figure:
  """Draws the surface, the effective clients, and one against the other.

  Args:
    cells: The cells, from `measure`.
  """
  figure, axes = panels.new_grid([0, 1, 2], (4.4, 3.5))
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
      "FedFish's gain in accuracy, test clients",
      {'cmap': 'RdBu', 'norm': norm},
    ),
    (
      axes[1],
      effective,
      effective.map('{:.0%}'.format),
      'Share of the cohort that decides a weight',
      {},
    ),
  ):
    image = heat_map.draw_table(axis, table.to_numpy(), **look)
    heat_map.write_cells(image, texts.to_numpy())
    heat_map.name_ticks(axis.xaxis, [f'{v:g}' for v in table.columns])
    heat_map.name_ticks(axis.yaxis, [f'{v:g}' for v in table.index])
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
    f'Rank correlation {rank.correlation:+.2f} (p = {rank.pvalue:.2g})',
  )
  last.set_ylabel('Gain in accuracy')
  panels.set_figure_title(
    figure, 'FedFish against FedAvg: where it gains, and who decides there'
  )
  seeds = int(cells['seeds'].min())
  panels.draw_legend(
    figure,
    note=f'Means of {seeds} seeds. * p < {_LEVEL:g} over all flips of signs, '
    f'after Holm over {len(cells)} cells.',
  )
  return figure


def main(argv: Sequence[str]) -> None:
  """Runs the binary."""
  cli.check_no_arguments(argv)
  if not _RUNS.value or not _OUTPUT_DIR.value:
    raise errors.InputError(
      '--runs and --output_dir must be given; --help shows an example.'
    )
  try:
    runs = pd.read_csv(_RUNS.value)
  except (OSError, ValueError) as error:
    raise errors.InputError(
      f'{_RUNS.value} must be the runs.csv of a sweep: {error}.'
    ) from error
  cells = measure(runs, cohort_size=_COHORT.value)
  folder = simulation.make_folder(_OUTPUT_DIR.value)
  style.save_figure(draw(cells), folder / 'gain_surface.png')
  table = cells.to_csv(float_format='%.6g')
  simulation.write_atomically(folder / 'gain_surface.csv', table.encode())
  print(cells.to_string(float_format='{:.3g}'.format))


if __name__ == '__main__':
  cli.run(main)
