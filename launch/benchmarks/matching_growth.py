# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""CPU time of matching units, by their number and that of the clients."""

from collections.abc import Mapping
from collections.abc import Sequence
import cProfile
import pstats
import time
from typing import NamedTuple

from fedfish_tff.aggregators import matched_average
from fedfish_tff.datasets import random_streams
from launch.plots import panels
from launch.plots import style

from matplotlib import figure as mpl_figure
from matplotlib import ticker
import numpy as np

# Of a client's units around the common ones, whose own is 1.
_DEVIATION = 0.5


class Timing(NamedTuple):
  """Where the time of matching a layer went.

  Attributes:
    units: Of each client.
    clients: How many.
    seconds: CPU seconds of all of it, as those that follow.
    scores: Seconds of how well all pairs go together.
    assignment: Seconds of finding the best pairs.
    server_units: What came out.
  """

  units: int
  clients: int
  seconds: float
  scores: float
  assignment: float
  server_units: int


def measure(units: int, clients: int, *, inputs: int) -> Timing:
  """Matches a layer of clients whose units are alike, in another order each.

  Args:
    units: Of each client.
    clients: How many.
    inputs: Of a unit; its bias comes with them.
  """
  stream = random_streams.random_generator('matching benchmark', units, clients)
  shape = [units, inputs + 1]
  common = stream.standard_normal(shape)
  rows = [
    np.float32(
      (common + _DEVIATION * stream.standard_normal(shape))[
        stream.permutation(units)
      ]
      / np.sqrt(inputs)
    )
    for _ in range(clients)
  ]
  profile = cProfile.Profile(time.process_time)
  match = profile.runcall(
    matched_average.match_units, rows, stream, max_units=2 * units
  )
  stats = pstats.Stats(profile)

  def seconds_in(name: str) -> float:
    # By (file, line, function): calls of two kinds, own and cumulative time.
    return sum(entry[3] for key, entry in stats.stats.items() if name in key[2])

  return Timing(
    units=units,
    clients=clients,
    seconds=stats.total_tt,
    scores=seconds_in('_scores'),
    assignment=seconds_in('linear_sum_assignment'),
    server_units=len(match.counts),
  )


@style.styled
def plot_timings(
  by_units: Sequence[Timing], by_clients: Sequence[Timing]
) -> mpl_figure.Figure:
  """Draws seconds against units, and against clients.

  Args:
    by_units: Of equally many clients.
    by_clients: Of equally many units.
  """
  series = ('scores', 'assignment', 'seconds')
  looks = style.series_looks(['scores', 'assignment', 'all'])
  growths: Mapping[str, Sequence[Timing]] = {
    'units': by_units,
    'clients': by_clients,
  }
  figure, axes = panels.new_grid(growths, (4, 3))
  for axis, (name, timings) in zip(axes, growths.items()):
    panels.draw_lines(
      axis,
      {
        label: (
          np.array([getattr(timing, name) for timing in timings]),
          np.array([[getattr(timing, field) for timing in timings]]),
        )
        for label, field in zip(looks, series)
      },
      looks,
    )
    axis.set_xscale('log', base=2)
    axis.set_yscale('log')
    for dimension in (axis.xaxis, axis.yaxis):
      dimension.set_major_formatter(ticker.StrMethodFormatter('{x:g}'))
      dimension.set_minor_formatter(ticker.NullFormatter())
    other = 'clients' if name == 'units' else 'units'
    title = f'{getattr(timings[0], other):,} {other}'
    label = 'Units of a client' if name == 'units' else 'Clients'
    panels.set_labels(axis, label, 'CPU seconds', title)
  panels.draw_legend(figure, axes[0].get_lines())
  return figure
