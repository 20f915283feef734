# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Scores what clients make of weights with a share of their examples.

The protocol of the FedFish paper (arXiv 2311.10291, section 5): fine-tuned on
0, 25 or 50 % of a client's examples, and always scored on the same half, which
fine-tuning has not seen.
"""

from collections.abc import Iterator
from collections.abc import Mapping
import itertools
from typing import Any
from typing import NamedTuple

from fedfish_tff import datasets
from fedfish_tff.evaluation import inputs
from fedfish_tff.evaluation import round_evaluation

import tensorflow_federated as tff


class FewShotScores(NamedTuple):
  """What weights score; nothing where no client has enough examples.

  Attributes:
    per_client: `num_examples` and the metrics of each client that was scored,
      NaN where its fine-tuning has diverged.
    total: The same over all examples of the clients that have not diverged.
  """

  per_client: Mapping[str, Mapping[str, Any]]
  total: Mapping[str, Any]


class FewShotEvaluation:
  """Scores weights on the unseen half of each client, by share of its data."""

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
      computations: Of the model and local training.
      fine_tune_spec: Batches and epochs of the fine-tuning; None where nothing
        but the fraction 0 will be asked for.
      eval_batch_size: Examples a batch in evaluation.
      seed: Decides the halves and the batches.
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
    """Scores weights.

    Args:
      weights: The model's weights.
      clients: The clients. Those of less than two examples are left out, and
        those of less than `datasets.MIN_FEW_SHOT_EXAMPLES`, too, but for the
        fractions 0 and 0.5.
      fraction: The share of the examples to fine-tune on, in [0, 0.5].
    """
    evaluate = (
      self._computations.fine_tuned
      if fraction
      else self._computations.global_model
    )
    client_ids = []
    chunks = self._load_chunks(clients, fraction, client_ids)
    first = next(chunks, None)
    if first is None:
      return FewShotScores({}, {})
    chunks = itertools.chain([first], chunks)
    # Or it would be in memory while the next group is made.
    del first
    total, per_client = evaluate(weights, chunks)
    return FewShotScores(dict(zip(client_ids, per_client, strict=True)), total)

  def _load_chunks(
    self, clients: datasets.ClientData, fraction: float, loaded: list[str]
  ) -> Iterator[list[Any]]:
    """Yields clients' data for `ChunkedEvaluation`; adds their ids."""
    for chunk in inputs.chunk_clients(clients.client_ids):
      group = {
        client_id: self._build_input(
          clients.load_client(client_id), fraction, client_id
        )
        for client_id in chunk
      }
      group = {name: data for name, data in group.items() if data is not None}
      if group:
        loaded += group
        yield list(group.values())
      # Or it would be in memory while the next one is made.
      del group

  def _build_input(
    self, examples: datasets.Examples, fraction: float, client_id: str
  ) -> Any:
    """Returns a client's data; None where there are too few."""
    total = datasets.count_examples(examples)
    if total >= datasets.MIN_FEW_SHOT_EXAMPLES:
      support, unseen = datasets.split_few_shot(
        examples, fraction=fraction, client_id=client_id, seed=self._seed
      )
    elif total >= 2 and fraction in (0, 0.5):
      support, unseen = datasets.split_examples(
        examples, fraction=0.5, client_id=client_id, seed=self._seed
      )
    else:
      return None
    if not fraction:
      return datasets.to_client_input(
        datasets.sequential_batches(
          unseen, client_id=client_id, batch_size=self._eval_batch_size
        )
      )
    return inputs.build_personalization_input(
      support,
      unseen,
      client_id=client_id,
      batch_spec=self._spec,
      eval_batch_size=self._eval_batch_size,
      seed=self._seed,
    )
