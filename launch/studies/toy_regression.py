# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""One round of FedAvg and FedFish on the toy regression, seed by seed."""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import NamedTuple

from fedfish_tff import algorithms
from fedfish_tff import client_work
from fedfish_tff import datasets
from fedfish_tff import evaluation
from fedfish_tff import models
from launch.configs import toy_regression as config
from launch.studies import toy_regression_plot as regression
from tasks.tabular import toy_regression

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

FED_AVG = 'FedAvg'
ESTIMATORS: Mapping[str, client_work.FisherEstimator] = {
  'FedFish, batch gradient': client_work.FisherEstimator.BATCH_GRADIENT,
  'FedFish, per example': client_work.FisherEstimator.PER_EXAMPLE,
  'FedFish, sampled label': client_work.FisherEstimator.SAMPLED_LABEL,
}
METHODS: tuple[str, ...] = (FED_AVG, *ESTIMATORS)

_TITLES = {
  'full': 'Full overlap',
  'partial': 'Partial overlap',
  'none': 'No overlap',
}
_METRIC = 'mse'
_CONFIG = config.get_config()
_GRID_POINTS = 241


class ToyResult(NamedTuple):
  """What one seed of one overlap gave.

  Attributes:
    panel: The clients' functions and each method's global one.
    barriers: Each method's client-server barrier in MSE, uniform over clients.
  """

  panel: regression.RegressionPanel
  barriers: dict[str, float]


class ToyStudy:
  """Runs seeds of the toy regression; builds each process once.

  The initial weights are the only thing in a process that depends on a seed,
  so they are set in the state rather than traced anew.
  """

  def __init__(self, *, local_epochs: int, methods: Sequence[str] = METHODS):
    """Builds the processes.

    Args:
      local_epochs: Epochs of SGD at the clients.
      methods: Of `METHODS`.
    """
    self._local_epochs = local_epochs
    task = toy_regression.create_task(seed=0, overlap='full')
    model = task.create_model()
    client_optimizer = tff.learning.optimizers.build_sgdm(
      _CONFIG.client_learning_rate
    )
    server_optimizer = tff.learning.optimizers.build_sgdm(1.0)
    self._model = model
    self._processes = {}
    for method in methods:
      if method == FED_AVG:
        process = algorithms.build_fed_avg(
          model, client_optimizer, server_optimizer
        )
      else:
        process = algorithms.build_fed_fish(
          model,
          client_optimizer,
          server_optimizer,
          local_epochs=local_epochs,
          fisher_estimator=ESTIMATORS[method],
          label_sampler=models.gaussian_label_sampler(),
        )
      self._processes[method] = process
    first = next(iter(self._processes.values()))
    self._local_training = first.local_training
    self._barrier = evaluation.CohortBarrier(
      evaluation.SharedComputations(model, self._local_training),
      eval_batch_size=task.eval_batch_size,
      higher_is_better={_METRIC: False},
    )

  def _function(
    self, weights: tff.learning.models.ModelWeights, grid: np.ndarray
  ) -> np.ndarray:
    """Returns the model's function on the grid, [num_points]."""
    x = tf.constant(grid[:, np.newaxis], tf.float32)
    output = self._model.predict_on_batch(
      (tuple(weights.trainable), tuple(weights.non_trainable)),
      x,
      training=False,
    )
    return output.numpy()[:, 0]

  def run(self, overlap: str, *, seed: int) -> ToyResult:
    """Runs one round of every method from the same weights and batches.

    Args:
      overlap: full, partial or none.
      seed: Of data, batches and initial weights.
    """
    task = toy_regression.create_task(seed=seed, overlap=overlap)
    examples = [task.train.load_client(c) for c in task.train.client_ids]
    spec = datasets.BatchSpec(
      batch_size=_CONFIG.batch_size,
      epochs=self._local_epochs,
    )
    cohort = [
      datasets.plan_batches(
        e, spec, client_id=client_id, seed=seed, round_number=1
      )
      for client_id, e in zip(task.train.client_ids, examples)
    ]
    train = [datasets.to_client_input(client) for client in cohort]
    start = tff.learning.models.ModelWeights(
      *task.create_model().initial_weights
    )
    low = min(r[0] for r in toy_regression.RANGES[overlap])
    high = max(r[1] for r in toy_regression.RANGES[overlap])
    grid = np.linspace(low, high, _GRID_POINTS)
    result = ToyResult(
      regression.RegressionPanel(
        title=_TITLES[overlap],
        grid=grid,
        truth=toy_regression.true_function(grid),
        client_x=[x[:, 0] for x, _ in examples],
        client_y=[y[:, 0] for _, y in examples],
        local_functions=[
          self._function(self._local_training(start, d), grid) for d in train
        ],
        global_functions={},
      ),
      barriers={},
    )
    for method, process in self._processes.items():
      state = process.set_model_weights(process.initialize(), start)
      merged = process.get_model_weights(process.next(state, train).state)
      result.panel.global_functions[method] = self._function(merged, grid)
      columns = self._barrier(start, merged, cohort)
      result.barriers[method] = columns[f'csb/{_METRIC}']
    return result


def run_study(
  *,
  seeds: int,
  local_epochs: int,
  on_result: Callable[[], object] = lambda: None,
) -> dict[str, list[ToyResult]]:
  """Runs every overlap for every seed.

  Args:
    seeds: How many.
    local_epochs: Epochs of SGD at the clients.
    on_result: Called after each seed of each overlap, for progress.

  Returns:
    The results, one a seed, by overlap.
  """
  study = ToyStudy(local_epochs=local_epochs)
  results = {}
  for overlap in toy_regression.RANGES:
    results[overlap] = []
    for seed in range(seeds):
      results[overlap].append(study.run(overlap, seed=seed))
      on_result()
  return results
