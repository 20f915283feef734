# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The figure, tables and CSV of FedRep and SRPFL on linear representations."""

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import os
from typing import Any

from fedfish_tff import simulation
from launch.plots import panels
from launch.plots import style
from launch.results import text_table
from launch.studies import linear_representation as study

from matplotlib import axes as mpl_axes
from matplotlib import figure as mpl_figure
from matplotlib import ticker
import numpy as np

_COLUMNS = [
  'part', 'method', 'clients', 'seed', 'round', 'seconds', 'distance'
]  # fmt: skip
# The powers in which errors add up: 1 in the theory, 2 if independent.
_DERIVED = {'derived': 1, 'of independent errors': 2}
# The distance that the table gives the time to, for the runs in detail.
_DISTANCE = 2e-3

_TITLE = 'SRPFL: fast clients first, all clients for the last bit of accuracy'
_LOOK = {'color': style.MUTED, 'linestyle': (0, (5, 1.5))}
_LOOKS = (_LOOK, _LOOK | {'linestyle': (0, (1, 1.2))})


def format_tables(results: study.Results) -> str:
  """Returns tables of the theory's three claims, simulated and derived."""
  contraction = [('method', f'seconds to {_DISTANCE:g}, by seed', 'at the end')]
  for method, traces in results.traces.items():
    costs = [study.measure_cost([trace], _DISTANCE) for trace in traces]
    contraction.append(
      (
        method,
        ', '.join('never' if c is None else f'{c.seconds:.1f}' for c in costs),
        f'{np.mean([t.distances[-1] for t in traces]):.2g}',
      )
    )
  floor = [('clients per round', 'distance that remains', 'times sqrt(n)')]
  for n, values in results.limits.items():
    limit = np.mean(values)
    floor.append((str(n), f'{limit:.4f}', f'{limit * n**0.5:.3f}'))
  speed_up = [('all clients', *study.METHODS, 'ratio', *_DERIVED)]
  simulated = _simulated_costs(results)
  for n in study.SIZES:
    cells = ['', '', '']
    if n in simulated:
      cells = [_describe(simulated[n][method]) for method in study.METHODS]
      cells.append(f'{_share(simulated[n]):.3f}')
    derived = [
      f'{_share(study.expected_costs(n, power=p)):.3f}'
      for p in _DERIVED.values()
    ]
    speed_up.append((str(n), *cells, *derived))
  return '\n\n'.join(map(text_table.align, (contraction, floor, speed_up)))


def to_csv(results: study.Results) -> bytes:
  """Returns all results as CSV: rounds, limits and derived times."""

  def rows() -> Iterator[list[Any]]:
    for method, traces in results.traces.items():
      yield from _trace_rows('contraction', method, study.CLIENTS, traces)
    for n, values in results.limits.items():
      for seed, value in enumerate(values):
        yield ['floor', study.FED_REP, n, seed, None, None, value]
    for n, methods in results.runs.items():
      for method, traces in methods.items():
        yield from _trace_rows('speed_up', method, n, traces)
    for n in study.SIZES:
      for method, cost in study.expected_costs(n).items():
        yield ['derived', method, n, None, cost.rounds, cost.seconds, None]

  return text_table.to_csv(_COLUMNS, rows())


