# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The part that all client work shares: map, metrics, count of excluded.

A client whose update is not finite is left out of the round: its update and
its weight are zero, its metrics are as if it had no data, and the process
counts it. TFF's own client work leaves such clients out without saying so.
"""

import collections
from collections.abc import Callable
from typing import Any
from typing import NamedTuple

from fedfish_tff.client_work import local_training
from fedfish_tff.models import autograph
from fedfish_tff.models import model_functions

import tensorflow as tf
import tensorflow_federated as tff


class ClientUpdate(NamedTuple):
  """What one client computes in a round, before it is checked.

  Attributes:
    update: A structure of float tensors for the aggregator.
    weight: float32 scalar.
    metrics: The model's unfinalized metrics over local training.
    initial_metrics: The same before any batch.
    also_finite: Further tensors that must be finite for the update to be
      accepted, such as products that the aggregator will form.
    trained: The trainable tensors after local training, of work that is wrapped
      by one whose clients keep some of them.
  """

  update: Any
  weight: tf.Tensor
  metrics: Any
  initial_metrics: Any
  also_finite: Any = ()
  trained: tuple[tf.Tensor, ...] = ()


# Takes (bound model, flat weights, the client's data, int32 round number).
ClientUpdateFn = Callable[
  [
    model_functions.BoundModel,
    model_functions.FlatWeights,
    tf.data.Dataset,
    tf.Tensor,
  ],
  ClientUpdate,
]

# Takes (bound model, what the server sends, the client's state, its data),
# returns (its update, its new state).
ClientStateUpdateFn = Callable[
  [model_functions.BoundModel, Any, Any, tf.data.Dataset],
  tuple[ClientUpdate, Any],
]


def client_weight(
  num_examples: tf.Tensor, weighting: tff.learning.ClientWeighting
) -> tf.Tensor:
  """Returns |D_i| or one as float32, as the weighting says."""
  if weighting == tff.learning.ClientWeighting.UNIFORM:
    return tf.constant(1.0)
  return tf.cast(num_examples, tf.float32)


def weigh_update(update: Any, weight: tf.Tensor) -> Any:
  """Returns an update times its weight, of which an aggregator forms the sum.

  That of a finite update can overflow, which would void the round of all
  clients: it belongs to what must be finite, too.
  """
  return tf.nest.map_structure(lambda t: tf.cast(weight, t.dtype) * t, update)


def _is_finite(result: ClientUpdate) -> tf.Tensor:
  return local_training.all_finite((result.update, result.also_finite))


def leave_out_non_finite(
  result: ClientUpdate,
) -> tuple[tff.learning.templates.ClientResult, Any, tf.Tensor]:
  """Zeroes an update, its weight and metrics if it is not finite.

  Args:
    result: What a client computed.

  Returns:
    (result for the aggregator, unfinalized metrics, int32 1 if the client is
    left out and 0 otherwise).
  """
  finite = _is_finite(result)
  update = tf.nest.map_structure(
    lambda t: tf.where(finite, t, tf.zeros_like(t)), result.update
  )
  metrics = tf.nest.map_structure(
    lambda t, t0: tf.where(finite, t, t0),
    result.metrics,
    result.initial_metrics,
  )
  weight = tf.where(finite, result.weight, 0.0)
  return (
    tff.learning.templates.ClientResult(update, weight),
    metrics,
    tf.cast(tf.logical_not(finite), tf.int32),
  )


def build_client_work(
  model: model_functions.ModelFn,
  client_update_fn: ClientUpdateFn,
) -> tff.learning.templates.ClientWorkProcess:
  """Builds a client work process around one client's update.

  Args:
    model: A functional model, or a function that returns a variable model.
    client_update_fn: A graph-time function that computes one client's update;
      it is called inside a `tf.function`.

  Returns:
    A process with next of type (<S@SERVER, {ModelWeights}@CLIENTS,
    {B*}@CLIENTS> -> <S@SERVER, {ClientResult}@CLIENTS, M@SERVER>), where M is
    <train=model metrics, excluded_clients=int32>.
  """
  weights_type = model_functions.weights_type(model)
  data_type = model_functions.data_type(model)
  aggregate_metrics = tff.learning.metrics.sum_then_finalize(
    model_functions.metric_finalizers(model)
  )

  @tff.tensorflow.computation(
    tff.TensorType(tf.int32.as_numpy_dtype), weights_type, data_type
  )
  def client_work(round_number, weights, dataset):
    bound = model_functions.bind_model(model)

    @autograph.graph_function
    def run(flat, data, round_number):
      return leave_out_non_finite(
        autograph.convert(client_update_fn)(bound, flat, data, round_number)
      )

    return run(model_functions.flatten_weights(weights), dataset, round_number)

  @tff.tensorflow.computation(tff.TensorType(tf.int32.as_numpy_dtype))
  def increment(number):
    return number + 1

  @tff.federated_computation
  def init_fn():
    return tff.federated_value(1, tff.SERVER)

  @tff.federated_computation(
    init_fn.type_signature.result,
    tff.FederatedType(weights_type, tff.CLIENTS),
    tff.FederatedType(data_type, tff.CLIENTS),
  )
  def next_fn(round_number, weights, client_data):
    sent_number = tff.federated_broadcast(round_number)
    client_result, unfinalized, excluded = tff.federated_map(
      client_work, (sent_number, weights, client_data)
    )
    return tff.templates.MeasuredProcessOutput(
      tff.federated_map(increment, round_number),
      client_result,
      tff.federated_zip(
        collections.OrderedDict(
          train=aggregate_metrics(unfinalized),
          excluded_clients=tff.federated_sum(excluded),
        )
      ),
    )

  return tff.learning.templates.ClientWorkProcess(init_fn, next_fn)


def build_client_state_work(
  model: model_functions.ModelFn,
  client_update_fn: ClientStateUpdateFn,
  *,
  model_type: tff.Type,
  client_type: tff.Type,
) -> tff.Computation:
  """Builds one client's round in a method whose clients keep a state.

  Args:
    model: A functional model, or a function that returns a variable model.
    client_update_fn: A graph-time function that computes one client's update
      and new state; it is called inside a `tf.function`. The state must be
      finite where the update and its `also_finite` are.
    model_type: M, the type of what the server sends.
    client_type: C, the type of a client's state.

  Returns:
    A computation (<M, C, B*> -> <client_state=C, result=ClientResult,
    metrics=unfinalized metrics, excluded=int32>), not placed, for
    `algorithms.compose_client_state_process`. A client that is left out keeps
    its state.
  """

  @tff.tensorflow.computation(
    model_type, client_type, model_functions.data_type(model)
  )
  def client_work(sent, client_state, dataset):
    bound = model_functions.bind_model(model)

    @autograph.graph_function
    def run(sent, client_state, data):
      update, new_state = autograph.convert(client_update_fn)(
        bound, sent, client_state, data
      )
      result, metrics, excluded = leave_out_non_finite(update)
      return collections.OrderedDict(
        client_state=tf.nest.map_structure(
          lambda new, old: tf.where(excluded > 0, old, new),
          new_state,
          client_state,
        ),
        result=result,
        metrics=metrics,
        excluded=excluded,
      )

    return run(sent, client_state, dataset)

  return client_work


def build_update_is_finite(
  model: model_functions.ModelFn, client_update_fn: ClientUpdateFn
) -> tff.Computation:
  """Builds the check of one client's update as a computation of its own.

  Args:
    model: A functional model, or a function that returns a variable model.
    client_update_fn: As in `build_client_work`.

  Returns:
    A computation of type (<ModelWeights, B*> -> bool), unplaced. Label draws
    are those of round 0.
  """

  @tff.tensorflow.computation(
    model_functions.weights_type(model), model_functions.data_type(model)
  )
  def update_is_finite(weights, dataset):
    bound = model_functions.bind_model(model)

    @autograph.graph_function
    def run(flat, data):
      result = autograph.convert(client_update_fn)(
        bound, flat, data, tf.constant(0)
      )
      return _is_finite(result)

    return run(model_functions.flatten_weights(weights), dataset)

  return update_is_finite
