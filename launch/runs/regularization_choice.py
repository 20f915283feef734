# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Chooses Fed3R's lambda on validation clients, from the sums of all rounds."""

from collections.abc import Callable
import math
import os
import pathlib
from typing import Any

from fedfish_tff import errors
from fedfish_tff import evaluation
from fedfish_tff import models
from fedfish_tff import simulation
from launch.results import text_table
from launch.runs import experiment as experiment_lib

from absl import logging

FILE_NAME = 'regularization.csv'


def build_choice(
  experiment: experiment_lib.Experiment, workdir: str | os.PathLike[str]
) -> Callable[[Any], Any] | None:
  """Builds the choice among a config's lambdas.

  Args:
    experiment: The experiment.
    workdir: Where regularization.csv is written: each lambda with the metric
      on validation clients, without a value where there is no solution.

  Returns:
    A function from the state to that with the best lambda; None where the
    config names no lambdas to choose from.
  """
  algorithm = experiment.config['algorithm']
  if not algorithm.get('regularization_path'):
    return None
  column = f'global/{experiment.task.metric}'

  def choose(state: Any) -> Any:
    evaluate = experiment.build_held_out_evaluation(experiment.task.validation)
    values = {
      regularization: math.nan if weights is None else evaluate(weights)[column]
      for regularization, weights in _solve(experiment, state).items()
    }
    simulation.write_atomically(
      pathlib.Path(workdir, FILE_NAME),
      text_table.to_csv(['regularization', f'eval/{column}'], values.items()),
    )
    selection = evaluation.select_best(
      values, higher_is_better=experiment.task.higher_is_better
    )
    if selection is None:
      raise errors.InputError(
        'algorithm.regularization_path has no lambda with which the sums have '
        'a solution; a larger one was expected.'
      )
    hparams = dict(experiment.process.get_hparams(state))
    return experiment.process.set_hparams(
      state, {**hparams, 'regularization': selection.best}
    )

  return choose


def _solve(
  experiment: experiment_lib.Experiment, state: Any
) -> dict[float, Any]:
  """Returns the weights by lambda; None where the sums have no solution."""
  algorithm = experiment.config['algorithm']
  arguments = dict(
    bias=models.RidgeBias(algorithm['bias']),
    normalize_classes=algorithm['normalize_classes'],
  )
  path = list(algorithm['regularization_path'])
  sums = (experiment.feature_map, state['statistics'])
  try:
    return models.solve_ridge_path(*sums, path, **arguments)
  except errors.InputError:
    # One of them has none. The others are the choice that there is.
    solved = {}
  for regularization in path:
    try:
      solved |= models.solve_ridge_path(*sums, [regularization], **arguments)
    except errors.InputError as error:
      logging.warning('%s It is left out of the choice.', error)
      solved[regularization] = None
  return solved
