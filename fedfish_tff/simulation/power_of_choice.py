# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Power of choice: the candidates with the highest losses take part.

Cho, Wang and Joshi, "Client Selection in Federated Learning: Convergence
Analysis and Power-of-Choice Selection Strategies", 2020 (arXiv:2010.01243),
section 4, pow-d.
"""

from collections.abc import Callable
from collections.abc import Sequence
from typing import Any

from fedfish_tff import errors
from fedfish_tff.simulation import costs
from fedfish_tff.simulation import hooks
from fedfish_tff.simulation import metrics_rows
from fedfish_tff.simulation import participation as participation_lib
from fedfish_tff.simulation import round_problems

import numpy as np

# A row has the choice of the next round's clients among the candidates, in
# integers of as many bits; every reader of rows has such integers exactly.
_COLUMN = 'participation/next_chosen_{}'
_BITS = 32
# A candidate sends its loss, a float32.
_LOSS_BYTES = 4

# Maps (weights, client ids) to each client's loss, NaN where it is missing.
LossesFn = Callable[[Any, Sequence[str]], Sequence[float]]


class PowerOfChoice(hooks.Hook):
  """A participation of the candidates with the highest losses.

  The choice for round r is in the row of round r - 1, written by
  `CandidateLosses`, so a resumed run repeats it without the earlier models. As
  a hook, it reads the rows; it comes before hooks that ask for cohorts.
  """

  # A round's cohort is not loaded while the round before computes.
  known_ahead = False

  def __init__(
    self, candidates: participation_lib.Participation, *, size: int
  ) -> None:
    """Chooses nothing yet.

    Args:
      candidates: The function that returns the candidates of a round, in the
        paper such as `proportional_participation`.
      size: m, the number of candidates that take part; all, if there are fewer.
    """
    errors.check_positive_integer('size', size)
    self.candidates = candidates
    self._size = size
    self._chosen: dict[int, tuple[str, ...]] = {}

  def __call__(self, round_number: int) -> tuple[str, ...]:
    """Returns the chosen clients of a round, in the candidates' order.

    Args:
      round_number: The round, at most the last observed one plus 1.
    """
    if round_number not in self._chosen:
      raise ValueError(
        f'The cohort of round {round_number} was asked for, but the row of round '
        f'{round_number - 1}, which has the choice, was not observed.'
      )
    return self._chosen[round_number]

  def planned(self, round_number: int) -> tuple[str, ...]:
    """Returns as many candidates as a round will have clients, for plans."""
    return self.candidates(round_number)[: self._size]

  def begin(self, run: hooks.Run) -> None:
    if run.is_resumed:
      self.observe_rows(run.read_rows())

  def encode(
    self, round_number: int, losses: Sequence[float]
  ) -> dict[str, int]:
    """Returns the columns with the choice for a round.

    Args:
      round_number: The round of the choice.
      losses: The losses of its candidates. A NaN is below any other loss; of
        equal ones, the first candidates are chosen.
    """
    values = np.asarray(losses, np.float64)
    values = np.where(np.isnan(values), -np.inf, values)
    best = np.argsort(-values, kind='stable')[: self._size]
    bits = sum(1 << index for index in best.tolist())
    num_columns = -(-len(values) // _BITS)
    return {
      _COLUMN.format(i): bits >> (_BITS * i) & ((1 << _BITS) - 1)
      for i in range(num_columns)
    }

  def observe(self, round_number: int, row: metrics_rows.Row) -> None:
    following = round_number + 1
    self._chosen[following] = tuple(
      client_id
      for i, client_id in enumerate(self.candidates(following))
      if int(row[_COLUMN.format(i // _BITS)]) >> (i % _BITS) & 1
    )


class CandidateLosses(hooks.Hook):
  """A hook that measures the losses of the next round's candidates.

  They are losses of the weights that clients start the next round from. The
  hook comes after `CommunicationCosts`, to whose bytes it adds a loss from each
  candidate, and the weights to each candidate that is not chosen.
  """

  def __init__(
    self, choice: PowerOfChoice, losses_fn: LossesFn, *, weights_bytes: int
  ) -> None:
    """Prepares the measurement.

    Args:
      choice: The participation, which has the candidates.
      losses_fn: The function from weights and client ids to losses.
      weights_bytes: The bytes of all weights, for the column of bytes.
    """
    self._choice = choice
    self._losses_fn = losses_fn
    self._weights_bytes = weights_bytes

  def count_bytes(self, round_number: int, num_chosen: int) -> int:
    """Returns the bytes of the choice for a round, beyond those of training."""
    num_candidates = len(self._choice.candidates(round_number))
    unchosen = num_candidates - num_chosen
    return num_candidates * _LOSS_BYTES + unchosen * self._weights_bytes

  def after_round(self, round_: hooks.Round) -> None:
    round_.row[costs.WIRE_BYTES_COLUMN] += self.count_bytes(
      round_.number, len(round_.cohort)
    )

  def complete_row(self, round_: hooks.Round) -> None:
    following = round_.number + 1
    weights = round_problems.training_weights(round_.process, round_.state)
    losses = self._losses_fn(weights, self._choice.candidates(following))
    round_.row.update(self._choice.encode(following, losses))
