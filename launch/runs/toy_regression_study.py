# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""One round of FedAvg and FedFish on the toy regression: figure, table, CSV."""

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import functools
import os
from typing import Any
from typing import NamedTuple

from fedfish_tff import algorithms
from fedfish_tff import client_work
from fedfish_tff import datasets
from fedfish_tff import evaluation
from fedfish_tff import models
from fedfish_tff import simulation
from launch.configs import toy_regression as config
from launch.plots import barrier
from launch.plots import panels
from launch.plots import style
from launch.results import text_table
from tasks.tabular import toy_regression

from matplotlib import axes as mpl_axes
from matplotlib import figure as mpl_figure
import numpy as np
import pandas as pd
import tensorflow as tf
import tensorflow_federated as tff
import tqdm

FED_AVG = 'FedAvg'

_METRIC = 'mse'
_GRID_POINTS = 241

# The names of the networks, by the config's axis `units`.
NETWORKS = {
  'gaussian': '128 Gaussian units',
  'tanh': '32 and 32 tanh units',
}

_TITLE = 'Two clients fit parts of sin(3x); the server merges them'
_OVERLAPS = {
  'full': ('Full overlap', {'marker': 'o', 'color': '#009E73'}),
  'partial': ('Partial overlap', {'marker': 's', 'color': '#E69F00'}),
  'none': ('No overlap', {'marker': '^', 'color': '#CC79A7'}),
}
# Clients are grey, because colours stand for methods.
_CLIENT_LOOKS = (
  {'color': '#8c8c8c', 'linestyle': '-', 'marker': 'o'},
  {'color': '#3d3d3d', 'linestyle': (0, (4, 1.5)), 'marker': '^'},
)
_TRUTH = {'color': style.GRID, 'linewidth': 4}


class Result(NamedTuple):
  """The result of one seed and overlap.

  Attributes:
    examples: Each client's inputs and targets, `[num_examples]`.
    grid: The inputs at which functions are drawn, `[num_points]`.
    local_functions: Each client's own function on the grid, `[num_points]`.
    global_functions: Each method's global function on the grid,
      `[num_points]`.
    barriers: Each method's client-server barrier in MSE, uniform over clients.
  """

  examples: Sequence[tuple[np.ndarray, np.ndarray]]
  grid: np.ndarray
  local_functions: Sequence[np.ndarray]
  global_functions: Mapping[str, np.ndarray]
  barriers: Mapping[str, float]


# By network and overlap, one result per seed.
Results = Mapping[str, Mapping[str, Sequence[Result]]]


class ToyStudy:
  """Seeds of the toy regression, with each method's process built once.

  Only the initial weights of a process depend on the seed, so they are set in
  the state instead of tracing the process anew.
  """

  def __init__(
    self,
    units: str,
    *,
    local_epochs: int | None = None,
    estimators: Iterable[client_work.FisherEstimator] = (
      client_work.FisherEstimator
    ),
  ):
    """Builds the processes of FedAvg and FedFish.

    Args:
      units: The network, one of `NETWORKS`.
      local_epochs: The number of local epochs of SGD; by default the config's.
      estimators: FedFish's Fisher estimators.
    """
    settings = config.get_config(f'fed_fish,units={units}')
    epochs = local_epochs or settings.local_epochs
    self._batch_spec = datasets.BatchSpec(
      batch_size=settings.batch_size, epochs=epochs
    )
    options = settings.task.to_dict()
    del options['name'], options['overlap']
    self._create_task = functools.partial(toy_regression.create_task, **options)
    task = self._create_task(seed=0)
    self._model = task.create_model()
    optimizers = (
      tff.learning.optimizers.build_sgdm(settings.client_learning_rate),
      tff.learning.optimizers.build_sgdm(1.0),
    )
    fed_avg = algorithms.build_fed_avg(self._model, *optimizers)
    self._processes = {FED_AVG: fed_avg}
    for estimator in estimators:
      self._processes[name_method(estimator.value)] = algorithms.build_fed_fish(
        self._model,
        *optimizers,
        local_epochs=epochs,
        fisher_estimator=estimator,
        label_sampler=models.gaussian_label_sampler(),
      )
    self._local_training = fed_avg.local_training
    self._barrier = evaluation.CohortBarrier(
      evaluation.SharedComputations(self._model, lambda: self._local_training),
      eval_batch_size=task.eval_batch_size,
      higher_is_better={_METRIC: False},
    )

  def run(self, overlap: str, *, seed: int) -> Result:
    """Runs one round of every method from the same weights and batches.

    Args:
      overlap: One of full, partial and none.
      seed: The seed of data, batches and initial weights.
    """
    task = self._create_task(seed=seed, overlap=overlap)
    examples = {c: task.train.load_client(c) for c in task.train.client_ids}
    cohort = [
      datasets.plan_batches(
        e, self._batch_spec, client_id=client_id, seed=seed, round_number=1
      )
      for client_id, e in examples.items()
    ]
    train = [datasets.to_client_input(client) for client in cohort]
    start = tff.learning.models.ModelWeights(
      *task.create_model().initial_weights
    )
    ranges = toy_regression.RANGES[overlap]
    grid = np.linspace(np.min(ranges), np.max(ranges), _GRID_POINTS)
    result = Result(
      [(x[:, 0], y[:, 0]) for x, y in examples.values()],
      grid,
      [self._function(self._local_training(start, d), grid) for d in train],
      global_functions={},
      barriers={},
    )
    for method, process in self._processes.items():
      state = process.set_model_weights(process.initialize(), start)
      merged = process.get_model_weights(process.next(state, train).state)
      result.global_functions[method] = self._function(merged, grid)
      columns = self._barrier(start, merged, cohort)
      result.barriers[method] = columns[f'csb/{_METRIC}']
    return result

  def _function(
    self, weights: tff.learning.models.ModelWeights, grid: np.ndarray
  ) -> np.ndarray:
    """Returns the model's function on the grid, [num_points]."""
    output = self._model.predict_on_batch(
      (tuple(weights.trainable), tuple(weights.non_trainable)),
      tf.constant(grid[:, np.newaxis], tf.float32),
      training=False,
    )
    return output.numpy()[:, 0]


