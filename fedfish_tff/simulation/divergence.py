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
import sys
from typing import Any

from fedfish_tff.simulation import costs
from fedfish_tff.simulation import federated_round
from fedfish_tff.simulation import hooks
from fedfish_tff.simulation import metrics_rows
from fedfish_tff.simulation import round_problems

import numpy as np
import tensorflow as tf

# A training loss has diverged if it is larger than so many times the initial
# model's, of at least 1: a good start must not forbid what is usual.
_LOSS_FACTOR = 50
_LOSS, _INITIAL_LOSS = 'train/loss', 'eval/global/loss'
# A run without a limit has diverged if its last rounds are so many.
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

  A round without clients has not diverged, but ends no streak either. A round
  with a cause has it in the column `train/diverged`. The last round of a run
  that is ended has a checkpoint.

  Attributes:
    reason: See `hooks.Hook`.
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
    self._last = self._first_round = first_round
    self._advise = advise
    self._streak: list[int] = []
    self._cause = round_problems.Cause.CLIENTS
    self._was_finite = False
    self._loss = 0.0
    self._largest_loss = sys.float_info.max

  @property
  def first_diverged_round(self) -> int | None:
    """The first round of the streak with which the run ends; None without.

    A streak counts if it has as many rounds as end a run, or half of the rounds
    of a shorter run.
    """
    enough = min(
      self._patience or _USUAL_ROUNDS,
      max(1, (self._last - self._first_round) // 2),
    )
    return self._streak[0] if len(self._streak) >= enough else None

  def begin(self, run: hooks.Run) -> None:
    if run.is_resumed:
      self.observe_rows(run.read_rows())

  def after_round(self, round_: hooks.Round) -> None:
    cause = self._find_cause(round_)
    if cause is not None:
      round_.row[round_problems.DIVERGED_COLUMN] = int(cause)

  def keeps(self, round_number: int) -> bool:
    del round_number
    return self.reason is not None

  def observe(self, round_number: int, row: metrics_rows.Row) -> None:
    if round_number == self._first_round:
      initial = row.get(_INITIAL_LOSS, math.nan)
      if math.isfinite(initial):
        self._largest_loss = _LOSS_FACTOR * max(1.0, initial)
      return
    self._last = round_number
    if row.get(round_problems.DIVERGED_COLUMN):
      if not self._streak:
        self._cause = round_problems.Cause(
          int(row[round_problems.DIVERGED_COLUMN])
        )
        self._loss = row.get(_LOSS, 0.0)
      self._streak.append(round_number)
      if self._patience and len(self._streak) >= self._patience:
        self.reason = self.describe()
    elif self._streak or not self._was_finite:
      if self._participation(round_number):
        self._streak = []
        self._was_finite = True

  def describe(self) -> str:
    """Returns a clause on the first round of the streak, and on its rates."""
    cohort = self._participation(self._streak[0])
    clients = f'{len(cohort)} ({round_problems.name_clients(cohort)})'
    effect = _EFFECTS[self._cause].format(clients=clients, loss=self._loss)
    advice = self._advise(self._cause, not self._was_finite)
    return f'{effect}; {advice}' if advice else effect

  def _find_cause(self, round_: hooks.Round) -> round_problems.Cause | None:
    """Returns the cause of a trained round's divergence; None without one."""
    row: Mapping[str, Any] = round_.row
    if not round_.cohort:
      return None
    if row.get(costs.EXCLUDED_COLUMN, 0) >= len(round_.cohort):
      return round_problems.Cause.CLIENTS
    if row.get(_LOSS, 0.0) > self._largest_loss:
      return round_problems.Cause.LOSS
    if row.get(federated_round.NON_FINITE_COLUMN):
      return round_problems.Cause.AGGREGATE
    weights = round_problems.training_weights(round_.process, round_.state)
    if all(
      np.isfinite(w).all()
      for w in map(np.asarray, tf.nest.flatten(weights))
      if w.dtype.kind in 'fc'
    ):
      return None
    return round_problems.Cause.MODEL
