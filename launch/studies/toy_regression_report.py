# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The toy regression's figure, table and CSV."""

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import pathlib

from fedfish_tff import evaluation
from fedfish_tff import simulation
from launch.plots import catalogue
from launch.results import text_table
from launch.studies import toy_regression as toy_regression_study
from launch.studies import toy_regression_plot as regression
from tasks.tabular import toy_regression

import numpy as np
import tqdm

Results = Mapping[str, Sequence[toy_regression_study.ToyResult]]


def format_table(results: Results) -> str:
  """Returns medians over seeds and wins over FedAvg, as text."""
  baseline = toy_regression_study.FED_AVG
  rows = [('overlap', 'method', 'median barrier (MSE)', 'better than FedAvg')]
  for overlap, of_seeds in results.items():
    reference = np.array([r.barriers[baseline] for r in of_seeds])
    for method in of_seeds[0].barriers:
      values = np.array([r.barriers[method] for r in of_seeds])
      gains = evaluation.gains(values, reference, higher_is_better=False)
      wins = f'{np.sum(gains > 0)} of {len(values)} seeds'
      if ties := np.sum(gains == 0):
        wins += f' ({ties} tied)'
      rows.append(
        (
          overlap,
          method,
          f'{np.median(values):.4f}',
          '' if method == baseline else wins,
        )
      )
  return text_table.align(rows)


def to_csv(results: Results) -> bytes:
  """Returns every barrier as CSV: overlap, seed, method, barrier."""
  return text_table.to_csv(
    ['overlap', 'seed', 'method', 'barrier_mse'],
    [
      [overlap, seed, method, float(value)]
      for overlap, of_seeds in results.items()
      for seed, result in enumerate(of_seeds)
      for method, value in result.barriers.items()
    ],
    keep_nan=True,
  )


def write_figure(
  results: Results,
  folder: pathlib.Path,
  *,
  estimator: str,
  file_format: str = 'png',
) -> list[pathlib.Path]:
  """Writes the figure and the barriers.

  Args:
    results: Of `toy_regression_study.run_study`.
    folder: Where to; made if it does not exist.
    estimator: Whose FedFish the figure shows.
    file_format: One of `style.FORMATS`.

  Returns:
    The files written.
  """
  shown = next(
    name
    for name, e in toy_regression_study.ESTIMATORS.items()
    if e.value == estimator
  )
  methods = (toy_regression_study.FED_AVG, shown)
  panels, barriers = [], {}
  for of_seeds in results.values():
    panel = of_seeds[0].panel
    shown_functions = {m: panel.global_functions[m] for m in methods}
    panels.append(dataclasses.replace(panel, global_functions=shown_functions))
    average, fish = (
      np.array([r.barriers[m] for r in of_seeds]) for m in methods
    )
    barriers[panel.title] = (fish, average)
  figure = regression.plot_toy_regression(panels, barriers, method=shown)
  paths = catalogue.write_figures(
    {'toy_regression': figure}, folder, file_format
  )
  table = folder / 'toy_regression.csv'
  simulation.write_atomically(table, to_csv(results))
  return [*paths, table]


def draw(
  folder: pathlib.Path,
  *,
  seeds: int,
  local_epochs: int,
  estimator: str,
  file_format: str = 'png',
) -> None:
  """Runs the study with a progress bar, writes the figure, prints the table."""
  simulation.make_folder(folder)  # Before work that would be in vain.
  steps = seeds * len(toy_regression.RANGES)
  with tqdm.tqdm(
    total=steps, desc='toy regression', unit='seed', disable=None
  ) as bar:
    results = toy_regression_study.run_study(
      seeds=seeds, local_epochs=local_epochs, on_result=bar.update
    )
  print(format_table(results))
  for path in write_figure(
    results, folder, estimator=estimator, file_format=file_format
  ):
    print(path)
