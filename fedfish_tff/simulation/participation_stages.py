# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Stages of a run, each with twice as many clients as the one before.

FLANP (Reisizadeh et al., arXiv:2012.14453) and SRPFL (Tziotis et al.,
arXiv:2206.02078) begin with the fastest clients, and add slower ones only when
more accuracy needs their data.
"""

import bisect
from collections.abc import Mapping
import itertools
import math
from typing import NamedTuple

from fedfish_tff import errors
from fedfish_tff.evaluation import metric_names
from fedfish_tff.simulation import hooks


class Stages(NamedTuple):
  """The number of clients by round, in stages.

  Attributes:
    sizes: The number of clients in each stage.
    first_rounds: The first round of each stage, from 1 on. The last stage has
      no end.
  """

  sizes: tuple[int, ...]
  first_rounds: tuple[int, ...]

  def size(self, round_number: int) -> int:
    """Returns the number of clients in a round."""
    return self.sizes[self._stage(round_number)]

  def first_round(self, round_number: int) -> int:
    """Returns the first round of a round's stage."""
    return self.first_rounds[self._stage(round_number)]

  def _stage(self, round_number: int) -> int:
    errors.check_positive_integer('The round of a stage', round_number)
    return bisect.bisect_right(self.first_rounds, round_number) - 1


class AccuracyStages(hooks.Hook):
  """Stages that last until their clients' statistical accuracy is reached.

  Algorithm 1 of FLANP: a stage ends when the squared gradient of its clients'
  mean loss is as small as their examples allow, by
  `evaluation.AccuracyCriterion`. The row of round r takes effect in round r +
  2, since the cohort of round r + 1 may be loaded while round r computes. Round
  r + 1 then decides nothing, so a stage has at least two rounds.
  """

  def __init__(self, n0: int, *, most: int) -> None:
    """Begins with the first stage.

    Args:
      n0: The number of clients in the first stage, from 1 to `most`.
      most: The number of clients in the last stage, at most twice that of the
        stage before.
    """
    # Replaced as a whole, since another thread may read it.
    self._stages = Stages(_double(n0, most), (1,))
    self._last_decided = 2

  @property
  def sizes(self) -> tuple[int, ...]:
    """The number of clients in each stage."""
    return self._stages.sizes

  def begin(self, run: hooks.Run) -> None:
    if run.is_resumed:
      self.observe_rows(run.read_rows())

  def observe(self, round_number: int, row: Mapping[str, int | float]) -> None:
    """Decides on round `round_number` + 2.

    Rounds are observed in order. Observing a round again undoes the decisions
    since then.
    """
    sizes, begun = self._stages
    effect = round_number + 2
    begun = begun[: bisect.bisect_left(begun, effect)]
    reached = row.get(metric_names.GRADIENT, math.nan) <= row.get(
      metric_names.ALLOWED_GRADIENT, math.nan
    )
    if reached and begun[-1] <= round_number and len(begun) < len(sizes):
      begun += (effect,)
    self._stages = Stages(sizes, begun)
    self._last_decided = effect

  def size(self, round_number: int) -> int:
    """Returns the number of clients in a round.

    Args:
      round_number: The round, at most the last observed one plus 2.
    """
    return self._decided(round_number).size(round_number)

  def first_round(self, round_number: int) -> int:
    """Returns the first round of the stage that a round is in.

    The arguments and conditions are those of `size`.
    """
    return self._decided(round_number).first_round(round_number)

  def _decided(self, round_number: int) -> Stages:
    if round_number > self._last_decided:
      raise ValueError(
        f'The stage of round {round_number} was asked for, but the row of round '
        f'{round_number - 2}, which decides on it, was not observed.'
      )
    return self._stages


def expected_slowest(n: int, num_clients: int) -> float:
  """Returns the expected seconds of the slowest of the n fastest clients.

  It is H_N - H_{N-n}, with the harmonic numbers H, for clients' seconds of
  Exp(1); section 4.1 of SRPFL.

  Args:
    n: The number of clients that a round waits for.
    num_clients: N, the number of all clients.
  """
  return math.fsum(1 / k for k in range(num_clients - n + 1, num_clients + 1))


def equal_stages(n0: int, *, most: int, rounds_per_stage: int) -> Stages:
  """Returns equally long stages of n0, 2 n0, 4 n0 ... clients.

  SRPFL's experiments have 10, 20, 40, 80 and 100 clients for 10 rounds each.

  Args:
    n0: The number of clients in the first stage, from 1 to `most`.
    most: The number of clients in the last stage, at most twice that of the
      stage before.
    rounds_per_stage: The number of rounds of each stage but the last.
  """
  errors.check_positive_integer('rounds_per_stage', rounds_per_stage)
  sizes = _double(n0, most)
  return Stages(
    sizes, tuple(1 + rounds_per_stage * stage for stage in range(len(sizes)))
  )


def exponential_stages(n0: int, *, most: int, contraction: float) -> Stages:
  """Returns the doubling stages that are best for exponential speeds.

  Let each round contract the squared distance by 1 - a (SRPFL, inequality
  (10)), with a limit that falls as 1 / sqrt(n). Let T_n = (H_N - H_{N-n}) /
  lambda be the expected seconds of the slowest of the n fastest of N clients
  (H: the harmonic numbers). The total time to a given accuracy is least if the
  stage of n clients has

    ceil(2 log(sqrt(2) (T_2n - T_n) / (T_n - T_{n/2})) / log(1 / (1 - a)))

  rounds. Common factors of all rounds, such as lambda, and their communication
  cancel out.

  Args:
    n0: The number of clients in the first stage, from 1 to `most`.
    most: N, also the number of clients in the last stage. If that is less than
      twice the stage before, a factor by their ratio replaces sqrt(2).
    contraction: 1 - a, between 0 and 1: the factor by which a round reduces the
      squared distance to the best representation.
  """
  errors.check_range('contraction', contraction, above=0, below=1)
  sizes = _double(n0, most)
  rounds = []
  for n, following in itertools.pairwise(sizes):
    # The limits of the stages before, at and after this one.
    before, now, after = ((k / n) ** -0.5 for k in (n / 2, n, following))
    ratio = (before - now) / (now - after)
    # For n0 = 1, half of it is no client, which takes no time.
    times = [expected_slowest(k, most) for k in (n // 2, n, following)]
    ratio *= (times[2] - times[1]) / (times[1] - times[0])
    rounds.append(
      max(1, math.ceil(2 * math.log(ratio) / -math.log(contraction)))
    )
  return Stages(sizes, tuple(itertools.accumulate(rounds, initial=1)))


def _double(n0: int, most: int) -> tuple[int, ...]:
  errors.check_positive_integer('n0', n0)
  if n0 > most:
    raise errors.InputError(
      f'n0 must be at most {most}, since at most {most} clients take part, got '
      f'{n0}.'
    )
  sizes = [n0]
  while sizes[-1] < most:
    sizes.append(min(2 * sizes[-1], most))
  return tuple(sizes)
