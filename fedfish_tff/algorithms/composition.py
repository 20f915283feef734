# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Composition of processes, with or without client states, from their parts."""

import collections
from collections.abc import Callable
import operator
import typing
from typing import Any

from fedfish_tff.algorithms import averaged_statistics
from fedfish_tff.algorithms import client_state_process
from fedfish_tff.algorithms import process as process_lib
from fedfish_tff.algorithms import server_step as server_step_lib
from fedfish_tff.client_work import client_update as client_update_lib
from fedfish_tff.models import extended_model
from fedfish_tff.models import model_functions

import tensorflow as tf
import tensorflow_federated as tff

_State = tff.learning.templates.LearningAlgorithmState
_weights_of_state = operator.attrgetter('global_model_weights')


@typing.overload
def compose(
  model_fn: model_functions.ModelFn,
  client_update_fn: client_update_lib.ClientUpdateFn,
  model_aggregator: tff.aggregators.WeightedAggregationFactory | None,
  server_optimizer_fn: tff.learning.optimizers.Optimizer | None,
  *,
  initialize_client: None = None,
  **arguments: Any,
) -> process_lib.FederatedProcess: ...


@typing.overload
def compose(
  model_fn: model_functions.ModelFn,
  client_update_fn: client_update_lib.ClientUpdateFn,
  model_aggregator: tff.aggregators.WeightedAggregationFactory | None,
  server_optimizer_fn: tff.learning.optimizers.Optimizer | None,
  *,
  initialize_client: Callable[[client_update_lib.Server], Any],
  **arguments: Any,
) -> client_state_process.ClientStateProcess: ...


