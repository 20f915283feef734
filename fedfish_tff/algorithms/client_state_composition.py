# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Composition of methods with client states.

`composition` does the same for methods without them, from TFF's templates.
These templates have no place for client states.
"""

import collections
from collections.abc import Callable
from typing import Any

from fedfish_tff.algorithms import client_state_process
from fedfish_tff.algorithms import server_step as server_step_lib
from fedfish_tff.client_work import client_work_process
from fedfish_tff.models import model_functions

import tensorflow as tf
import tensorflow_federated as tff


def compose_client_state_process(
  model_fn: model_functions.ModelFn,
  client_update_fn: client_work_process.ClientStateUpdateFn,
  model_aggregator: tff.aggregators.WeightedAggregationFactory | None,
  server_optimizer_fn: tff.learning.optimizers.Optimizer | None,
  *,
  initialize_client: Callable[[Any], Any],
  local_training: tff.Computation,
  initial_model: Callable[[Any], Any] = lambda weights: weights,
  get_model_weights: Callable[[Any], Any] = lambda model: model,
  client_model_weights: Callable[[Any, Any], Any] | None = None,
  select_sent: Callable[[Any], Any] = lambda model: model,
  server_step: server_step_lib.ServerStepFn = server_step_lib.step_weights,
  should_reject_update: server_step_lib.RejectFn = (
    tff.learning.templates.reject_non_finite_update
  ),
  get_stepped: Callable[[Any], Any] | None = None,
  extra_passes: int = 0,
) -> client_state_process.ClientStateProcess:
  """Composes client work, aggregator and server optimizer into a process.

  M is the server's model: its ModelWeights, or these and a method's further
  state. P is the part of M sent to clients, C a client's state, and A the
  aggregate of the clients' updates. Functions run at graph time, where M, P and
  C are structures of tensors.

  Args:
    model_fn: A functional model, or a function that returns a variable model.
    client_update_fn: A client's round from P and C, see
      `client_work.build_client_state_work`.
    model_aggregator: The aggregator of the clients' updates,
      `tff.aggregators.MeanFactory` by default.
    server_optimizer_fn: The server optimizer. The default, SGD with rate 1,
      takes an update as it is.
    initialize_client: A function from M to C, the state of a client that takes
      part for the first time.
    local_training: See `FederatedProcess`.
    initial_model: A function from the model's initial weights to M, which is
      these weights by default.
    get_model_weights: A function from M to its weights; M itself by default.
    client_model_weights: A function from (M, C) to the weights of a client's
      own model, see `ClientStateProcess`; the server's weights by default.
    select_sent: A function from M to P; all of M by default.
    server_step: A function from M and A to the next M. By default M is the
      weights, and A an update of the trainable ones, with the sign of a
      gradient.
    should_reject_update: See `compose_process`.
    get_stepped: A function from M to the tensors that the server optimizer
      steps; the trainable weights by default.
    extra_passes: See `FederatedProcess`.

  Returns:
    The process. Its state is <model=M, aggregator, finalizer=the server
    optimizer's>, its metrics <client_work=<train, excluded_clients>,
    aggregator, finalizer>. Its `update_is_finite` judges a client's first
    round.

  Raises:
    TypeError: If an optimizer is not one of TFF's, or parts do not fit.
  """
  initial_weights = model_functions.build_initial_weights(model_fn)
  begin = tff.tensorflow.computation(
    initial_model, initial_weights.type_signature.result
  )
  model_type = begin.type_signature.result
  client_type = tff.tensorflow.computation(
    initialize_client, model_type
  ).type_signature.result
  send = tff.tensorflow.computation(select_sent, model_type)
  client_work = client_work_process.build_client_state_work(
    model_fn,
    client_update_fn,
    model_type=send.type_signature.result,
    client_type=client_type,
  )
  data_type = client_work.type_signature.parameter[2]
  new_client_type = client_work.type_signature.result.client_state
  if not client_type.is_equivalent_to(new_client_type):
    raise TypeError(
      f"client_update_fn must return a client's state of type {client_type}, got "
      f'{new_client_type}.'
    )
  result_type = client_work.type_signature.result.result
  aggregator = server_step_lib.weighted_factory(model_aggregator).create(
    result_type.update, result_type.update_weight
  )
  finalizer = server_step_lib.compose_server_step(
    server_optimizer_fn or tff.learning.optimizers.build_sgdm(1.0),
    model_type,
    aggregator.next.type_signature.result.result.member,
    server_step,
    should_reject_update=should_reject_update,
    get_stepped=get_stepped or (lambda m: get_model_weights(m).trainable),
  )
  aggregate_metrics = tff.learning.metrics.sum_then_finalize(
    model_functions.metric_finalizers(model_fn)
  )

  @tff.federated_computation
  def initialize():
    return tff.federated_zip(
      collections.OrderedDict(
        model=tff.federated_map(
          begin, tff.federated_eval(initial_weights, tff.SERVER)
        ),
        aggregator=aggregator.initialize(),
        finalizer=finalizer.initialize(),
      )
    )

  def run_round(state, client_states, client_data):
    sent = tff.federated_map(send, state['model'])
    output = tff.federated_map(
      client_work, (tff.federated_broadcast(sent), client_states, client_data)
    )
    aggregated = aggregator.next(
      state['aggregator'], output.result.update, output.result.update_weight
    )
    finished = finalizer.next(
      state['finalizer'], state['model'], aggregated.result
    )
    metrics = collections.OrderedDict(
      client_work=collections.OrderedDict(
        train=aggregate_metrics(output.metrics),
        excluded_clients=tff.federated_sum(output.excluded),
      ),
      aggregator=aggregated.measurements,
      finalizer=finished.measurements,
    )
    return client_state_process.ClientStateOutput(
      state=tff.federated_zip(
        collections.OrderedDict(
          model=finished.result,
          aggregator=aggregated.state,
          finalizer=finished.state,
        )
      ),
      client_states=output.client_state,
      metrics=tff.federated_zip(metrics),
    )

  state_type = initialize.type_signature.result

  @tff.federated_computation(
    state_type,
    tff.FederatedType(client_type, tff.CLIENTS),
    tff.FederatedType(data_type, tff.CLIENTS),
  )
  def next_fn(state, client_states, client_data):
    return run_round(state, client_states, client_data)

  @tff.federated_computation(
    state_type,
    tff.FederatedType(
      collections.OrderedDict(client_state=client_type, data=data_type),
      tff.CLIENTS,
    ),
  )
  def next_without_client_states(state, clients):
    output = run_round(state, clients['client_state'], clients['data'])
    return tff.learning.templates.LearningProcessOutput(
      output.state, output.metrics
    )

  @tff.tensorflow.computation(initial_weights.type_signature.result, data_type)
  def update_is_finite(weights, dataset):
    model = initial_model(weights)
    result = client_work(select_sent(model), initialize_client(model), dataset)
    return tf.equal(result.excluded, 0)

  @tff.tensorflow.computation(state_type.member)
  def initialize_client_of_state(state):
    return initialize_client(state['model'])

  @tff.tensorflow.computation(state_type.member)
  def get_model_weights_of_state(state):
    return get_model_weights(state['model'])

  @tff.tensorflow.computation(state_type.member, client_type)
  def client_model_weights_of_state(state, client_state):
    if client_model_weights is None:
      return get_model_weights(state['model'])
    return client_model_weights(state['model'], client_state)

  return client_state_process.ClientStateProcess(
    initialize=initialize,
    initialize_client=initialize_client_of_state,
    next=next_fn,
    next_without_client_states=next_without_client_states,
    get_model_weights=get_model_weights_of_state,
    client_model_weights=client_model_weights_of_state,
    local_training=local_training,
    update_is_finite=update_is_finite,
    extra_passes=extra_passes,
  )
