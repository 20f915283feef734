# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Early stopping: the best evaluation so far, and when a run stops.

Decisions follow from the rows of metrics.csv alone, so a resumed run decides
the same as an uninterrupted one.
"""

from collections.abc import Mapping
import math
from typing import Any

from fedfish_tff import errors
from fedfish_tff.evaluation import ranking
from fedfish_tff.simulation import hooks


class EarlyStopping(hooks.Hook):
  """Watches a column as `tf.keras.callbacks.EarlyStopping` watches a metric.

  Differences within rounding, as `ranking.gains` defines it, are no gain. The
  best round so far has a checkpoint, even if it is the initial model. The run's
  checkpoint manager decides whether to keep it.

  Attributes:
    column: The watched column, `eval/*`.
    best_round: The first round with the best finite value so far; None without
      one.
    reason: The reason to end the run, a part of a sentence; None to go on.
  """

  may_stop = True

  def __init__(
    self,
    column: str,
    *,
    higher_is_better: bool,
    patience: int,
    min_delta: float = 0.0,
  ) -> None:
    """Begins without an evaluation.

    Args:
      column: The column to watch, `eval/*`, which every evaluation has.
      higher_is_better: Whether a higher value is better.
      patience: The number of consecutive evaluations without a gain over the
        best one before them after which the run stops; 0 for never.
      min_delta: The gain that an evaluation must exceed to reset `patience`.
    """
    errors.check_integer('patience', patience, least=0)
    errors.check_range('min_delta', min_delta, least=0)
    self.column = column
    self.best_round: int | None = None
    self._higher_is_better = higher_is_better
    self._patience = patience
    self._min_delta = min_delta
    self._best = self._reference = -math.inf if higher_is_better else math.inf
    self._reference_round: int | None = None
    self._waited = 0
    self._seen = False

  def begin(self, run: hooks.Run) -> None:
    if not run.is_resumed:
      return
    self.observe_rows(run.read_rows())
    if self.best_round is not None:
      # Reports a damaged checkpoint now instead of at the end of the run.
      run.load(self.best_round)

  def keeps(self, round_number: int) -> bool:
    return self.best_round == round_number

  def observe(self, round_number: int, row: Mapping[str, Any]) -> None:
    """Takes a row into account; rows come in the order of their rounds.

    Args:
      round_number: The row's round.
      row: The row. A row without columns `eval/*` is no evaluation.
    """
    others = [name for name in row if name.startswith('eval/')]
    if not others:
      return
    if not self._seen and self.column not in row:
      raise errors.InputError(
        f'Early stopping must watch one of {", ".join(others)}, the columns of '
        f'the evaluation of round {round_number}, got {self.column!r}.'
      )
    self._seen = True
    # A value that is not finite, or missing because models have diverged, is no
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
    waited = f'{self._waited} evaluations one after the other'
    if self._waited == 1:
      waited = '1 evaluation'
    if self._reference_round is None:
      return f'{self.column} was not finite in {waited}'
    margin = f' by more than {self._min_delta:g}' if self._min_delta else ''
    return (
      f'{self.column} was not better{margin} than '
      f'{self._reference:.6g}, that of round '
      f'{self._reference_round}, in {waited}'
    )
