# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The choice of Fed3R's lambda on validation clients after all rounds."""

import math
import os
import pathlib

from fedfish_tff import errors
from fedfish_tff import evaluation
from fedfish_tff import simulation
from launch.results import text_table
from launch.runs import experiment as experiment_lib

FILE_NAME = 'regularization.csv'


class RegularizationChoice(simulation.Hook):
  """A hook that chooses among a config's lambdas after the last round."""

  def __init__(
    self, experiment: experiment_lib.Experiment, workdir: str | os.PathLike[str]
  ) -> None:
    """Prepares the choice.

    Args:
      experiment: The experiment of a config with lambdas to choose from.
      workdir: The folder of regularization.csv, which has the metric on
        validation clients for each lambda, empty where there is no solution.
    """
    self._experiment = experiment
    self._path = pathlib.Path(workdir, FILE_NAME)

  def finish(self, round_: simulation.Round) -> None:
    experiment, state = self._experiment, round_.state
    column = f'global/{experiment.task.metric}'
    evaluate = experiment.build_held_out_evaluation(experiment.task.validation)
    values = {
      regularization: math.nan if weights is None else evaluate(weights)[column]
      for regularization, weights in experiment.built.solve_path(state).items()
    }
    simulation.write_atomically(
      self._path,
      text_table.to_csv(['regularization', f'eval/{column}'], values.items()),
    )
    selection = evaluation.select_best(
      values, higher_is_better=experiment.task.higher_is_better
    )
    if selection is None:
      raise errors.InputError(
        'algorithm.regularization_path must hold a larger lambda: the sums '
        'have a solution with none of these.'
      )
    hparams = dict(experiment.process.get_hparams(state))
    round_.state = experiment.process.set_hparams(
      state, {**hparams, 'regularization': selection.best}
    )