@style.styled
def plot(results: study.Results) -> mpl_figure.Figure:
  """Plots the distance by time, its limit by clients, and the saved time."""
  figure, (left, middle, right) = panels.new_grid(range(3), (4.4, 3.8))
  looks = style.series_looks(study.METHODS)
  for method, traces in results.traces.items():
    for seed, trace in enumerate(traces):
      # The start, at time 0, has no logarithm.
      left.plot(
        trace.seconds[1:],
        trace.distances[1:],
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
    'one line per seed, one marker per round',
  )
  left.legend(loc='lower left')

  sizes = np.array(list(results.limits))
  limit_of_one = study.fit_limit_of_one(results.limits)
  middle.plot(
    sizes, limit_of_one * sizes**-0.5, **_LOOK, label=f'{limit_of_one:.2g} / √n'
  )
  for size, values in results.limits.items():
    panels.draw_points(
      middle, np.full(len(values), size), np.array(values), 22, color=style.INK
    )
  middle.set(xscale='log', yscale='log', ylabel='distance that remains')
  _tick_sizes(middle, sizes)
  # Labels such as 0.02, also between powers of ten.
  middle.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
  middle.yaxis.set_major_formatter(ticker.StrMethodFormatter('{x:g}'))
  middle.yaxis.set_minor_formatter(ticker.NullFormatter())
  panels.set_labels(
    middle, 'clients per round, n', '', 'Noise floor', 'one point per seed'
  )
  middle.legend(loc='upper right')

  for (label, power), look in zip(_DERIVED.items(), _LOOKS):
    shares = [_share(study.expected_costs(n, power=power)) for n in study.SIZES]
    right.plot(study.SIZES, shares, **look, label=label)
  simulated = _simulated_costs(results)
  if simulated:
    panels.draw_points(
      right,
      np.array(list(simulated)),
      np.array([_share(costs) for costs in simulated.values()]),
      34,
      color=looks[study.SRPFL]['color'],
      label='simulated',
    )
  right.set(xscale='log', ylim=(0, 1), ylabel="SRPFL's time / FedRep's")
  _tick_sizes(right, np.array(study.SIZES))
  panels.set_labels(
    right, 'all clients, N', '', 'Speed-up', 'to 1.2 times the floor of all'
  )
  right.legend(loc='upper right')
  panels.set_figure_title(figure, _TITLE)
  return figure


def draw(
  folder: str | os.PathLike[str],
  *,
  seeds: int,
  most_clients: int,
  file_format: str = 'png',
) -> None:
  """Runs the study, writes the figure and the CSV, and prints the tables.

  Args:
    folder: The folder of the files; made if it does not exist.
    seeds: The number of seeds.
    most_clients: The largest of `linear_representation.SIZES` to simulate.
    file_format: One of `style.FORMATS`.
  """
  folder = simulation.make_folder(folder)  # Fails before the long work.
  results = study.run_study(seeds=seeds, most_clients=most_clients)
  figure = folder / f'linear_representation.{file_format}'
  style.save_figure(plot(results), figure)
  table = folder / 'linear_representation.csv'
  simulation.write_atomically(table, to_csv(results))
  print(format_tables(results), figure, table, sep='\n')


def _simulated_costs(
  results: study.Results,
) -> dict[int, dict[str, study.Cost | None]]:
  """Returns each method's cost by the number of all clients."""
  limit_of_one = study.fit_limit_of_one(results.limits)
  return {
    n: {
      method: study.measure_cost(
        traces, study.ACCURACY * limit_of_one * n**-0.5
      )
      for method, traces in methods.items()
    }
    for n, methods in results.runs.items()
  }


def _trace_rows(
  part: str, method: str, clients: int, traces: Sequence[study.Trace]
) -> Iterator[list[Any]]:
  for seed, trace in enumerate(traces):
    for number, point in enumerate(zip(*map(np.ndarray.tolist, trace))):
      yield [part, method, clients, seed, number, *point]


def _share(costs: Mapping[str, study.Cost | None]) -> float:
  """Returns SRPFL's time over FedRep's; NaN if either has none."""
  if None in costs.values():
    return np.nan
  return costs[study.SRPFL].seconds / costs[study.FED_REP].seconds


def _describe(cost: study.Cost | None) -> str:
  if cost is None:
    return 'not reached'
  return f'{cost.seconds:.1f} s, {cost.rounds} rounds'


def _tick_sizes(axis: mpl_axes.Axes, sizes: np.ndarray) -> None:
  axis.set_xticks(sizes, [str(n) for n in sizes])
  axis.xaxis.set_minor_locator(ticker.NullLocator())
