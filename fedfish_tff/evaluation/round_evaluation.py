# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Evaluation of weights on held-out clients during training, as columns.

It scores the global weights, and the weights after clients' fine-tuning by the
process's local training.
"""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import functools
from typing import Any

from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff.evaluation import client_scorer
from fedfish_tff.evaluation import client_statistics
from fedfish_tff.evaluation import gradient_norm
from fedfish_tff.evaluation import scorer_inputs

from absl import logging
import tensorflow_federated as tff

_FINE_TUNED_FRACTION = 0.5


class SharedComputations:
  """The computations of a model's evaluations, built and traced once for all.

  Each is built at its first use.
  """

  def __init__(
    self,
    model: tff.learning.models.FunctionalModel,
    build_local_training: Callable[[], tff.Computation],
    client_model_weights: tff.Computation | None = None,
  ) -> None:
    """Keeps the parts of the computations.

    Args:
      model: The model whose metrics are scored.
      build_local_training: A function that returns the process's local
        training, (<ModelWeights, B*> -> ModelWeights).
      client_model_weights: The process's computation of that name, if its
        clients have states.
    """
    self._model = model
    self._build_local_training = build_local_training
    self._client_model_weights = client_model_weights

  @functools.cached_property
  def _local_training(self) -> tff.Computation:
    return self._build_local_training()

  @functools.cached_property
  def global_model(self) -> client_scorer.ClientScorer:
    """The scorer of the same weights on every client."""
    return client_scorer.ClientScorer(self._model)

  @functools.cached_property
  def fine_tuned(self) -> client_scorer.ClientScorer:
    """The scorer of the same weights after each client's local training."""
    return client_scorer.ClientScorer(self._model, tuning=self._local_training)

  @functools.cached_property
  def own_models(self) -> client_scorer.ClientScorer:
    """The scorer of the model with which each client begins a round."""
    if self._client_model_weights is None:
      return self.global_model
    return client_scorer.ClientScorer(
      self._model, start=self._client_model_weights
    )

  @functools.cached_property
  def tuned_own_models(self) -> client_scorer.ClientScorer:
    """The scorer of that model after each client's local training."""
    if self._client_model_weights is None:
      return self.fine_tuned
    return client_scorer.ClientScorer(
      self._model,
      start=self._client_model_weights,
      tuning=self._local_training,
    )

  @functools.cached_property
  def gradient_norm(self) -> tff.Computation:
    """The computation of the gradient norm of clients' loss."""
    return gradient_norm.build_gradient_norm(self._model)


class HeldOutEvaluation:
  """Evaluates weights on held-out clients, before and after personalisation.

  Clients are loaded in groups each time, so memory does not grow with their
  number, except for data that the client data itself keeps.
  """

  def __init__(
    self,
    computations: SharedComputations,
    clients: datasets.ClientData,
    *,
    eval_batch_size: int,
    fine_tune_spec: datasets.BatchSpec | None,
    seed: int,
    spread_of: Mapping[str, bool] | None = None,
  ) -> None:
    """Prepares the evaluation.

    Args:
      computations: The computations of the model and, for personalisation, of
        local training.
      clients: The held-out clients, some with two examples or more.
      eval_batch_size: The number of examples per batch.
      fine_tune_spec: The batches of the half that is fine-tuned on; None for no
        personalisation. Clients with a single example are left out of it.
      seed: The seed of the halves.
      spread_of: The metrics to return with their spread over clients, each with
        whether a higher value is better.
    """
    self._clients = clients
    self._eval_batch_size = eval_batch_size
    self._spec = fine_tune_spec
    self._seed = seed
    self._spread_of = dict(spread_of or {})
    self._computations = computations
    if fine_tune_spec is None:
      return
    self._personalized = [
      client_id
      for client_id in clients.client_ids
      if datasets.count_examples(clients.load_client(client_id)) >= 2
    ]
    if not self._personalized:
      raise errors.InputError(
        'No held-out client has the two examples that personalisation needs; '
        'fine_tune_spec must be None (0 epochs of personalisation).'
      )
    if len(self._personalized) < len(clients.client_ids):
      logging.warning(
        '%d of %d held-out clients have one example only and are left out of '
        'personalisation.',
        len(clients.client_ids) - len(self._personalized),
        len(clients.client_ids),
      )

  def __call__(self, weights: Any) -> dict[str, float]:
    """Returns `global/<metric>` and `personalized/<metric>`.

    The former are over all examples. The latter are means over the clients'
    unseen halves, by their numbers of examples; the suffix `_before` marks
    those before fine-tuning. If clients of one example are left out of them,
    `personalized/scored_clients` counts the others. Clients with a diverged
    model are counted as `global/diverged_clients` and
    `personalized/diverged_clients`; means over clients are then NaN.

    The spread over clients, if requested, has the suffixes `_client_mean`,
    `_client_std` and `_jain_index`, in which every client counts alike, and
    `_worst_tenth`, the mean over the tenth of the clients with the worst values.
    Counts by pairs of classes have no means, so they have no personalised
    columns.
    """
    return self.score_global(weights) | self.score_personalized(weights)

  def score_global(self, weights: Any) -> dict[str, float]:
    """Returns the columns of the global weights."""
    result = self._computations.global_model(
      weights,
      scorer_inputs.load_chunks(
        self._clients, eval_batch_size=self._eval_batch_size
      ),
    )
    columns = {
      f'global/{name}': float(value)
      for name, value in result.total.items()
      if name != 'num_examples'
    }
    columns['global/diverged_clients'] = (
      client_statistics.count_diverged_clients(result.per_client)
    )
    return columns | self._spread('global', result.per_client)

  def score_personalized(self, weights: Any) -> dict[str, float]:
    """Returns the columns of personalised weights."""
    if self._spec is None:
      return {}

    def load(client_id: str) -> client_scorer.ClientInput:
      return scorer_inputs.split_client(
        scorer_inputs.plan_whole_client(
          self._clients, client_id, batch_size=self._eval_batch_size
        ),
        fraction=_FINE_TUNED_FRACTION,
        fine_tune_spec=self._spec,
        seed=self._seed,
      )

    (_, before), (_, after) = client_scorer.score_models(
      [
        (self._computations.global_model, weights),
        (self._computations.fine_tuned, weights),
      ],
      scorer_inputs.chunk_inputs(self._personalized, load),
    )
    columns = {}
    for scores, suffix in ((after, ''), (before, '_before')):
      for name in client_statistics.score_names(scores):
        columns[f'personalized/{name}{suffix}'] = (
          client_statistics.mean_over_clients(
            scores, name, weighting='examples'
          )
        )
    columns['personalized/diverged_clients'] = (
      client_statistics.count_diverged_clients(after)
    )
    if len(after) < len(self._clients.client_ids):
      columns['personalized/scored_clients'] = len(after)
    return columns | self._spread('personalized', after)

  def _spread(
    self, prefix: str, scores: Sequence[Mapping[str, Any]]
  ) -> dict[str, float]:
    """Returns the columns of the spread over clients."""
    columns = {}
    for name, higher_is_better in self._spread_of.items():
      values, sizes = client_statistics.metric_values(scores, name)
      column = f'{prefix}/{name}'
      columns[f'{column}_client_mean'] = client_statistics.weighted_mean(
        values, sizes
      )
      columns |= client_statistics.spread(
        column, values, higher_is_better=higher_is_better
      )
    return columns
