# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Evaluations during a run, with the learning rate with which clients tune.

The rate is the client's rate of training, or one of the config's
`evaluation.personalization_learning_rates`. If there are several, every
evaluation tunes validation clients with each of them, and all clients use the
rate with the best score; test clients do not influence the choice. The rate is
a parameter (`fedfish_tff.parameters`), so that one trace serves all rates.
"""

from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import dataclasses
import math
from typing import Any

from fedfish_tff import evaluation
from fedfish_tff import parameters
from fedfish_tff.evaluation import metric_names
from launch.methods import building
from launch.methods import config_fields
from launch.runs import experiment as experiment_lib

# The group of columns of held-out clients that choose a rate.
_NEW = 'new_fine_tuned'
# The rate for `tuned_with` that stands for the rate of training.
_CLIENT_RATE = math.nan


@contextlib.contextmanager
def tuned_with(
  experiment: experiment_lib.Experiment, rate: float
) -> Iterator[None]:
  """Lets clients tune with a rate in the evaluations of an experiment.

  The rate is that of a config; NaN stands for the rate of training. For another
  one, the execution context must be able to replace parameters.
  """
  if math.isnan(rate):
    yield
    return
  name = config_fields.CLIENT_RATE
  config = dataclasses.replace(experiment.config, client_learning_rate=rate)
  value = building.parameter_values(config)[name]
  parameters.check_replaced_here(
    f'evaluation.personalization_learning_rates {experiment.tuning_rates}'
  )
  with parameters.replaced({name: value}):
    yield


def rate_of(row: Mapping[str, float]) -> float:
  """Returns the rate with which clients tuned, from a row of metrics.csv."""
  return row.get(f'eval/{metric_names.PERSONALIZATION_RATE}', _CLIENT_RATE)


def choose_rate(experiment: experiment_lib.Experiment, state: Any) -> float:
  """Returns the rate with which clients tune a state; prints a chosen one."""
  if len(experiment.tuning_rates) < 2:
    return _rate_without_choice(experiment)
  tuned = TunedEvaluation(experiment)
  rate, columns = tuned.choose(state)
  why = 'by validation clients'
  if not math.isfinite(columns[tuned.deciding_column]):
    why = 'the smallest, since validation clients diverge with all'
  print(f'Learning rate of personalisation, {why}: {rate:g}')
  return rate


class TunedEvaluation:
  """An evaluation for metrics.csv, without test clients.

  Attributes:
    deciding_column: The column, without `eval/`, that chooses a rate.
  """

  def __init__(self, experiment: experiment_lib.Experiment) -> None:
    """Prepares the evaluation."""
    task = experiment.task
    self._experiment = experiment
    self._held_out = experiment.build_held_out_evaluation(task.validation)
    self._new = experiment.build_own_data_evaluation(
      task.validation, new_clients=True
    )
    self._own = experiment.build_own_data_evaluation(task.train)
    group = 'personalized' if self._new is None else _NEW
    self.deciding_column = f'{group}/{task.metric}'

  def __call__(
    self,
    state: Any,
    load_client_state: evaluation.LoadClientStateFn | None = None,
  ) -> dict[str, float]:
    """Returns the columns `global/*` and `personalized/*`, and further groups.

    For tasks with test data of each client these are the groups of
    `evaluation.OwnDataEvaluation`: `own_global/*`, `own/*` if clients keep
    models or layers, `own_fine_tuned/*`, `new_global/*` and `new_fine_tuned/*`.
    A config with rates of personalisation adds a column with the rate.

    Args:
      state: The process's state after a round.
      load_client_state: A function that loads clients' states after the same
        round.
    """
    rate, chosen = self.choose(state)
    weights = self._experiment.process.get_model_weights(state)
    columns = self._held_out.score_global(weights)
    if self._own is not None:
      with tuned_with(self._experiment, rate):
        columns |= self._held_out.score_personalized(weights)
        columns |= self._own(state, load_client_state)
      columns |= self._new(state, groups=['new_global'])
    columns |= chosen
    if self._experiment.tuning_rates:
      columns[metric_names.PERSONALIZATION_RATE] = rate
    return columns

  def choose(self, state: Any) -> tuple[float, dict[str, float]]:
    """Returns the rate, and the scores of validation clients with it.

    The best rate is the one with the best mean of the task's metric, on a tie
    the smallest. A rate with which a client diverges has no mean. If no rate
    has one, the smallest stands for all, with scores that are not finite.

    Returns:
      The rate in the form of `tuned_with`, and the columns `new_fine_tuned/*`
      for tasks with test data of each client, or else `personalized/*`.
    """
    task, rates = self._experiment.task, self._experiment.tuning_rates
    scores = {
      rate: self._score(state, rate)
      for rate in (rates if len(rates) > 1 else ())
    }
    column = self.deciding_column
    best = evaluation.select_best(
      {r: s[column] for r, s in scores.items() if math.isfinite(s[column])},
      higher_is_better=task.higher_is_better,
    )
    if scores:
      rate = best.best if best is not None else min(scores)
      return rate, scores[rate]
    rate = _rate_without_choice(self._experiment)
    return rate, self._score(state, rate)

  def _score(self, state: Any, rate: float) -> dict[str, float]:
    with tuned_with(self._experiment, rate):
      if self._new is None:
        return self._held_out.score_personalized(
          self._experiment.process.get_model_weights(state)
        )
      tuned = [group for group in self._new.groups if group == _NEW]
      return self._new(state, groups=tuned) if tuned else {}


def _rate_without_choice(experiment: experiment_lib.Experiment) -> float:
  rates = experiment.tuning_rates
  return rates[0] if len(rates) == 1 else _CLIENT_RATE
