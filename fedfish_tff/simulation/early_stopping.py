# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Which evaluation was the best, and whether a run should go on.

What is decided follows from the rows of metrics.csv alone, so that a run that
resumes has the decisions of one that was never interrupted. Plain Python,
without TensorFlow.
"""

from collections.abc import Mapping
import math
from typing import Any

from fedfish_tff import errors
from fedfish_tff.evaluation import ranking


class EarlyStopping:
  """Watches a column as `tf.keras.callbacks.EarlyStopping` watches a metric.

  What is better by rounding only (see `ranking.gains`) is not better.

  Attributes:
    column: The column.
    best_round: The first round with the best finite value so far; None without
      one.
    reason: Why to stop, a part of a sentence; None to go on.
  """

  def __init__(
    self,
    column: str,
    *,
    higher_is_better: bool,
    patience: int,
    min_delta: float = 0.0,
  ) -> None:
    """Has seen nothing yet.

    Args:
      column: A column `eval/*`.
      higher_is_better: Whether it is better when higher.
      patience: The run stops after so many evaluations, one after the other,
        that are not better than the best before them; 0 for never.
      min_delta: By how much more than this one has to be better to count as
        such for the patience.
    """
    self.column = column
    self.best_round: int | None = None
    self.reason: str | None = None
    self._higher_is_better = higher_is_better
    self._patience = patience
    self._min_delta = min_delta
    self._best = self._reference = -math.inf if higher_is_better else math.inf
    self._reference_round: int | None = None
    self._waited = 0
    self._seen = False

  def observe(self, round_number: int, row: Mapping[str, Any]) -> None:
    """Takes a row into account; rows come in their order.

    Args:
      round_number: Its round.
      row: The row; one without columns `eval/*` is not that of an evaluation.

    Raises:
      errors.InputError: If the first evaluation is of other columns.
    """
    others = [name for name in row if name.startswith('eval/')]
    if not others:
      return
    if not self._seen and self.column not in row:
      raise errors.InputError(
        f'Early stopping watches {self.column!r}, but the evaluation of round '
        f'{round_number} has no such column; one of {", ".join(others)} was '
        'expected.'
      )
    self._seen = True
    # What is not finite, or is not there since models have diverged, is no
    # improvement.
    value = float(row.get(self.column, math.nan))
    is_finite = math.isfinite(value)
    if is_finite and self._gain(value, self._best) > 0:
      self._best, self.best_round = value, round_number
    self._waited += 1
    if is_finite and self._gain(value, self._reference) > self._min_delta:
      self._reference, self._reference_round = value, round_number
      self._waited = 0
    elif self._patience and self._waited >= self._patience:
      self.reason = self._describe()

  def _gain(self, value: float, other: float) -> float:
    return float(
      ranking.gains(value, other, higher_is_better=self._higher_is_better)
    )

  def _describe(self) -> str:
    if self._reference_round is None:
      return (
        f'{self.column} was not finite in {self._waited} evaluations one after '
        'the other'
      )
    margin = f' by more than {self._min_delta:g}' if self._min_delta else ''
    return (
      f'{self.column} was not better{margin} than '
      f'{self._reference:.6g}, that of round '
      f'{self._reference_round}, in {self._waited} evaluations one after the '
      'other'
    )
