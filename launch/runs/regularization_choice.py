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
from fedfish_tff import simulation
from launch.results import text_table
from launch.runs import experiment as experiment_lib

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
  solve_path = experiment.built.solve_path
  if solve_path is None:
    return None
  column = f'global/{experiment.task.metric}'

  def choose(state: Any) -> Any:
    evaluate = experiment.build_held_out_evaluation(experiment.task.validation)
    values = {
      regularization: math.nan if weights is None else evaluate(weights)[column]
      for regularization, weights in solve_path(state).items()
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
