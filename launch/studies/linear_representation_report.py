# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The figure, tables and CSV of FedRep and SRPFL on linear representations."""

from collections.abc import Iterator
import pathlib
from typing import Any

from fedfish_tff import simulation
from launch.plots import catalogue
from launch.results import text_table
from launch.studies import linear_representation as study
from launch.studies import linear_representation_plot as linear_representation

import numpy as np
import tqdm

_COLUMNS = [
  'part', 'method', 'clients', 'seed', 'round', 'seconds', 'distance'
]  # fmt: skip
# Of the theory, and where errors add up as independent ones do.
_DERIVED = {'derived': 1, 'of independent errors': 2}
# To what distance the table has the time of the runs in detail.
_DISTANCE = 2e-3


def format_tables(results: study.Results) -> str:
  """Returns the three claims, simulated and derived, as text."""
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
  floor = [('clients a round', 'distance that remains', 'times sqrt(n)')]
  for n, values in results.limits.items():
    limit = np.mean(values)
    floor.append((str(n), f'{limit:.4f}', f'{limit * n**0.5:.3f}'))
  speed_up = [('all clients', *study.METHODS, 'ratio', *_DERIVED)]
  simulated = simulated_costs(results)
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


def simulated_costs(
  results: study.Results,
) -> dict[int, dict[str, study.Cost | None]]:
  """Returns what each method took, by the number of all clients."""
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


def to_csv(results: study.Results) -> bytes:
  """Returns every figure as CSV: those of rounds, limits and derived times."""

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


def write_figure(
  results: study.Results, folder: pathlib.Path, *, file_format: str = 'png'
) -> list[pathlib.Path]:
  """Writes the figure and the CSV.

  Args:
    results: Of `linear_representation_study.run_study`.
    folder: Where to; made if it does not exist.
    file_format: One of `style.FORMATS`.

  Returns:
    The files written.
  """
  figure = linear_representation.plot_linear_representation(
    {
      method: [(trace.seconds, trace.distances) for trace in traces]
      for method, traces in results.traces.items()
    },
    results.limits,
    study.fit_limit_of_one(results.limits),
    simulated={n: _share(c) for n, c in simulated_costs(results).items()},
    derived={
      label: {n: _share(study.expected_costs(n, power=p)) for n in study.SIZES}
      for label, p in _DERIVED.items()
    },
  )
  paths = catalogue.write_figures(
    {'linear_representation': figure}, folder, file_format
  )
  table = folder / 'linear_representation.csv'
  simulation.write_atomically(table, to_csv(results))
  return [*paths, table]


def draw(
  folder: pathlib.Path,
  *,
  seeds: int,
  most_clients: int,
  file_format: str = 'png',
) -> None:
  """Runs the study with a progress bar, writes the figure, prints the tables."""
  simulation.make_folder(folder)  # Before work that would be in vain.
  steps = study.count_steps(seeds=seeds, most_clients=most_clients)
  with tqdm.tqdm(
    total=steps, desc='linear representation', unit='run', disable=None
  ) as bar:
    results = study.run_study(
      seeds=seeds, most_clients=most_clients, on_result=bar.update
    )
  print(format_tables(results))
  for path in write_figure(results, folder, file_format=file_format):
    print(path)


def _trace_rows(
  part: str, method: str, clients: int, traces: list[study.Trace]
) -> Iterator[list[Any]]:
  for seed, trace in enumerate(traces):
    for number, point in enumerate(zip(*map(np.ndarray.tolist, trace))):
      yield [part, method, clients, seed, number, *point]


def _share(costs: dict[str, study.Cost | None]) -> float:
  """Returns SRPFL's time over FedRep's; NaN if one has none."""
  if None in costs.values():
    return np.nan
  return costs[study.SRPFL].seconds / costs[study.FED_REP].seconds


def _describe(cost: study.Cost | None) -> str:
  if cost is None:
    return 'not reached'
  return f'{cost.seconds:.1f} s, {cost.rounds} rounds'
