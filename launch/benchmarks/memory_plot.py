# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The plot of resident memory against rounds."""

from collections.abc import Sequence
import pathlib

from fedfish_tff import errors
from launch.benchmarks import memory_growth
from launch.plots import style

from matplotlib import figure as mpl_figure


def check_path(path: pathlib.Path) -> None:
  """Raises InputError if a plot cannot be written to the path."""
  if path.suffix.lstrip('.') not in style.FORMATS:
    raise errors.InputError(
      f'--plot={path} has no known format; expected a name that ends in '
      f'{", ".join("." + f for f in style.FORMATS)}.'
    )
  if not path.absolute().parent.is_dir():
    raise errors.InputError(f'--plot={path}: its folder does not exist.')


@style.styled
def plot_memory(
  samples: Sequence[memory_growth.Sample],
) -> mpl_figure.Figure:
  """Plots resident memory from zero, so that growth shows in proportion."""
  figure = style.new_figure(7, 3.5)
  axis = figure.subplots()
  axis.plot(
    [sample.round_number for sample in samples],
    [sample.resident_bytes / 1e6 for sample in samples],
    color=style.series_looks([''])['']['color'],
    linewidth=1,
  )
  axis.set_ylim(bottom=0)
  axis.set_title('Memory over rounds of varying cohorts')
  axis.set_xlabel('Round')
  axis.set_ylabel('Resident memory (MB)')
  return figure


def draw(samples: Sequence[memory_growth.Sample], path: pathlib.Path) -> None:
  """Writes the plot.

  Args:
    samples: Of all rounds.
    path: Where to; see `check_path`.
  """
  style.save_figure(plot_memory(samples), path)
