# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedRep and SRPFL on linear representations: three claims of a theory."""

from collections.abc import Mapping
from collections.abc import Sequence

from launch.plots import panels
from launch.plots import style

from matplotlib import axes as mpl_axes
from matplotlib import figure as mpl_figure
from matplotlib import ticker
import numpy as np

_TITLE = 'SRPFL: fast clients first, all clients for the last bit of accuracy'
_DERIVED = {'color': style.MUTED, 'linestyle': (0, (5, 1.5))}
_STYLES = (_DERIVED, _DERIVED | {'linestyle': (0, (1, 1.2))})

# Seconds and distances of a run.
Points = tuple[np.ndarray, np.ndarray]


@style.styled
def plot_linear_representation(
  traces: Mapping[str, Sequence[Points]],
  limits: Mapping[int, Sequence[float]],
  limit_of_one: float,
  *,
  simulated: Mapping[int, float],
  derived: Mapping[str, Mapping[int, float]],
) -> mpl_figure.Figure:
  """Plots distance by time, its limit by clients, and the time saved.

  Args:
    traces: Runs by the method's name, one a seed, from their starts on.
    limits: By the number of clients a round, the limit, one a seed.
    limit_of_one: b of the limits b / sqrt(n).
    simulated: By the number of all clients, SRPFL's time over FedRep's.
    derived: The same, by what it is derived from; of one thing or two.
  """
  figure, (left, middle, right) = panels.new_grid(range(3), (4.4, 3.8))
  looks = style.series_looks(list(traces))
  for method, runs in traces.items():
    for seed, (seconds, distances) in enumerate(runs):
      # The start, before any time, has no logarithm.
      left.plot(
        seconds[1:],
        distances[1:],
        **looks[method] | {'markersize': 3, 'linewidth': 1.2},
        label='_' * bool(seed) + method,
      )
  left.set(xscale='log', yscale='log')
  for dimension in (left.xaxis, left.yaxis):
    dimension.set_major_formatter(ticker.StrMethodFormatter('{x:g}'))
    dimension.set_minor_formatter(ticker.NullFormatter())
  panels.set_labels(
    left,
    'simulated seconds',
    'distance to the true representation',
    'Contraction',
    'one line a seed, one marker a round',
  )
  left.legend(loc='lower left')

  sizes = np.array(list(limits))
  middle.plot(
    sizes,
    limit_of_one * sizes**-0.5,
    **_DERIVED,
    label=f'{limit_of_one:.2g} / √n',
  )
  for size, values in limits.items():
    panels.draw_points(
      middle, np.full(len(values), size), np.array(values), 22, color=style.INK
    )
  middle.set(xscale='log', yscale='log', ylabel='distance that remains')
  _tick_sizes(middle, sizes)
  # Numbers such as 0.02, also between powers of ten.
  middle.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
  middle.yaxis.set_major_formatter(ticker.StrMethodFormatter('{x:g}'))
  middle.yaxis.set_minor_formatter(ticker.NullFormatter())
  panels.set_labels(
    middle, 'clients a round, n', '', 'Noise floor', 'one point a seed'
  )
  middle.legend(loc='upper right')

  for (label, shares), look in zip(derived.items(), _STYLES):
    right.plot(list(shares), list(shares.values()), **look, label=label)
  if simulated:
    panels.draw_points(
      right,
      np.array(list(simulated)),
      np.array(list(simulated.values())),
      34,
      color=looks['SRPFL']['color'],
      label='simulated',
    )
  right.set(xscale='log', ylim=(0, 1), ylabel="SRPFL's time / FedRep's")
  _tick_sizes(right, np.array(list(next(iter(derived.values())))))
  panels.set_labels(
    right, 'all clients, N', '', 'Speed-up', 'to 1.2 times the floor of all'
  )
  right.legend(loc='upper right')
  panels.set_figure_title(figure, _TITLE)
  return figure


def _tick_sizes(axis: mpl_axes.Axes, sizes: np.ndarray) -> None:
  axis.set_xticks(sizes, [str(n) for n in sizes])
  axis.xaxis.set_minor_locator(ticker.NullLocator())