def name_method(estimator: str) -> str:
  """Returns the name of FedFish with an estimator such as 'per_example'."""
  return f'FedFish, {estimator.replace("_", " ")}'


def read_barriers(results: Results) -> pd.DataFrame:
  """Returns a row per barrier: network, overlap, seed, method, barrier_mse."""
  rows = [
    (units, overlap, seed, method, float(value))
    for units, overlaps in results.items()
    for overlap, of_seeds in overlaps.items()
    for seed, result in enumerate(of_seeds)
    for method, value in result.barriers.items()
  ]
  columns = ['network', 'overlap', 'seed', 'method', 'barrier_mse']
  return pd.DataFrame(rows, columns=columns)


def format_table(results: Results) -> str:
  """Returns a table of medians over seeds and of wins over FedAvg."""
  by_seed = read_barriers(results).set_index('seed')
  rows = [
    ('network', 'overlap', 'method')
    + ('median barrier (MSE)', 'better than FedAvg')
  ]
  for cell, of in by_seed.groupby(['network', 'overlap'], sort=False):
    values = of.pivot(columns='method', values='barrier_mse')
    for method in of['method'].unique():
      gains = evaluation.gains(
        values[method], values[FED_AVG], higher_is_better=False
      )
      wins = f'{np.sum(gains > 0)} of {len(values)} seeds'
      if ties := np.sum(gains == 0):
        wins += f' ({ties} tied)'
      median = f'{np.median(values[method]):.4f}'
      rows.append((*cell, method, median, '' if method == FED_AVG else wins))
  return text_table.align(rows)


@style.styled
def plot(results: Results, method: str) -> mpl_figure.Figure:
  """Plots merged functions and barriers for each network and overlap.

  Args:
    results: The results; the functions are those of the first seed.
    method: The name of the FedFish that is shown beside FedAvg.

  Returns:
    The figure, with a row per network. A row has a panel per overlap, with the
    clients' points and functions and the merged functions, and a scatter plot
    of the barriers.
  """
  figure = style.new_figure(12, 0.8 + 2.9 * len(results))
  looks = style.method_looks([FED_AVG, method])
  num_overlaps = len(next(iter(results.values())))
  axes = figure.subplots(
    len(results),
    num_overlaps + 1,
    squeeze=False,
    width_ratios=[1] * num_overlaps + [1.15],
  )
  for row, (units, overlaps) in zip(axes, results.items(), strict=True):
    for axis, of_seeds in zip(row, overlaps.values()):
      _draw_functions(axis, of_seeds[0], looks)
    for axis in row[1:-1]:
      axis.tick_params(labelleft=False)
    row[0].set_ylabel(f'{NETWORKS[units]}\ny')
    _draw_barriers(row[-1], overlaps, method)
  for axis, overlap in zip(axes[0], overlaps):
    axis.set_title(_OVERLAPS[overlap][0])
  for axis in axes[-1, :-1]:
    axis.set_xlabel('x')
  num_seeds = len(next(iter(next(iter(results.values())).values())))
  axes[0, -1].set_title(f'Barrier in MSE, {num_seeds} seeds')
  entries = [panels.entry('true function', **_TRUTH)]
  entries += [
    panels.entry(f'client {i + 1}', **look | {'markersize': 4})
    for i, look in enumerate(_CLIENT_LOOKS)
  ]
  entries += [
    panels.entry(f'{label}, merged', **look | {'marker': ''})
    for label, look in looks.items()
  ]
  entries += [
    panels.entry(label, linestyle='none', **look)
    for label, look in _OVERLAPS.values()
  ]
  figure.legend(
    handles=entries, loc='outside lower center', ncols=len(entries) // 2
  )
  panels.set_figure_title(figure, _TITLE)
  return figure


