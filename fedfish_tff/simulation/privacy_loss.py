# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Epsilon of the rounds so far, by dp_accounting.

The values are upper bounds by Rényi differential privacy (Mironov,
arXiv:1702.07476). They protect all of a client's data (user level) from an
observer of every global model. They are pure functions of the number of rounds.
"""

from collections.abc import Callable
import functools
import math

from fedfish_tff.simulation import hooks

import dp_accounting
import numpy as np

# Maps the number of rounds to epsilon, which is infinite without noise.
Epsilon = Callable[[int], float]

_RELATION = dp_accounting.NeighboringRelation


class PrivacyLoss(hooks.Hook):
  """A hook that adds epsilon after each round, as `privacy/epsilon`."""

  def __init__(self, epsilon: Epsilon) -> None:
    """Takes epsilon as a function of the number of rounds."""
    self._epsilon = epsilon

  def complete_row(self, round_: hooks.Round) -> None:
    round_.row['privacy/epsilon'] = self._epsilon(round_.number)


def poisson_epsilon(
  noise_multiplier: float, *, delta: float, sampling_probability: float
) -> Epsilon:
  """Returns epsilon of noised sums over Poisson-sampled clients.

  Data sets are neighbours if one has one client more than the other. See
  Mironov, Talwar and Zhang, "Rényi Differential Privacy of the Sampled Gaussian
  Mechanism" (arXiv:1908.10530).

  Args:
    noise_multiplier: The noise's standard deviation over the clip norm.
    delta: A number between 0 and 1, well below 1 / clients.
    sampling_probability: The probability that a client takes part in a round,
      independently of other clients and rounds.
  """
  return _epsilon_of_rounds(
    dp_accounting.PoissonSampledDpEvent(
      sampling_probability, dp_accounting.GaussianDpEvent(noise_multiplier)
    ),
    _RELATION.ADD_OR_REMOVE_ONE,
    noise_multiplier,
    delta,
  )


def fixed_size_epsilon(
  noise_multiplier: float, *, delta: float, cohort_size: int, num_clients: int
) -> Epsilon:
  """Returns epsilon of noised sums over cohorts drawn without replacement.

  Data sets are neighbours if one client is replaced by another; the number of
  clients is known. Replacing a client changes the sum by up to twice the clip
  norm, so the noise counts half. See Wang, Balle and Kasiviswanathan,
  "Subsampled Rényi Differential Privacy and Analytical Moments Accountant"
  (arXiv:1808.00087), theorem 27.

  Args:
    noise_multiplier: The noise's standard deviation over the clip norm.
    delta: A number between 0 and 1, well below 1 / clients.
    cohort_size: The number of clients per round, drawn anew each round.
    num_clients: The number of all clients.
  """
  return _epsilon_of_rounds(
    dp_accounting.SampledWithoutReplacementDpEvent(
      num_clients,
      cohort_size,
      dp_accounting.GaussianDpEvent(noise_multiplier / 2),
    ),
    _RELATION.REPLACE_ONE,
    noise_multiplier,
    delta,
  )


def tree_epsilon(
  noise_multiplier: float, *, delta: float, rounds_per_tree: int
) -> Epsilon:
  """Returns epsilon of sums with tree noise and each client once per tree.

  Data sets are neighbours if a client's contributions are zero in one of them.
  The bound does not rely on random participation. See Kairouz et al.
  (arXiv:2103.00039), theorem 4.1 and appendix D.

  Args:
    noise_multiplier: The standard deviation of a node's noise over the clip
      norm.
    delta: A number between 0 and 1, well below 1 / clients.
    rounds_per_tree: The number of rounds after which the tree begins anew.
  """

  def epsilon(rounds: int) -> float:
    accountant = dp_accounting.rdp.RdpAccountant(
      neighboring_relation=_RELATION.REPLACE_SPECIAL
    )
    trees, rest = divmod(rounds, rounds_per_tree)
    for steps, count in ((rounds_per_tree, trees), (rest, 1)):
      if steps and count:
        accountant.compose(
          dp_accounting.SingleEpochTreeAggregationDpEvent(
            noise_multiplier, steps
          ),
          count,
        )
    return float(accountant.get_epsilon(delta))

  return epsilon


def _epsilon_of_rounds(
  event: dp_accounting.DpEvent,
  relation: dp_accounting.NeighboringRelation,
  noise_multiplier: float,
  delta: float,
) -> Epsilon:
  """Returns epsilon of identical rounds."""

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

  return epsilon