def compose(
  model_fn: model_functions.ModelFn,
  client_update_fn: client_update_lib.ClientUpdateFn,
  model_aggregator: tff.aggregators.WeightedAggregationFactory | None,
  server_optimizer_fn: tff.learning.optimizers.Optimizer | None,
  *,
  build_local_training: Callable[[], tff.Computation],
  initialize_server: Callable[[model_functions.FlatWeights], Any] = (
    lambda weights: ()
  ),
  initialize_client: Callable[[client_update_lib.Server], Any] | None = None,
  client_weights: Callable[
    [client_update_lib.Server, Any], model_functions.FlatWeights
  ] = lambda server, own: server.weights,
  select_sent: server_step_lib.SelectFn = lambda server: server,
  server_step: server_step_lib.ServerStepFn = server_step_lib.step_weights,
  should_reject_update: server_step_lib.RejectFn = (
    tff.learning.templates.reject_non_finite_update
  ),
  extra_passes: float = 0,
) -> process_lib.FederatedProcess | client_state_process.ClientStateProcess:
  """Composes client updates, aggregator and server step into a process.

  In a round, the server sends a part of its values, a `client_work.Server` of
  weights and a state S. Clients make updates of it, of their own states C, and
  of their data. The server takes a step on the aggregate of the updates.
  Functions run at graph time. Statistics of batches that are sent with the
  weights are averaged by the weights of the clients' updates.

  Args:
    model_fn: A functional model, or a function that returns a variable model.
    client_update_fn: A client's round: a function from model, server's values,
      C and data to a `client_work.ClientUpdate`.
    model_aggregator: The aggregator of the clients' updates, tensors by name,
      `tff.aggregators.MeanFactory` by default.
    server_optimizer_fn: The server optimizer, which steps the trainable weights
      that are sent. The default, SGD with rate 1, takes an update as it is.
    build_local_training: A function that builds a client's training outside of
      a round, from weights and batches to weights, at its first use: the
      process' `local_training`.
    initialize_server: A function from the initial weights to S, which the
      server keeps beside the weights; () by default. `set_model_weights` of the
      process begins S anew, by the weights that are set.
    initialize_client: A function from the server's values to C, the state of a
      client that takes part for the first time. By default clients keep none.
    client_weights: A function from the server's values and C to the weights of
      a client's own model, the process' `client_model_weights`; the server's by
      default.
    select_sent: A function from the server's values to the sent ones; all of
      them by default.
    server_step: A function from the server's values and the aggregate to the
      next values. By default the aggregate is <delta>, an update of the
      trainable weights with the sign of a gradient.
    should_reject_update: The same as in
      `tff.learning.templates.build_apply_optimizer_finalizer`: a rejected
      update leaves the weights and the server optimizer's state unchanged. By
      default it rejects updates that are not finite, such as the mean of no
      client.
    extra_passes: The number of passes over a client's data per round besides
      its training epochs.

  Returns:
    The process: a `ClientStateProcess` if clients keep states, and else a
    `FederatedProcess`. The state of either is a
    `tff.learning.templates.LearningAlgorithmState` with S as `client_work`, and
    its metrics are <client_work=<train, excluded_clients>, aggregator,
    finalizer>. `update_is_finite` judges a client's first round.
  """
  initial_weights = model_functions.build_initial_weights(model_fn)
  weights_type = initial_weights.type_signature.result

  @tff.tensorflow.computation(weights_type)
  def begin(weights):
    flat = model_functions.flatten_weights(weights)
    return client_update_lib.Server(weights, initialize_server(flat))

  server_type = begin.type_signature.result

  @tff.tensorflow.computation(server_type)
  def send(server):
    return select_sent(server_step_lib.flatten_server(server))

  own_type = None
  if initialize_client is not None:

    @tff.tensorflow.computation(server_type)
    def begin_client(server):
      return initialize_client(server_step_lib.flatten_server(server))

    own_type = begin_client.type_signature.result
  if extended_model.changes_statistics(model_fn) and (
    send.type_signature.result.weights.non_trainable
  ):
    client_update_fn, model_aggregator, server_step = averaged_statistics.add(
      client_update_fn, model_aggregator, server_step
    )
  client_work = client_update_lib.build_client_work(
    model_fn, client_update_fn, send.type_signature.result, own_type
  )
  data_type = model_functions.data_type(model_fn)
  update_type, weight_type = client_work.type_signature.result.result
  new_own_type = client_work.type_signature.result.own
  if own_type is not None and not own_type.is_equivalent_to(new_own_type):
    raise TypeError(
      f"client_update_fn must return a client's state of type {own_type}, got "
      f'{new_own_type}.'
    )
  aggregator = server_step_lib.weighted_factory(model_aggregator).create(
    update_type, weight_type
  )
  finalizer = server_step_lib.compose_server_step(
    server_optimizer_fn or tff.learning.optimizers.build_sgdm(1.0),
    server_type,
    aggregator.next.type_signature.result.result.member,
    server_step,
    should_reject_update=should_reject_update,
    select_sent=select_sent,
  )
  aggregate_metrics = tff.learning.metrics.sum_then_finalize(
    model_functions.metric_finalizers(model_fn)
  )

  @tff.federated_computation
  def initialize():
    server = tff.federated_map(
      begin, tff.federated_eval(initial_weights, tff.SERVER)
    )
    return tff.federated_zip(
      _State(
        global_model_weights=server.weights,
        distributor=tff.federated_value((), tff.SERVER),
        client_work=server.state,
        aggregator=aggregator.initialize(),
        finalizer=finalizer.initialize(),
      )
    )

  state_type = initialize.type_signature.result

  def run_round(state, *own_and_data):
    server = tff.federated_zip(
      client_update_lib.Server(state.global_model_weights, state.client_work)
    )
    sent = tff.federated_broadcast(tff.federated_map(send, server))
    output = tff.federated_map(client_work, (sent, *own_and_data))
    aggregated = aggregator.next(
      state.aggregator, output.result.update, output.result.update_weight
    )
    finished = finalizer.next(state.finalizer, server, aggregated.result)
    new_state = _State(
      global_model_weights=finished.result.weights,
      distributor=state.distributor,
      client_work=finished.result.state,
      aggregator=aggregated.state,
      finalizer=finished.state,
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
      state=tff.federated_zip(new_state),
      client_states=output.own,
      metrics=tff.federated_zip(metrics),
    )

  @tff.tensorflow.computation(state_type.member)
  def get_model_weights(state):
    return state.global_model_weights

  @tff.tensorflow.computation(state_type.member, weights_type)
  def set_model_weights(state, weights):
    server = begin(weights)
    return state._replace(
      global_model_weights=server.weights, client_work=server.state
    )

  def build_update_is_finite():
    @tff.tensorflow.computation(weights_type, data_type)
    def update_is_finite(weights, dataset):
      server = begin(weights)
      own = [] if own_type is None else [begin_client(server)]
      result = client_work(send(server), *own, dataset)
      return tf.equal(result.excluded, 0)

    return update_is_finite

  if own_type is None:

    @tff.federated_computation(
      state_type, tff.FederatedType(data_type, tff.CLIENTS)
    )
    def next_fn(state, client_data):
      output = run_round(state, client_data)
      return tff.learning.templates.LearningProcessOutput(
        output.state, output.metrics
      )

    return process_lib.FederatedProcess(
      _to_learning_process(
        initialize, next_fn, get_model_weights, set_model_weights, finalizer
      ),
      build_local_training=build_local_training,
      build_update_is_finite=build_update_is_finite,
      extra_passes=extra_passes,
      get_training_weights=_weights_of_state,
    )

  @tff.federated_computation(
    state_type,
    tff.FederatedType(own_type, tff.CLIENTS),
    tff.FederatedType(data_type, tff.CLIENTS),
  )
  def next_with_client_states(state, client_states, client_data):
    return run_round(state, client_states, client_data)

  @tff.federated_computation(
    state_type,
    tff.FederatedType(
      collections.OrderedDict(client_state=own_type, data=data_type),
      tff.CLIENTS,
    ),
  )
  def next_without_client_states(state, clients):
    output = run_round(state, clients['client_state'], clients['data'])
    return tff.learning.templates.LearningProcessOutput(
      output.state, output.metrics
    )

  def server_of(state):
    return client_update_lib.Server(
      state.global_model_weights, state.client_work
    )

  @tff.tensorflow.computation(state_type.member)
  def initialize_client_of_state(state):
    return begin_client(server_of(state))

  @tff.tensorflow.computation(state_type.member, own_type)
  def client_model_weights(state, own):
    server = server_step_lib.flatten_server(server_of(state))
    return model_functions.weights_like(
      state.global_model_weights, client_weights(server, own)
    )

  return client_state_process.ClientStateProcess(
    initialize=initialize,
    initialize_client=initialize_client_of_state,
    next=next_with_client_states,
    next_without_client_states=next_without_client_states,
    get_model_weights=get_model_weights,
    set_model_weights=set_model_weights,
    client_model_weights=client_model_weights,
    build_local_training=build_local_training,
    build_update_is_finite=build_update_is_finite,
    get_training_weights=_weights_of_state,
    extra_passes=extra_passes,
  )


def _to_learning_process(
  initialize: tff.Computation,
  next_fn: tff.Computation,
  get_model_weights: tff.Computation,
  set_model_weights: tff.Computation,
  finalizer: tff.learning.templates.FinalizerProcess,
) -> tff.learning.templates.LearningProcess:
  """Returns the process with hyper-parameters that can be set."""
  state_type = initialize.type_signature.result.member

  @tff.tensorflow.computation(state_type)
  def get_hparams(state):
    return collections.OrderedDict(
      client_work=collections.OrderedDict(),
      finalizer=finalizer.get_hparams(state.finalizer),
    )

  @tff.tensorflow.computation(state_type, get_hparams.type_signature.result)
  def set_hparams(state, hparams):
    return state._replace(
      finalizer=finalizer.set_hparams(state.finalizer, hparams['finalizer'])
    )

  return tff.learning.templates.LearningProcess(
    initialize,
    next_fn,
    get_model_weights,
    set_model_weights,
    get_hparams_fn=get_hparams,
    set_hparams_fn=set_hparams,
  )
