# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The criterion that decides on later cohorts, measured in each round."""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from fedfish_tff.datasets import batches as batches_lib
from fedfish_tff.simulation import hooks
from fedfish_tff.simulation import round_problems

CriterionFn = Callable[
  [Any, Sequence[batches_lib.ClientBatches]], Mapping[str, Any]
]


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
