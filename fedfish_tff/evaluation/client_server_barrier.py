# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The client-server barrier: the cost to clients of merging their models.

FedFish (arXiv 2311.10291), equation 5: the distance, on a client's own data, of
the new global model from the model that the client trained in the round. The
formula is our reading of the paper's text. It is signed, and positive if the
global model is worse for the client than the client's own,

  mean_i [accuracy(theta_i, D_i) - accuracy(theta_G, D_i)], or
  mean_i [loss(theta_G, D_i) - loss(theta_i, D_i)].

The paper leaves the mean's weights open, so there are two means: with equal
weights, and with the clients' numbers of examples as weights.
"""

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import NamedTuple

from fedfish_tff import datasets
from fedfish_tff.evaluation import client_scorer
from fedfish_tff.evaluation import client_statistics
from fedfish_tff.evaluation import round_evaluation
from fedfish_tff.evaluation import scorer_inputs

import numpy as np


class BarrierScores(NamedTuple):
  """The scores of each client of a round, on the examples of its batches.

  Attributes:
    own: `num_examples` and the metrics of the model that each client trained.
    merged: The same of the new global model.
  """

  own: Sequence[Mapping[str, Any]]
  merged: Sequence[Mapping[str, Any]]


class CohortBarrier:
  """The client-server barrier of a round, in every metric."""

  def __init__(
    self,
    computations: round_evaluation.SharedComputations,
    *,
    eval_batch_size: int,
    higher_is_better: Mapping[str, bool],
  ) -> None:
    """Prepares the measurement.

    Args:
      computations: The computations of the model and the process's local
        training. Run on the round's batches from the weights that the round
        started with, it gives the clients' own models again.
      eval_batch_size: The number of examples per batch in evaluation, which
        changes results by rounding at most.
      higher_is_better: The metrics of the barrier, each with whether a higher
        value is better.
    """
    self._computations = computations
    self._eval_batch_size = eval_batch_size
    self._higher_is_better = dict(higher_is_better)

  def __call__(
    self, before: Any, after: Any, cohort: Sequence[datasets.ClientBatches]
  ) -> dict[str, float]:
    """Returns `csb/<metric>` and `csb/<metric>_by_examples`.

    They are means of equation 5 of FedFish as read above: lower is better.
    Clients for which their own or the merged model gives no finite score are
    counted as `csb/diverged_clients`; the means are then NaN.

    Args:
      before: The global weights before the round.
      after: The global weights after the round.
      cohort: The round's batches, as for `score_clients`.
    """
    scores = self.score_clients(before, after, cohort)
    columns = {}
    for name, higher_is_better in self._higher_is_better.items():
      values, sizes = client_barriers(
        scores, name, higher_is_better=higher_is_better
      )
      for weighting, suffix in (('uniform', ''), ('examples', '_by_examples')):
        columns[f'csb/{name}{suffix}'] = client_statistics.weighted_mean(
          values, sizes, weighting=weighting
        )
    both = [
      {**own, **{f'server/{name}': value for name, value in merged.items()}}
      for own, merged in zip(*scores, strict=True)
    ]
    columns['csb/diverged_clients'] = client_statistics.count_diverged_clients(
      both
    )
    return columns

  def score_clients(
    self, before: Any, after: Any, cohort: Sequence[datasets.ClientBatches]
  ) -> BarrierScores:
    """Returns each client's scores.

    Args:
      before: The global weights before the round.
      after: The global weights after the round.
      cohort: The round's batches. Each of their examples is scored once: the
        |D_i| examples after the cap, on which the client's model was trained.
    """
    clients = [
      scorer_inputs.build_barrier_input(
        client, eval_batch_size=self._eval_batch_size
      )
      for client in cohort
    ]
    own, merged = client_scorer.score_models(
      [
        (self._computations.fine_tuned, before),
        (self._computations.global_model, after),
      ],
      [clients],
    )
    return BarrierScores(own.per_client, merged.per_client)


def client_barriers(
  scores: BarrierScores,
  metric: str,
  *,
  higher_is_better: bool,
) -> tuple[np.ndarray, np.ndarray]:
  """Returns the signed barrier of each scored client, with the clients' sizes.

  Args:
    scores: The scores of a round's clients.
    metric: The name of a metric of all scored clients, such as `'accuracy'`.
    higher_is_better: Whether a higher value is better: True for accuracies,
      False for losses.

  Returns:
    Two float64 arrays of shape `[num_scored_clients]`: the barrier, in the
    metric's unit, positive if the global model is worse and NaN if one of the
    two models has diverged; and the number of examples that it was measured on.
  """
  own, sizes = client_statistics.metric_values(scores.own, metric)
  merged, _ = client_statistics.metric_values(scores.merged, metric)
  with np.errstate(invalid='ignore'):  # inf - inf
    return (own - merged if higher_is_better else merged - own), sizes
