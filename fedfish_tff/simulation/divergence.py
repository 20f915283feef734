# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Divergence: rounds that leave nothing finite, and the end of such a run.

Decisions follow from the rows of metrics.csv and the cohorts, so a resumed run
decides the same as an uninterrupted one.
"""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import math
from typing import Any

from fedfish_tff.simulation import costs
from fedfish_tff.simulation import federated_round
from fedfish_tff.simulation import hooks
from fedfish_tff.simulation import metrics_rows
from fedfish_tff.simulation import round_problems

import numpy as np
import tensorflow as tf

# A training loss has diverged if it is larger than so many times the initial
# model's, that of the first round, or 1: a good start must not forbid what is
# usual.
_LOSS_FACTOR = 50
_LOSS, _INITIAL_LOSS = 'train/loss', 'eval/global/loss'
# A run has diverged if so many last rounds have, whatever its limit.
_USUAL_ROUNDS = 5
_EFFECTS = {
  round_problems.Cause.CLIENTS: 'no client of {clients} had a finite update',
  round_problems.Cause.LOSS: 'the training loss of {clients} was {loss:.3g}',
  round_problems.Cause.AGGREGATE: (
    'the aggregated update of {clients} was not finite'
  ),
  round_problems.Cause.MODEL: (
    'the model was not finite after the updates of {clients}'
  ),
}


class Divergence(hooks.Hook):
  """Ends a run after several diverged rounds in a row.

  A round without clients has not diverged, but ends no streak either, nor does
  a streak of large losses count while they fall: while the last one is below
  the first, and one of the last 5 is the lowest. A round with a cause has it in
  the column `train/diverged`. The last round of a run that is ended has a
  checkpoint.

  Attributes:
    reason: The reason to end the run, a part of a sentence; None to go on.
  """

  def __init__(
    self,
    patience: int,
    *,
    participation: Callable[[int], Sequence[str]],
    first_round: int = 0,
    advise: Callable[
      [round_problems.Cause, bool], str
    ] = lambda cause, at_once: '',
  ) -> None:
    """Begins without a diverged round.

    Args:
      patience: The number of consecutive diverged rounds after which the run
        ends; 0 for never.
      participation: The function that returns the cohort of a round.
      first_round: The round that a new run begins with, without training.
      advise: A function from the cause, and whether no earlier round has had
        finite updates, to a clause that says what is to be changed; '' for
        none.
    """
    self.may_stop = patience > 0
    self._patience = patience
    self._participation = participation
    self._first_round = first_round
    self._advise = advise
    self._streak: list[int] = []
    self._cause = round_problems.Cause.CLIENTS
    self._was_finite = False
    self._last_cause = self._cause
    # The training losses of the streak's first and last rounds, the lowest one,
    # and the number of rounds of the streak since that.
    self._first_loss = self._last_loss = self._lowest_loss = math.inf
    self._rounds_since_lowest = 0
    # The loss that later ones are compared with.
    self._usual_loss = 1.0
    self._has_trained = False
    self._knows_initial = False
    self._began_finite = True

  @property
  def first_diverged_round(self) -> int | None:
    """The first round of the streak with which the run ends; None without.

    A streak counts if it has as many rounds as end a run, 5 at most, or all
    rounds with clients of a shorter run.
    """
    enough = min(self._patience or _USUAL_ROUNDS, _USUAL_ROUNDS)
    is_long = len(self._streak) >= enough or not self._was_finite
    counts = self._streak and is_long and not self._has_falling_losses
    return self._streak[0] if counts else None

  @property
  def _has_falling_losses(self) -> bool:
    causes = {self._cause, self._last_cause}
    falls = (
      self._last_loss < self._first_loss
      and self._rounds_since_lowest < _USUAL_ROUNDS
    )
    return causes == {round_problems.Cause.LOSS} and falls

  def _find_usual_loss(self, row: metrics_rows.Row) -> float:
    """Returns the loss to compare a row's with, which the first one may raise."""
    loss = row.get(_LOSS, math.nan)
    # Beyond that, the first round has diverged itself.
    largest = (
      _LOSS_FACTOR * self._usual_loss if self._knows_initial else math.inf
    )
    if self._has_trained or not loss <= largest or math.isinf(loss):
      return self._usual_loss
    return max(self._usual_loss, loss)

  def begin(self, run: hooks.Run) -> None:
    if run.is_resumed:
      self.observe_rows(run.read_rows())

  def after_round(self, round_: hooks.Round) -> None:
    cause = self._find_cause(round_)
    if cause is not None:
      round_.row[round_problems.DIVERGED_COLUMN] = int(cause)

  def observe(self, round_number: int, row: metrics_rows.Row) -> None:
    if round_number == self._first_round:
      initial = row.get(_INITIAL_LOSS, 0.0)
      self._began_finite = math.isfinite(initial)
      if self._began_finite and _INITIAL_LOSS in row:
        self._usual_loss = max(self._usual_loss, initial)
        self._knows_initial = True
      return
    self._usual_loss = self._find_usual_loss(row)
    self._has_trained |= math.isfinite(row.get(_LOSS, math.nan))
    if row.get(round_problems.DIVERGED_COLUMN):
      self._last_cause = round_problems.Cause(
        int(row[round_problems.DIVERGED_COLUMN])
      )
      self._last_loss = row.get(_LOSS, math.inf)
      if not self._streak:
        self._cause, self._first_loss = self._last_cause, self._last_loss
        self._lowest_loss = math.inf
      self._rounds_since_lowest += 1
      if self._last_loss < self._lowest_loss:
        self._lowest_loss = self._last_loss
        self._rounds_since_lowest = 0
      self._streak.append(round_number)
      if (
        self._patience
        and len(self._streak) >= self._patience
        and not self._has_falling_losses
      ):
        self.reason = self.describe()
    elif self._streak or not self._was_finite:
      if self._participation(round_number):
        self._streak = []
        self._was_finite = True

  def describe(self) -> str:
    """Returns a clause on the first round of the streak, and on its rates."""
    cohort = self._participation(self._streak[0])
    clients = f'{len(cohort)} ({round_problems.name_clients(cohort)})'
    effect = _EFFECTS[self._cause].format(
      clients=clients, loss=self._first_loss
    )
    if not self._began_finite:
      return f'{effect}; the loss of the initial model was not finite either'
    advice = self._advise(self._cause, not self._was_finite)
    return f'{effect}; {advice}' if advice else effect

  def _find_cause(self, round_: hooks.Round) -> round_problems.Cause | None:
    """Returns the cause of a trained round's divergence; None without one."""
    row: Mapping[str, Any] = round_.row
    if not round_.cohort:
      return None
    if row.get(costs.EXCLUDED_COLUMN, 0) >= len(round_.cohort):
      return round_problems.Cause.CLIENTS
    loss = row.get(_LOSS, 0.0)
    # NaN is no smaller.
    if not loss <= _LOSS_FACTOR * self._find_usual_loss(row):
      return round_problems.Cause.LOSS
    if row.get(federated_round.NON_FINITE_COLUMN):
      return round_problems.Cause.AGGREGATE
    weights = round_problems.training_weights(round_.process, round_.state)
    if all(
      np.isfinite(w).all()
      for w in map(np.asarray, tf.nest.flatten(weights))
      if _may_be_infinite(w)
    ):
      return None
    return round_problems.Cause.MODEL


def _may_be_infinite(array: np.ndarray) -> bool:
  # bfloat16 is no floating type of NumPy's own.
  dtype = tf.as_dtype(array.dtype)
  return dtype.is_floating or dtype.is_complex
