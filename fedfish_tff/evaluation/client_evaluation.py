# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Evaluates model weights on clients: each client's metrics, or the total.

A metric over no examples is missing, not zero: it is NaN beside a
`num_examples` of 0. So is every metric of a model that has diverged, since an
accuracy of weights that are not finite looks like any other number.
`client_statistics` leaves both out.
"""

import collections
from typing import Any

from fedfish_tff.models import model_functions

import tensorflow as tf
import tensorflow_federated as tff


def _has_finite_weights(weights: tff.learning.models.ModelWeights) -> tf.Tensor:
  return _is_finite(model_functions.flatten_weights(weights))


def _is_finite(values: Any) -> tf.Tensor:
  return tf.reduce_all(
    [
      tf.reduce_all(tf.math.is_finite(value))
      for value in map(tf.convert_to_tensor, tf.nest.flatten(values))
      if value.dtype.is_floating
    ]
  )


def _finalize(
  finalizer: Any,
  unfinalized: Any,
  num_examples: tf.Tensor,
  weights: tff.learning.models.ModelWeights,
) -> collections.OrderedDict[str, Any]:
  """Returns `num_examples` and the metrics, floats NaN where missing."""
  is_present = (num_examples > 0) & _has_finite_weights(weights)

  def nan_if_missing(value: Any) -> tf.Tensor:
    value = tf.convert_to_tensor(value)
    if not value.dtype.is_floating:
      return value
    nan = tf.constant(float('nan'), value.dtype)
    return tf.where(is_present, value, nan)

  metrics = tf.nest.map_structure(nan_if_missing, finalizer(unfinalized))
  result = collections.OrderedDict(num_examples=num_examples)
  # Models built by TFF from Keras count their examples as a metric too.
  result.update((k, v) for k, v in metrics.items() if k != 'num_examples')
  return result


def build_local_evaluation(
  model: model_functions.ModelFn,
) -> tff.Computation:
  """Builds the evaluation of one client, not placed, for use in other parts.

  Args:
    model: A functional model, or a function that returns a variable model.

  Returns:
    A computation `(<M, B*> -> OrderedDict(num_examples=int64, <metric>...))`
    of model weights and batches, with the model's finalized metrics. Those of
    a float type are NaN where a weight is not finite.
  """

  @tff.tensorflow.computation(
    model_functions.weights_type(model), model_functions.data_type(model)
  )
  def evaluate(weights, dataset):
    unfinalized, num_examples = model_functions.build_evaluation_pass(model)(
      weights, dataset
    )
    finalizer = model_functions.build_metrics_finalizer(model)
    return _finalize(finalizer, unfinalized, num_examples, weights)

  return evaluate


def build_client_evaluation(model: model_functions.ModelFn) -> tff.Computation:
  """Builds the evaluation that keeps every client's own metrics.

  Args:
    model: A functional model, or a function that returns a variable model.

  Returns:
    A computation `(<M@SERVER, {B*}@CLIENTS> ->
    {OrderedDict(num_examples=int64, <metric>...)}@CLIENTS)`, in the clients'
    order.
  """
  evaluate = build_local_evaluation(model)

  @tff.federated_computation(
    tff.FederatedType(model_functions.weights_type(model), tff.SERVER),
    tff.FederatedType(model_functions.data_type(model), tff.CLIENTS),
  )
  def client_evaluation(weights, client_data):
    return tff.federated_map(
      evaluate, (tff.federated_broadcast(weights), client_data)
    )

  return client_evaluation


def build_local_totals(
  model: model_functions.ModelFn, *, without_diverged: bool = False
) -> tff.Computation:
  """Builds the pass over one client for `build_metric_totals`, not placed.

  Args:
    model: A functional model, or a function that returns a variable model.
    without_diverged: Whether the states of a client whose weights or states are
      not finite count as zero, where every client has weights of its own.

  Returns:
    A computation `(<M, B*> -> <client=OrderedDict(num_examples=int64,
    <metric>...), total=T>)`; T holds the metrics' states and `num_examples`.
  """

  @tff.tensorflow.computation(
    model_functions.weights_type(model), model_functions.data_type(model)
  )
  def evaluate(weights, dataset):
    unfinalized, num_examples = model_functions.build_evaluation_pass(model)(
      weights, dataset
    )
    finalizer = model_functions.build_metrics_finalizer(model)
    total = collections.OrderedDict(
      unfinalized=unfinalized, num_examples=num_examples
    )
    if without_diverged:
      is_finite = _has_finite_weights(weights) & _is_finite(total)
      total = tf.nest.map_structure(
        lambda value: tf.where(is_finite, value, tf.zeros_like(value)), total
      )
    return collections.OrderedDict(
      client=_finalize(finalizer, unfinalized, num_examples, weights),
      total=total,
    )

  return evaluate


def build_metric_totals(model: model_functions.ModelFn) -> tff.Computation:
  """Builds the pass that gives each client's metrics and the sums over all.

  Args:
    model: A functional model, or a function that returns a variable model.

  Returns:
    A computation `(<M@SERVER, {B*}@CLIENTS> -> <clients={OrderedDict(
    num_examples=int64, <metric>...)}@CLIENTS, total=T@SERVER>)`. T holds the
    sums over the clients of the metrics' states and of `num_examples`: adding
    up those of several groups of clients gives that of all of them.
  """
  evaluate = build_local_totals(model)

  @tff.federated_computation(
    tff.FederatedType(model_functions.weights_type(model), tff.SERVER),
    tff.FederatedType(model_functions.data_type(model), tff.CLIENTS),
  )
  def metric_totals(weights, client_data):
    per_client = tff.federated_map(
      evaluate, (tff.federated_broadcast(weights), client_data)
    )
    return collections.OrderedDict(
      clients=per_client.client, total=tff.federated_sum(per_client.total)
    )

  return metric_totals


def build_totals_finalizer(
  model: model_functions.ModelFn, metric_totals: tff.Computation
) -> tff.Computation:
  """Builds what makes metrics of the totals of `build_metric_totals`.

  Args:
    model: A functional model, or a function that returns a variable model.
    metric_totals: Of `build_metric_totals`, or another computation whose result
      has such a `total@SERVER`, of the same model.

  Returns:
    A computation `(<M, T> -> OrderedDict(num_examples=int64, <metric>...))`,
    not placed. Metrics of a float type are NaN where a weight is not finite.
  """
  total_type = metric_totals.type_signature.result.total.member

  @tff.tensorflow.computation(model_functions.weights_type(model), total_type)
  def finalize(weights, total):
    finalizer = model_functions.build_metrics_finalizer(model)
    return _finalize(
      finalizer, total['unfinalized'], total['num_examples'], weights
    )

  return finalize


def build_global_evaluation(model: model_functions.ModelFn) -> tff.Computation:
  """Builds the evaluation over all clients' examples together.

  The metrics' states are summed over the clients and finalized at the server,
  so every example counts alike, whoever holds it. `chunked_evaluation` does
  the same for more clients than are to be in memory at once.

  Args:
    model: A functional model, or a function that returns a variable model.

  Returns:
    A computation `(<M@SERVER, {B*}@CLIENTS> ->
    OrderedDict(num_examples=int64, <metric>...)@SERVER)`. Metrics of a float
    type are NaN where a weight is not finite.
  """
  totals = build_metric_totals(model)
  finalize = build_totals_finalizer(model, totals)

  @tff.federated_computation(
    tff.FederatedType(model_functions.weights_type(model), tff.SERVER),
    tff.FederatedType(model_functions.data_type(model), tff.CLIENTS),
  )
  def global_evaluation(weights, client_data):
    total = totals(weights, client_data).total
    return tff.federated_map(finalize, (weights, total))

  return global_evaluation
