# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Epsilon of the rounds so far, by dp_accounting.

The values are upper bounds. They protect all of a client's data (user level)
from an observer of every global model. They are pure functions of the number of
rounds. Two accountants bound them:

- RDP: Rényi differential privacy (Mironov, arXiv:1702.07476), as in most
  published figures;
- PLD: privacy loss distributions (Sommer, Meiser and Mohammadi, "Privacy Loss
  Classes", PoPETs 2019; Doroshenko et al., arXiv:2207.04380), which are tight
  up to their discretisation, here within a percent, and never below.
"""

from collections.abc import Callable
import dataclasses
import functools
import math

from fedfish_tff import choices
from fedfish_tff import errors
from fedfish_tff.simulation import hooks

import dp_accounting
import numpy as np

_RELATION = dp_accounting.NeighboringRelation
# Losses are counted in steps of this part of their deviation in a round.
_PLD_STEP = 0.1
# With more noise, the library's losses of fixed cohorts are logarithms of 0.
_MOST_FIXED_SIZE_NOISE = 1e6
# Below, distributions need gigabytes, and epsilon is in the thousands.
_LEAST_PLD_NOISE = 0.01


@dataclasses.dataclass(frozen=True)
class Epsilon:
  """A function from the number of rounds to epsilon, infinite without noise.

  Attributes:
    accountant: The accountant that bounds epsilon.
    of_rounds: The function from a number of rounds to epsilon.
  """

  accountant: choices.Accountant
  of_rounds: Callable[[int], float]

  def __call__(self, rounds: int) -> float:
    return self.of_rounds(rounds)


class PrivacyLoss(hooks.Hook):
  """A hook that adds epsilon after each round.

  The column, `privacy/epsilon_rdp` or `privacy/epsilon_pld`, names the
  accountant.
  """

  def __init__(self, epsilon: Epsilon) -> None:
    """Takes epsilon as a function of the number of rounds."""
    self._epsilon = epsilon

  def complete_row(self, round_: hooks.Round) -> None:
    column = f'privacy/epsilon_{self._epsilon.accountant.value}'
    round_.row[column] = self._epsilon(round_.number)


def poisson_epsilon(
  noise_multiplier: float,
  *,
  delta: float,
  sampling_probability: float,
  accountant: choices.Accountant = choices.Accountant.RDP,
) -> Epsilon:
  """Returns epsilon of noised sums over Poisson-sampled clients.

  Data sets are neighbours if one has one client more than the other (Mironov,
  Talwar and Zhang, "Rényi Differential Privacy of the Sampled Gaussian
  Mechanism", arXiv:1908.10530).

  Args:
    noise_multiplier: The noise's standard deviation over the clip norm; for
      PLD, 0 or at least 0.01.
    delta: A number between 0 and 1, well below 1 / clients.
    sampling_probability: The probability that a client takes part in a round,
      independently of other clients and rounds.
    accountant: RDP, or the tighter PLD.
  """
  _check(noise_multiplier, delta, accountant)
  errors.check_range(
    'sampling_probability', sampling_probability, above=0, most=1
  )
  event = dp_accounting.PoissonSampledDpEvent(
    sampling_probability, dp_accounting.GaussianDpEvent(noise_multiplier)
  )
  if accountant is choices.Accountant.RDP:
    return _rdp_of_rounds(
      event, _RELATION.ADD_OR_REMOVE_ONE, noise_multiplier, delta
    )

  def epsilon(rounds: int) -> float:
    return _pld_epsilon(
      event, rounds, sampling_probability, noise_multiplier, delta
    )

  return Epsilon(accountant, epsilon)


def fixed_size_epsilon(
  noise_multiplier: float, *, delta: float, cohort_size: int, num_clients: int
) -> Epsilon:
  """Returns epsilon, by RDP, of noised sums over cohorts of a fixed size.

  Cohorts are drawn without replacement. Data sets are neighbours if one client
  is replaced by another; the number of clients is known. Replacing a client
  changes the sum by up to twice the clip norm, so the noise counts half (Wang,
  Balle and Kasiviswanathan, "Subsampled Rényi Differential Privacy and
  Analytical Moments Accountant", arXiv:1808.00087, theorem 27). No privacy loss
  distribution is known that bounds several such rounds together (Lebeda et al.,
  arXiv:2405.20769), so that there is no choice of the accountant.

  Args:
    noise_multiplier: The noise's standard deviation over the clip norm.
    delta: A number between 0 and 1, well below 1 / clients.
    cohort_size: The number of clients per round, drawn anew each round.
    num_clients: The number of all clients.
  """
  _check(noise_multiplier, delta, choices.Accountant.RDP)
  errors.check_positive_integer('cohort_size', cohort_size)
  if cohort_size > num_clients:
    raise errors.InputError(
      f'cohort_size must be at most {num_clients}, the number of clients, got '
      f'{cohort_size}.'
    )
  # Less noise bounds more.
  noise = min(noise_multiplier, _MOST_FIXED_SIZE_NOISE)
  return _rdp_of_rounds(
    dp_accounting.SampledWithoutReplacementDpEvent(
      num_clients, cohort_size, dp_accounting.GaussianDpEvent(noise / 2)
    ),
    _RELATION.REPLACE_ONE,
    noise_multiplier,
    delta,
  )


def tree_epsilon(
  noise_multiplier: float,
  *,
  delta: float,
  rounds_per_tree: int,
  accountant: choices.Accountant = choices.Accountant.RDP,
) -> Epsilon:
  """Returns epsilon of sums with tree noise and each client once per tree.

  Data sets are neighbours if a client's contributions are zero in one of them.
  The bound does not rely on random participation. By Kairouz et al.
  (arXiv:2103.00039), theorem 4.1 and appendix D, a client is in one path of a
  tree, each node of which is a Gaussian mechanism. Together these are as
  private as one Gaussian mechanism with the noise divided by the root of the
  number of nodes (Dong, Roth and Su, arXiv:1905.02383, corollary 3.3).

  Args:
    noise_multiplier: The standard deviation of a node's noise over the clip
      norm; for PLD, 0 or at least 0.01.
    delta: A number between 0 and 1, well below 1 / clients.
    rounds_per_tree: The number of rounds after which the tree begins anew.
    accountant: RDP, or the tighter PLD.
  """
  _check(noise_multiplier, delta, accountant)
  errors.check_positive_integer('rounds_per_tree', rounds_per_tree)
  # NumPy's integers have no bit_length.
  rounds_per_tree = int(rounds_per_tree)

  def by_rdp(rounds: int) -> float:
    loss = dp_accounting.rdp.RdpAccountant(
      neighboring_relation=_RELATION.REPLACE_SPECIAL
    )
    trees, rest = divmod(rounds, rounds_per_tree)
    for steps, count in ((rounds_per_tree, trees), (rest, 1)):
      if steps and count:
        loss.compose(
          dp_accounting.SingleEpochTreeAggregationDpEvent(
            noise_multiplier, steps
          ),
          count,
        )
    return float(loss.get_epsilon(delta))

  def by_pld(rounds: int) -> float:
    trees, rest = divmod(int(rounds), rounds_per_tree)
    nodes = trees * rounds_per_tree.bit_length() + rest.bit_length()
    noise = noise_multiplier / math.sqrt(max(nodes, 1))
    event = dp_accounting.GaussianDpEvent(noise)
    return _pld_epsilon(event, min(nodes, 1), 1.0, noise, delta)

  by = {choices.Accountant.RDP: by_rdp, choices.Accountant.PLD: by_pld}
  return Epsilon(accountant, by[accountant])


def _check(
  noise_multiplier: float, delta: float, accountant: choices.Accountant
) -> None:
  errors.check_range('delta', delta, above=0, below=1)
  errors.check_range('noise_multiplier', noise_multiplier, least=0)
  errors.check_choice('accountant', accountant, choices.Accountant)
  if accountant is choices.Accountant.PLD and (
    0 < noise_multiplier < _LEAST_PLD_NOISE
  ):
    raise errors.InputError(
      f'noise_multiplier must be 0, or at least {_LEAST_PLD_NOISE} for the '
      f'accountant {accountant.value}, got {noise_multiplier!r}.'
    )


def _rdp_of_rounds(
  event: dp_accounting.DpEvent,
  relation: dp_accounting.NeighboringRelation,
  noise_multiplier: float,
  delta: float,
) -> Epsilon:
  """Returns epsilon of identical rounds, by RDP."""

  @functools.cache
  def round_loss() -> dp_accounting.rdp.RdpAccountant:
    # Cached, since it takes a second for cohorts of a fixed size.
    accountant = dp_accounting.rdp.RdpAccountant(neighboring_relation=relation)
    return accountant.compose(event)

  def epsilon(rounds: int) -> float:
    if not rounds:
      return 0.0
    if not noise_multiplier:
      return math.inf
    loss = round_loss()
    # With much noise, the accountant's sums may end just below zero.
    rdp = rounds * np.maximum(loss.rdp, 0)
    return float(dp_accounting.rdp.compute_epsilon(loss.orders, rdp, delta)[0])

  return Epsilon(choices.Accountant.RDP, epsilon)


def _pld_epsilon(
  event: dp_accounting.DpEvent,
  rounds: int,
  sampling_probability: float,
  noise: float,
  delta: float,
) -> float:
  """Returns epsilon of some rounds of an event, by PLD."""
  if not rounds:
    return 0.0
  if not noise:
    return math.inf
  # About the deviation of a round's loss; losses of little noise grow with the
  # square. The library's exponentials overflow beyond 1.
  deviation = sampling_probability / (noise * min(noise, 1.0))
  loss = dp_accounting.pld.PLDAccountant(
    value_discretization_interval=min(_PLD_STEP * deviation, 1.0)
  )
  return float(loss.compose(event, rounds).get_epsilon(delta))
