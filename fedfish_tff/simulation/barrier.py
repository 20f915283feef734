# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The client-server barrier of a round, measured while a run trains."""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from fedfish_tff.datasets import batches as batches_lib
from fedfish_tff.simulation import hooks
from fedfish_tff.simulation import round_problems

BarrierFn = Callable[
  [Any, Any, Sequence[batches_lib.ClientBatches]], Mapping[str, Any]
]


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
