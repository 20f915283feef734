# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Chooses Fed3R's lambda on validation clients, from the sums of all rounds."""

from collections.abc import Callable
from collections.abc import Mapping
import csv
import io
import os
import pathlib
from typing import Any

from fedfish_tff import datasets
from fedfish_tff import evaluation
from fedfish_tff import models
from fedfish_tff import simulation
from launch import experiment as experiment_lib

FILE_NAME = 'regularization.csv'


def build_choice(
  experiment: experiment_lib.Experiment, workdir: str | os.PathLike[str]
) -> Callable[[Any], Any] | None:
  """Builds the choice among a config's lambdas.

  Args:
    experiment: The experiment.
    workdir: Where regularization.csv is written: each lambda with the metric
      on validation clients.

  Returns:
    A function from the state to that with the best lambda; None where the
    config names no lambdas to choose from.
  """
  algorithm = experiment.config['algorithm']
  if not algorithm.get('regularization_path'):
    return None
  metric = experiment.task.metric

  def choose(state: Any) -> Any:
    process = experiment.process
    path = models.solve_ridge_path(
      experiment.feature_map,
      state['statistics'],
      algorithm['regularization_path'],
      bias=models.RidgeBias(algorithm['bias']),
      normalize_classes=algorithm['normalize_classes'],
    )
    selection = evaluation.select_weights(
      experiment.model,
      path,
      _load_batches(experiment),
      metric=metric,
      higher_is_better=experiment.task.higher_is_better,
    )
    simulation.write_atomically(
      pathlib.Path(workdir, FILE_NAME), _to_csv(selection.values, metric)
    )
    hparams = dict(process.get_hparams(state))
    return process.set_hparams(
      state, {**hparams, 'regularization': selection.best}
    )

  return choose


def _load_batches(experiment: experiment_lib.Experiment) -> list[Any]:
  """Returns the batches of all validation clients."""
  clients = experiment.task.validation
  return [
    simulation.to_client_input(
      datasets.plan_batches(
        clients.load_client(client_id),
        datasets.BatchSpec(
          batch_size=experiment.task.eval_batch_size, shuffle=False
        ),
        client_id=client_id,
        seed=experiment.config['seed'],
        round_number=0,
      )
    )
    for client_id in clients.client_ids
  ]


def _to_csv(values: Mapping[float, float], metric: str) -> bytes:
  text = io.StringIO()
  writer = csv.writer(text, lineterminator='\n')
  writer.writerow(['regularization', f'eval/global/{metric}'])
  writer.writerows(values.items())
  return text.getvalue().encode()
