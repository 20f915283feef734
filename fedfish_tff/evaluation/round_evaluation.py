# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Evaluates a process as training goes, to columns of metrics.

On held-out clients: the global weights, and those that clients make of them by
the process' local training. On a round's cohort: the client-server barrier.
"""

import collections
from collections.abc import Mapping
from collections.abc import Sequence
import functools
from typing import Any

from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff.evaluation import chunked_evaluation
from fedfish_tff.evaluation import client_server_barrier
from fedfish_tff.evaluation import client_statistics
from fedfish_tff.evaluation import gradient_norm
from fedfish_tff.evaluation import inputs
from fedfish_tff.evaluation import metric_names
from fedfish_tff.evaluation import own_data_evaluation

from absl import logging
import numpy as np
import tensorflow_federated as tff

_FINE_TUNED_FRACTION = 0.5
_NOT_A_METRIC = 'num_examples'
_DIVERGED_CLIENTS = 'diverged_clients'


class SharedComputations:
  """What the evaluations of one model compute, built and traced once for all.

  Each is built when it is first asked for.
  """

  def __init__(
    self,
    model: tff.learning.models.FunctionalModel,
    local_training: tff.Computation,
    client_model_weights: tff.Computation | None = None,
  ) -> None:
    """Keeps what the computations are built of.

    Args:
      model: The model.
      local_training: The process' local training.
      client_model_weights: The process', if its clients have states.
    """
    self._model = model
    self._local_training = local_training
    self._client_model_weights = client_model_weights

  @functools.cached_property
  def global_model(self) -> chunked_evaluation.ChunkedEvaluation:
    """Scores the same weights on every client."""
    return chunked_evaluation.ChunkedEvaluation(self._model)

  @functools.cached_property
  def fine_tuned(self) -> chunked_evaluation.ChunkedEvaluation:
    """Scores what each client's local training makes of the same weights."""
    return chunked_evaluation.ChunkedEvaluation(
      self._model, self._local_training
    )

  @functools.cached_property
  def own_models(self) -> tff.Computation:
    """Scores clients' own models beside a global one.

    The barrier is measured by it, and so is personalisation, where the global
    model is the one that the clients' start from.
    """
    return client_server_barrier.build_client_server_barrier(
      self._model, self._local_training
    )

  @functools.cached_property
  def gradient_norm(self) -> tff.Computation:
    """Tells how far clients' loss is from a minimum."""
    return gradient_norm.build_gradient_norm(self._model)

  @functools.cached_property
  def own_data(self) -> tff.Computation:
    """Scores clients' own models on test data of their own."""
    return own_data_evaluation.build_own_data_evaluation(
      self._model,
      self._local_training,
      client_model_weights=self._client_model_weights,
    )


class HeldOutEvaluation:
  """Evaluates weights on held-out clients, before and after personalisation.

  Clients are loaded in groups each time, so that what is in memory does not
  grow with their number, but for what the client data itself keeps.
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
      computations: Of the model and, for personalisation, local training.
      clients: The held-out clients.
      eval_batch_size: Examples a batch.
      fine_tune_spec: Batches of the half that is fine-tuned on; None to leave
        personalisation out. Clients of a single example are left out of it.
      seed: Decides the halves.
      spread_of: Metrics whose spread over clients is wanted, too, and whether
        more of them is better.

    Raises:
      errors.InputError: If a client's data cannot be used, or none has two
        examples.
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
        'no fine_tune_spec (0 epochs of personalisation) was expected.'
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
    unseen halves, by their numbers of examples; with the suffix `_before`,
    those before fine-tuning. Clients whose model has diverged are left out and
    counted as `personalized/diverged_clients`.

    The spread over clients, where it was asked for, has the suffixes
    `_client_mean` and `_client_std`, in which every client counts alike, and
    `_worst_tenth`, the mean over the tenth of the clients with the worst
    values. Counts by pairs of classes have no means, so none of personalised
    models.
    """
    return self.score_global(weights) | self.score_personalized(weights)

  def score_global(self, weights: Any) -> dict[str, float]:
    """Returns the columns of a call that personalisation has no part in."""
    result = self._computations.global_model(
      weights,
      inputs.load_chunks(self._clients, eval_batch_size=self._eval_batch_size),
    )
    columns = {
      f'global/{name}': float(value)
      for name, value in result.total.items()
      if name != _NOT_A_METRIC
    }
    return columns | self._spread('global', result.per_client)

  def score_personalized(self, weights: Any) -> dict[str, float]:
    """Returns the other columns of a call."""
    if self._spec is None:
      return {}
    per_client = [
      scores
      for chunk in inputs.chunk_clients(self._personalized)
      for scores in self._computations.own_models(
        weights, weights, [self._halve(client_id) for client_id in chunk]
      )
    ]
    after = [client['client'] for client in per_client]
    before = [client['server'] for client in per_client]
    columns = {}
    for scores, suffix in ((after, ''), (before, '_before')):
      for name in _metric_names(scores):
        columns[f'personalized/{name}{suffix}'] = (
          client_statistics.mean_over_clients(
            scores, name, weighting='examples'
          )
        )
    columns[f'personalized/{_DIVERGED_CLIENTS}'] = _count_diverged(after)
    return columns | self._spread('personalized', after)

  def _halve(self, client_id: str) -> inputs.EvaluationInput:
    """Returns a client's half to fine-tune on and its unseen one."""
    client = inputs.plan_whole_client(
      self._clients, client_id, batch_size=self._eval_batch_size
    )
    parts = collections.OrderedDict(
      train=functools.partial(_tuned_half, spec=self._spec, seed=self._seed),
      eval=functools.partial(_unseen_half, seed=self._seed),
    )
    return collections.OrderedDict(
      (name, datasets.to_client_input(datasets.take_part(client, make)))
      for name, make in parts.items()
    )

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
      columns[f'{column}_client_std'] = client_statistics.standard_deviation(
        values
      )
      columns[f'{column}_worst_tenth'] = client_statistics.worst_tenth(
        values, higher_is_better=higher_is_better
      )
    return columns