def _draw_functions(
  axis: mpl_axes.Axes, result: Result, looks: Mapping[str, Mapping[str, Any]]
) -> None:
  truth = toy_regression.true_function(result.grid)
  axis.plot(result.grid, truth, **_TRUTH, zorder=1)
  clients = zip(result.examples, result.local_functions, _CLIENT_LOOKS)
  for examples, function, look in clients:
    points = look | {'linestyle': 'none', 'markersize': 3, 'zorder': 2}
    axis.plot(*examples, alpha=0.25, markeredgewidth=0, **points)
    axis.plot(result.grid, function, **look | {'marker': '', 'linewidth': 1})
  for label, look in looks.items():
    function = result.global_functions[label]
    axis.plot(result.grid, function, **look | {'marker': ''})
  # The range of the data, because functions may diverge where there are none.
  targets = np.concatenate([y for _, y in result.examples])
  axis.set_ylim(targets.min() - 0.5, targets.max() + 0.5)
  axis.set_xlim(result.grid.min(), result.grid.max())


def _draw_barriers(
  axis: mpl_axes.Axes, overlaps: Mapping[str, Sequence[Result]], method: str
) -> None:
  pairs = {
    overlap: (_barriers(of_seeds, method), _barriers(of_seeds, FED_AVG))
    for overlap, of_seeds in overlaps.items()
  }
  x, y = (np.concatenate(values) for values in zip(*pairs.values()))
  barrier.compare_methods(axis, x, y, method, FED_AVG, _METRIC)
  axis.set(xlabel=method, ylabel=FED_AVG)
  for overlap, pair in pairs.items():
    _, look = _OVERLAPS[overlap]
    panels.draw_points(axis, *pair, 34, alpha=0.85, **look)


def draw(
  folder: str | os.PathLike[str],
  *,
  seeds: int,
  estimator: str,
  local_epochs: int | None = None,
  file_format: str = 'png',
) -> None:
  """Runs all overlaps and seeds, writes figure and CSV, and prints a table.

  Args:
    folder: The folder of the files; made if it does not exist.
    seeds: The number of seeds, from 0.
    estimator: The Fisher estimator of the FedFish that the figure shows.
    local_epochs: The number of local epochs of SGD; by default the config's.
    file_format: One of `style.FORMATS`.
  """
  folder = simulation.make_folder(folder)  # Fails before the long work.
  overlaps = list(toy_regression.RANGES)
  results = {units: {overlap: [] for overlap in overlaps} for units in NETWORKS}
  with tqdm.tqdm(
    total=len(results) * len(overlaps) * seeds,
    desc='toy regression',
    unit='seed',
    disable=None,
  ) as bar:
    for units in NETWORKS:
      study = ToyStudy(units, local_epochs=local_epochs)
      for overlap in overlaps:
        for seed in range(seeds):
          results[units][overlap].append(study.run(overlap, seed=seed))
          bar.update()
  figure = folder / f'toy_regression.{file_format}'
  style.save_figure(plot(results, name_method(estimator)), figure)
  table = folder / 'toy_regression.csv'
  csv = text_table.frame_to_csv(read_barriers(results), keep_nan=True)
  simulation.write_atomically(table, csv)
  print(format_table(results), figure, table, sep='\n')


def _barriers(of_seeds: Sequence[Result], method: str) -> np.ndarray:
  return np.array([result.barriers[method] for result in of_seeds])
