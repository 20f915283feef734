# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Scores models on clients: each client's metrics, and those over all examples.

A model is the server's or a client's. A client's model has a start, such as the
server's weights joined with the client's own, and then a tuning, such as a
process's local training (FedFish, arXiv 2311.10291, evaluation protocol). A
scorer without tuning gives the scores before it.

A metric over no examples is missing, not zero: it is NaN, and `num_examples` is
0. Every metric of a diverged model is NaN, too, since an accuracy of non-finite
weights looks like any other number. `client_statistics` leaves both out.
"""

import collections
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import NamedTuple

from fedfish_tff import errors
from fedfish_tff import finite_checks
from fedfish_tff.models import model_functions

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

# A client's data by name, in the form of the current context: `test`, on which
# its model is scored, and `state` and `train` if the scorer needs them.
# Unneeded data is not read.
ClientInput = Mapping[str, Any]


class Scores(NamedTuple):
  """The scores of models on clients.

  Attributes:
    total: `num_examples` and the metrics over all examples.
    per_client: The same of each client, in the given order.
  """

  total: collections.OrderedDict[str, Any]
  per_client: list[Mapping[str, Any]]


def _build_client_scores(
  model: model_functions.ModelFn,
  *,
  start: tff.Computation | None = None,
  tuning: tff.Computation | None = None,
) -> tff.Computation:
  """Builds the pass that returns each client's metrics and the sums over all.

  Args:
    model: A functional model, or a function that returns a variable model.
    start: The start, `(<S, C> -> M)`.
    tuning: The tuning, `(<M, B*> -> M)`.

  Returns:
    A computation `(<S@SERVER, {<state=C, train=B*, test=B*>}@CLIENTS> ->
    <per_client={OrderedDict(num_examples=int64, <metric>...)}@CLIENTS,
    total=T@SERVER>)`, without `state` if there is no start, and without `train`
    if there is no tuning. T holds the sums over the clients of the metrics'
    states and of `num_examples`, so the totals of several groups of clients add
    up. If clients have weights of their own, T leaves out diverged clients.
  """
  weights_type = model_functions.weights_type(model)
  data_type = model_functions.data_type(model)
  server_type, client_type = weights_type, collections.OrderedDict()
  if start is not None:
    server_type, client_type['state'] = start.type_signature.parameter
  if tuning is not None:
    client_type['train'] = data_type
  evaluate = _build_local_scores(model, without_diverged=bool(client_type))
  client_type['test'] = data_type

  @tff.federated_computation(
    tff.FederatedType(server_type, tff.SERVER),
    tff.FederatedType(client_type, tff.CLIENTS),
  )
  def client_scores(sent, clients):
    weights = tff.federated_broadcast(sent)
    if start is not None:
      weights = tff.federated_map(start, (weights, clients.state))
    if tuning is not None:
      weights = tff.federated_map(tuning, (weights, clients.train))
    scores = tff.federated_map(evaluate, (weights, clients.test))
    return collections.OrderedDict(
      per_client=scores.client, total=tff.federated_sum(scores.total)
    )

  return client_scores


class ClientScorer:
  """Scores models on any number of clients, one group of them at a time.

  A computation over all clients needs copies of all their data in memory at
  once. Here only one group of clients is in memory. The metrics over all
  examples are still exact, since the metrics' states are summed over the groups
  instead of their values; TFF requires that states add up. Every example counts
  alike, whichever client holds it.
  """

  def __init__(
    self,
    model: model_functions.ModelFn,
    *,
    start: tff.Computation | None = None,
    tuning: tff.Computation | None = None,
  ) -> None:
    """Builds the computations.

    Args:
      model: A functional model, or a function that returns a variable model.
      start: The computation of a client's model before tuning, `(<S, C> -> M)`,
        not placed, such as `client_model_weights` of a `ClientStateProcess`.
        None for the server's model: S is M then.
      tuning: The computation of a client's model after tuning, `(<M, B*> ->
        M)`, not placed, such as a process's local training; None for no tuning.
    """
    self._scores = _build_client_scores(model, start=start, tuning=tuning)
    # The computation of metrics from the sums of all groups.
    self.finalize = _build_finalizer(model, self._scores)
    _, client_type = self._scores.type_signature.parameter
    self._names = tff.structure.name_list(client_type.member)

  def __call__(
    self, sent: Any, chunks: Iterable[Sequence[ClientInput]]
  ) -> Scores:
    """Scores models on groups of clients.

    Args:
      sent: The value that the server sends: the model's weights, or the start's
        S.
      chunks: The groups of clients' data, with at least one client; each is
        used before the next is loaded. The groups' sizes change results by
        rounding at most.

    Returns:
      The metrics, NaN where missing.
    """
    (scores,) = score_models([(self, sent)], chunks)
    if not scores.per_client:
      raise errors.InputError(
        'There must be at least one client to evaluate on, got none.'
      )
    return scores

  def score_group(self, sent: Any, clients: Sequence[ClientInput]) -> Any:
    """Returns <per_client, total> of one group, sums that add up as the total."""
    inputs = [
      collections.OrderedDict((name, client[name]) for name in self._names)
      for client in clients
    ]
    try:
      return self._scores(sent, inputs)
    except Exception as error:
      ids = [getattr(client['test'], 'client_id', '') for client in clients]
      text = errors.describe_wrong_label(error, ids if all(ids) else ())
      if text is None:
        raise
      raise errors.InputError(text) from error


def score_models(
  models: Sequence[tuple[ClientScorer, Any]],
  chunks: Iterable[Sequence[ClientInput]],
) -> list[Scores]:
  """Scores several models on the same groups of clients.

  Args:
    models: Each model's scorer, and the value that the server sends.
    chunks: The groups of clients' data; each is used before the next is loaded.

  Returns:
    Each model's scores; empty if there is no client at all.
  """
  totals: list[Any] = [None] * len(models)
  per_client: list[list[Mapping[str, Any]]] = [[] for _ in models]
  for chunk in filter(len, chunks):
    for index, (scorer, sent) in enumerate(models):
      result = scorer.score_group(sent, chunk)
      per_client[index] += result['per_client']
      totals[index] = (
        result['total']
        if totals[index] is None
        else tf.nest.map_structure(np.add, totals[index], result['total'])
      )
    # Frees the group before the next one is made.
    del chunk
  return [
    Scores({} if total is None else scorer.finalize(total), scores)
    for (scorer, _), total, scores in zip(models, totals, per_client)
  ]


def _build_local_scores(
  model: model_functions.ModelFn, *, without_diverged: bool
) -> tff.Computation:
  """Builds the pass over one client, not placed.

  Args:
    model: A functional model, or a function that returns a variable model.
    without_diverged: Whether a client with non-finite weights or states adds
      nothing to the total; for clients with weights of their own.

  Returns:
    A computation `(<M, B*> -> <client=OrderedDict(num_examples=int64,
    <metric>...), total=T>)`.
  """

  @tff.tensorflow.computation(
    model_functions.weights_type(model), model_functions.data_type(model)
  )
  def evaluate(weights, dataset):
    unfinalized, num_examples = model_functions.build_evaluation_pass(model)(
      weights, dataset
    )
    is_finite = finite_checks.all_finite(
      model_functions.flatten_weights(weights)
    )
    total = collections.OrderedDict(
      unfinalized=unfinalized,
      num_examples=num_examples,
      num_diverged=tf.cast(~is_finite, tf.int32),
    )
    if without_diverged:
      is_kept = is_finite & finite_checks.all_finite(total)
      total = tf.nest.map_structure(
        lambda value: tf.where(is_kept, value, tf.zeros_like(value)), total
      )
    return collections.OrderedDict(
      client=_finalize(model, unfinalized, num_examples, is_finite),
      total=total,
    )

  return evaluate


def _build_finalizer(
  model: model_functions.ModelFn, client_scores: tff.Computation
) -> tff.Computation:
  """Builds the computation of metrics from the totals, not placed."""

  @tff.tensorflow.computation(client_scores.type_signature.result.total.member)
  def finalize(total):
    return _finalize(
      model,
      total['unfinalized'],
      total['num_examples'],
      tf.equal(total['num_diverged'], 0),
    )

  return finalize


def _finalize(
  model: model_functions.ModelFn,
  unfinalized: Any,
  num_examples: tf.Tensor,
  is_finite: tf.Tensor,
) -> collections.OrderedDict[str, Any]:
  """Returns `num_examples` and the metrics, floats NaN where missing."""
  is_present = (num_examples > 0) & is_finite

  def nan_if_missing(value: Any) -> tf.Tensor:
    value = tf.convert_to_tensor(value)
    if not value.dtype.is_floating:
      return value
    nan = tf.constant(float('nan'), value.dtype)
    return tf.where(is_present, value, nan)

  finalizer = model_functions.build_metrics_finalizer(model)
  metrics = tf.nest.map_structure(nan_if_missing, finalizer(unfinalized))
  result = collections.OrderedDict(num_examples=num_examples)
  # TFF's models from Keras have num_examples as a metric, too.
  result.update((k, v) for k, v in metrics.items() if k != 'num_examples')
  return result
