# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Few-shot evaluation: scores after fine-tuning on a share of the examples.

This is the protocol of the FedFish paper (arXiv 2311.10291, section 5): weights
are fine-tuned on 0, 25 or 50 % of a client's examples, and always scored on the
same half, which fine-tuning has not seen.
"""

from collections.abc import Mapping
from typing import Any
from typing import NamedTuple

from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff.evaluation import client_scorer
from fedfish_tff.evaluation import round_evaluation
from fedfish_tff.evaluation import scorer_inputs

import tensorflow_federated as tff


class FewShotScores(NamedTuple):
  """The scores of weights; empty if no client has enough examples.

  Attributes:
    per_client: `num_examples` and the metrics of each scored client; NaN if its
      fine-tuning has diverged.
    total: The same over all examples of clients that have not diverged.
  """

  per_client: Mapping[str, Mapping[str, Any]]
  total: Mapping[str, Any]


class FewShotEvaluation:
  """Scores weights on each client's unseen half, after few-shot fine-tuning."""

  def __init__(
    self,
    computations: round_evaluation.SharedComputations,
    *,
    fine_tune_spec: datasets.BatchSpec | None,
    eval_batch_size: int,
    seed: int,
  ) -> None:
    """Prepares the evaluation.

    Args:
      computations: The computations of the model and local training.
      fine_tune_spec: The batches and epochs of the fine-tuning; None to score
        with the fraction 0 only.
      eval_batch_size: The number of examples per batch in evaluation.
      seed: The seed of the halves and the batches.
    """
    self._computations = computations
    self._spec = fine_tune_spec
    self._eval_batch_size = eval_batch_size
    self._seed = seed

  def __call__(
    self,
    weights: tff.learning.models.ModelWeights,
    clients: datasets.ClientData,
    fraction: float,
  ) -> FewShotScores:
    """Scores weights after fine-tuning on a share of each client's examples.

    Args:
      weights: The weights to fine-tune and score.
      clients: The clients. Those with fewer than two examples are left out;
        with fractions other than 0 and 0.5, also those with fewer than
        `datasets.MIN_FEW_SHOT_EXAMPLES`, or with a share of less than one
        example.
      fraction: The share of the examples to fine-tune on, in [0, 0.5].
    """
    errors.check_range('fraction', fraction, least=0, most=0.5)
    if fraction and self._spec is None:
      raise errors.InputError(
        f'fraction must be 0 without a fine_tune_spec, got {fraction}.'
      )
    evaluate = (
      self._computations.fine_tuned
      if fraction
      else self._computations.global_model
    )
    is_half = fraction in (0, 0.5)
    fewest = 2 if is_half else datasets.MIN_FEW_SHOT_EXAMPLES
    scored = []

    def load(client_id: str) -> client_scorer.ClientInput | None:
      client = scorer_inputs.plan_whole_client(
        clients, client_id, batch_size=self._eval_batch_size
      )
      total = datasets.count_examples(client.examples)
      if total < fewest or (fraction and int(fraction * total) < 1):
        return None
      scored.append(client_id)
      return scorer_inputs.split_client(
        client,
        fraction=fraction,
        fine_tune_spec=self._spec if fraction else None,
        seed=self._seed,
      )

    ((total, per_client),) = client_scorer.score_models(
      [(evaluate, weights)],
      scorer_inputs.chunk_inputs(clients.client_ids, load),
    )
    return FewShotScores(dict(zip(scored, per_client, strict=True)), total)
