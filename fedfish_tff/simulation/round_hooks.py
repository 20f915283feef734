# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Hooks that call one function in each round, and report what it returns."""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from fedfish_tff.datasets import batches as batches_lib
from fedfish_tff.simulation import client_speeds
from fedfish_tff.simulation import hooks
from fedfish_tff.simulation import round_problems

BarrierFn = Callable[
  [Any, Any, Sequence[batches_lib.ClientBatches]], Mapping[str, Any]
]
CriterionFn = Callable[
  [Any, Sequence[batches_lib.ClientBatches]], Mapping[str, Any]
]

_COLUMN = 'simulated/seconds'
_TOTAL = 'simulated_seconds'


class Schedules(hooks.Hook):
  """A hook that sets `fedfish_tff.parameters` in each round."""

  def __init__(
    self, round_parameters: Callable[[int], Mapping[str, float]]
  ) -> None:
    """Takes the schedules.

    Args:
      round_parameters: The function from a round to numbers by name, such as
        factors of learning rates. A run refuses names that are none of the
        process' parameters, unless its `next` is no `tff.Computation`, such as
        FedMA's, whose parameters are not known.
    """
    self._round_parameters = round_parameters

  def before_round(self, round_number: int) -> Mapping[str, float]:
    return self._round_parameters(round_number)


class SimulatedTime(hooks.Hook):
  """A hook that adds up the rounds' seconds, as `simulated/seconds`.

  Checkpoints do not hold the sum: a resumed run computes the seconds of all
  earlier rounds again.
  """

  def __init__(self, wall_clock: client_speeds.WallClock) -> None:
    """Begins at 0 seconds.

    Args:
      wall_clock: The function that returns the seconds of a round.
    """
    self._wall_clock = wall_clock
    self._seconds = 0.0

  def begin(self, run: hooks.Run) -> None:
    self._seconds = float(run.start_totals.get(_TOTAL, 0))
    for earlier in range(run.first_round + 1, (run.last_round or 0) + 1):
      self._seconds += self._wall_clock(earlier, run.participation(earlier))

  def after_round(self, round_: hooks.Round) -> None:
    client_ids = [client.client_id for client in round_.cohort]
    self._seconds += self._wall_clock(round_.number, client_ids)

  def complete_row(self, round_: hooks.Round) -> None:
    round_.row[_COLUMN] = self._seconds

  def totals(self) -> Mapping[str, float]:
    return {_TOTAL: self._seconds}


class Criterion(hooks.Hook):
  """A hook that measures the criterion of `AccuracyStages` in each round."""

  passes = 1

  def __init__(self, criterion_fn: CriterionFn) -> None:
    """Takes the measurement, such as `evaluation.AccuracyCriterion`.

    Args:
      criterion_fn: The function from (the weights that clients start from after
        the round, the cohort's batches) to numbers by column name.
    """
    self._criterion_fn = criterion_fn

  def after_round(self, round_: hooks.Round) -> None:
    weights = round_problems.training_weights(round_.process, round_.state)
    round_.row.update(self._criterion_fn(weights, round_.cohort))


class Barrier(hooks.Hook):
  """A hook that measures the barrier of each evaluated round.

  If the model before or after the round does not exist, the row lacks the
  columns, and a warning says so.
  """

  def __init__(self, barrier_fn: BarrierFn) -> None:
    """Takes the measurement, such as `evaluation.CohortBarrier`.

    Args:
      barrier_fn: The function from (the weights that clients start from before
        the round, those after it, the cohort's batches) to numbers by column
        name.
    """
    self._barrier_fn = barrier_fn

  def after_evaluation(self, round_: hooks.Round) -> None:
    # The model before the round may be missing, too.
    with round_problems.skip_without_model(
      f'The barrier of round {round_.number} was not measured.'
    ):
      before, after = (
        round_problems.training_weights(round_.process, state)
        for state in (round_.old_state, round_.state)
      )
      round_.row.update(self._barrier_fn(before, after, round_.cohort))