def _tuned_half(
  client: datasets.ClientBatches, *, spec: datasets.BatchSpec, seed: int
) -> datasets.ClientBatches:
  tuned, _ = _split(client, seed)
  return datasets.plan_batches(
    datasets.take_examples(client.examples, tuned),
    spec,
    client_id=client.client_id,
    seed=seed,
    round_number=0,
  )


def _unseen_half(
  client: datasets.ClientBatches, *, seed: int
) -> datasets.ClientBatches:
  _, unseen = _split(client, seed)
  return datasets.sequential_batches(
    datasets.take_examples(client.examples, unseen),
    client_id=client.client_id,
    batch_size=client.batch_size,
  )


def _split(
  client: datasets.ClientBatches, seed: int
) -> tuple[np.ndarray, np.ndarray]:
  return datasets.split_rows(
    datasets.count_examples(client.examples),
    fraction=_FINE_TUNED_FRACTION,
    client_id=client.client_id,
    seed=seed,
  )


class CohortBarrier:
  """The client-server barrier of a round, in every metric."""

  def __init__(
    self,
    computations: SharedComputations,
    *,
    eval_batch_size: int,
    higher_is_better: Mapping[str, bool],
  ) -> None:
    """Prepares the measurement.

    Args:
      computations: Of the model and the process' local training.
      eval_batch_size: Examples a batch.
      higher_is_better: The metrics to measure the barrier in, and whether more
        of them is better.
    """
    self._computations = computations
    self._eval_batch_size = eval_batch_size
    self._higher_is_better = dict(higher_is_better)

  def __call__(
    self, before: Any, after: Any, cohort: Sequence[datasets.ClientBatches]
  ) -> dict[str, float]:
    """Returns `csb/<metric>`, and `csb/<metric>_by_examples`.

    Clients whose own model has diverged are left out and counted as
    `csb/diverged_clients`.

    Args:
      before: The global weights before the round.
      after: The global weights after the round.
      cohort: The round's batches. Clients are scored on the examples of them.
    """
    per_client = self._computations.own_models(
      before,
      after,
      [
        inputs.build_barrier_input(
          client, eval_batch_size=self._eval_batch_size
        )
        for client in cohort
      ],
    )
    columns = {
      f'csb/{name}{suffix}': client_server_barrier.barrier(
        per_client, name, higher_is_better, weighting
      )
      for name, higher_is_better in self._higher_is_better.items()
      for weighting, suffix in (('uniform', ''), ('examples', '_by_examples'))
    }
    columns[f'csb/{_DIVERGED_CLIENTS}'] = _count_diverged(
      [client['client'] for client in per_client]
    )
    return columns


def _metric_names(scores: Sequence[Mapping[str, Any]]) -> list[str]:
  return [name for name in scores[0] if not metric_names.is_count(name)]


def _count_diverged(scores: Sequence[Mapping[str, Any]]) -> int:
  """Returns how many scored clients are missing in the mean of some metric."""
  if not scores:
    return 0
  values = [
    client_statistics.metric_values(scores, name)[0]
    for name in _metric_names(scores)
  ]
  # The greatest magnitude is finite only if all of a client's values are.
  return client_statistics.count_diverged(np.max(np.abs(values), axis=0))
