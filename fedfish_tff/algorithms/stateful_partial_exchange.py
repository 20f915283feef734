# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Partial weight exchange in which clients keep what nobody has sent.

Zhang and Emerson, "Partial Weight Exchange in Federated Learning" (2023), as
its code base, FL4Health, does it: the server replies with the tensors that
somebody sent in the round, and every client goes on with its own values of the
others. So each client has a model of its own. `build_partial_exchange` is the
variant without client states, in which the server keeps its value instead.

Where only some clients take part in a round, who was away gets the latest mean
of what was sent since it last came, that round included: what it would have,
had it read every reply.
"""

import collections
from collections.abc import Sequence
from typing import Any

from fedfish_tff.aggregators import partial_mean
from fedfish_tff.aggregators import sent_parts
from fedfish_tff.algorithms import client_state_process
from fedfish_tff.algorithms import partial_exchange
from fedfish_tff.client_work import client_work_process
from fedfish_tff.client_work import local_training as local_training_lib
from fedfish_tff.client_work import partial_update
from fedfish_tff.client_work import tensor_selection
from fedfish_tff.models import autograph
from fedfish_tff.models import model_functions

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff


def build_stateful_partial_exchange(
  model_fn: model_functions.ModelFn,
  client_optimizer_fn: tff.learning.optimizers.Optimizer,
  *,
  selector: tensor_selection.Selector,
  client_weighting: tff.learning.ClientWeighting = (
    tff.learning.ClientWeighting.NUM_EXAMPLES
  ),
  tensor_names: Sequence[str] | None = None,
  sum_factory: tff.aggregators.UnweightedAggregationFactory | None = None,
  minimum_denominator: float = 0.0,
  count_factory: tff.aggregators.UnweightedAggregationFactory | None = None,
  metrics_aggregator: tff.learning.metrics.MetricsAggregatorType | None = None,
  excluded_sum_factory: (
    tff.aggregators.UnweightedAggregationFactory | None
  ) = None,
) -> client_state_process.ClientStateProcess:
  """Builds partial exchange with client states (Zhang and Emerson, 2023).

  A client's state is its weights after its last local training, and the round
  of that (0 for one that never came, which starts from the server's weights).
  Clients start from different weights, so that what they send is how far their
  values are from the server's, not from where they started, and the server
  takes the mean as it is. With a selector that sends everything this is FedAvg
  with a server step of rate 1, up to rounding. Weights that are not trainable
  stay at their initial values, as in FedAvg.

  Args:
    model_fn: A functional model, or a function that returns a variable model.
    client_optimizer_fn: The client optimizer.
    selector: Chooses what a client sends, by how far local training moved it
      from where it started in the round.
    client_weighting: By |D_i| (times local epochs), or uniform.
    tensor_names: Names of the trainable tensors in the metrics; by position and
      shape by default.
    sum_factory: Sums numerators and denominators as one structure;
      `tff.aggregators.SumFactory` by default.
    minimum_denominator: A sum of weights at or below it counts as 0, with which
      the server's value stays; for sums that are not exact.
    count_factory: Sums the masks; `tff.aggregators.SumFactory` by default.
    metrics_aggregator: `tff.learning.metrics.sum_then_finalize` by default.
    excluded_sum_factory: Sums the indicators of excluded clients;
      `tff.aggregators.SumFactory` by default.

  Returns:
    The process. Its metrics are those of `build_partial_exchange`. A client
    whose trained weights are not finite, or too large to be summed, is left
    out of the round, counted, and keeps its state.

  Raises:
    InputError: If the model has no trainable tensors, or the selector's groups
      or the names do not fit it.
    TypeError: If `model_fn` is not a model, an optimizer not TFF's, or the
      selector none.
  """
  tensor_selection.check_selector(selector)
  local_training = local_training_lib.build_local_training(
    model_fn, client_optimizer_fn
  )
  shapes = partial_exchange.trainable_shapes(model_fn)
  mask_bits = selector.mask_bits(shapes)
  part_shapes = [s if selector.per_coordinate else () for s in shapes]
  initial_model = _build_initial_model(model_fn, part_shapes)
  train = partial_update.build_stateful_training(
    client_optimizer_fn, selector, client_weighting
  )
  client_work = _build_client_work(
    model_fn, train, initial_model.type_signature.result
  )
  client_result_type = client_work.type_signature.result.result
  aggregator = sent_parts.SentPartsFactory(
    partial_mean.PartialMeanFactory(
      sum_factory, minimum_denominator=minimum_denominator
    ),
    mask_bits=mask_bits,
    tensor_names=tensor_names,
    count_factory=count_factory,
  ).create(client_result_type.update, client_result_type.update_weight)
  excluded_sum = (excluded_sum_factory or tff.aggregators.SumFactory()).create(
    tff.TensorType(np.int32)
  )
  aggregate_metrics = (
    metrics_aggregator or tff.learning.metrics.sum_then_finalize
  )(model_functions.metric_finalizers(model_fn))
  finish = _build_server_step(
    client_work.type_signature.parameter[0],
    aggregator.next.type_signature.result.result.member,
  )

  @tff.federated_computation
  def initialize():
    return tff.federated_zip(
      collections.OrderedDict(
        model=tff.federated_eval(initial_model, tff.SERVER),
        aggregator=aggregator.initialize(),
        excluded_sum=excluded_sum.initialize(),
      )
    )

  def run_round(state, client_states, client_data):
    output = tff.federated_map(
      client_work,
      (tff.federated_broadcast(state['model']), client_states, client_data),
    )
    aggregated = aggregator.next(
      state['aggregator'], output.result.update, output.result.update_weight
    )
    excluded = excluded_sum.next(state['excluded_sum'], output.excluded)
    finished = tff.federated_map(finish, (state['model'], aggregated.result))
    metrics = collections.OrderedDict(
      client_work=collections.OrderedDict(
        train=aggregate_metrics(output.metrics),
        excluded_clients=excluded.result,
      ),
      aggregator=aggregated.measurements,
      finalizer=finished.measurements,
    )
    return client_state_process.ClientStateOutput(
      state=tff.federated_zip(
        collections.OrderedDict(
          model=finished.model,
          aggregator=aggregated.state,
          excluded_sum=excluded.state,
        )
      ),
      client_states=output.client_state,
      metrics=tff.federated_zip(metrics),
    )

  state_type = initialize.type_signature.result
  client_type, data_type = client_work.type_signature.parameter[1:]

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

  @tff.tensorflow.computation(state_type.member)
  def initialize_client(state):
    trainable = state['model']['weights'].trainable
    return collections.OrderedDict(
      weights=tuple(tf.nest.flatten(trainable)), last_round=tf.constant(0)
    )

  @tff.tensorflow.computation(state_type.member)
  def get_model_weights(state):
    return state['model']['weights']

  @tff.tensorflow.computation(state_type.member, client_type)
  def client_model_weights(state, client_state):
    weights = state['model']['weights']
    return model_functions.weights_like(
      weights, _start_of(state['model'], client_state)
    )

  def update_alone(bound, start, data, unused_round_number):
    # How far the values are from the server's is finite where they are.
    return train(bound, start, start.trainable, data)[0]

  return client_state_process.ClientStateProcess(
    initialize=initialize,
    initialize_client=initialize_client,
    next_fn=next_fn,
    next_without_client_states=next_without_client_states,
    get_model_weights=get_model_weights,
    client_model_weights=client_model_weights,
    local_training=local_training,
    update_is_finite=client_work_process.build_update_is_finite(
      model_fn, update_alone
    ),
  )


def _start_of(model: Any, client_state: Any) -> model_functions.FlatWeights:
  """Returns what a client's local training starts from.

  Args:
    model: What the server sends.
    client_state: The client's state.
  """
  weights = model_functions.flatten_weights(model['weights'])
  last_round = client_state['last_round']
  return model_functions.FlatWeights(
    tuple(
      tf.where(sent >= last_round, new, own)
      for sent, new, own in zip(
        model['last_sent'], weights.trainable, client_state['weights']
      )
    ),
    weights.non_trainable,
  )


def _build_client_work(
  model_fn: model_functions.ModelFn,
  train: partial_update.StatefulTrainFn,
  model_type: tff.Type,
) -> tff.Computation:
  """Builds one client's round, not placed.

  Args:
    model_fn: The model.
    train: What a client does, but for its state.
    model_type: The type of what the server sends.

  Returns:
    A computation (<M, C, B*> -> <client_state=C, result=ClientResult,
    metrics=unfinalized metrics, excluded=int32>).
  """
  client_type = collections.OrderedDict(
    weights=tuple(tff.structure.flatten(model_type['weights'].trainable)),
    last_round=np.int32,
  )

  @tff.tensorflow.computation(
    model_type, client_type, model_functions.data_type(model_fn)
  )
  def client_work(model, client_state, dataset):
    bound = model_functions.bind_model(model_fn)

    @autograph.graph_function
    def run(start, server, data):
      update, values = train(bound, start, server, data)
      return *client_work_process.leave_out_non_finite(update), values

    result, metrics, excluded, values = run(
      _start_of(model, client_state),
      model_functions.flatten_weights(model['weights']).trainable,
      dataset,
    )
    new_state = collections.OrderedDict(
      weights=values, last_round=model['round_number'] + 1
    )
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

  return client_work


def _build_initial_model(
  model_fn: model_functions.ModelFn, part_shapes: Sequence[Any]
) -> tff.Computation:
  """Builds ( -> M), what the server sends in the first round, not placed.

  Args:
    model_fn: The model.
    part_shapes: For each trainable tensor, the shape of its mask.
  """
  initial_weights = model_functions.build_initial_weights(model_fn)

  @tff.tensorflow.computation
  def initial_model():
    return collections.OrderedDict(
      weights=initial_weights(),
      # The round in which a part was sent last.
      last_sent=tuple(tf.zeros(shape, tf.int32) for shape in part_shapes),
      # Of rounds that are done.
      round_number=tf.constant(0),
    )

  return initial_model


def _build_server_step(
  model_type: tff.Type, aggregate_type: tff.Type
) -> tff.Computation:
  """Builds (<M, <update, sent>> -> <model=M, measurements>), not placed."""

  @tff.tensorflow.computation(model_type, aggregate_type)
  def server_step(model, aggregate):
    means = tf.nest.flatten(aggregate['update'])
    is_finite = local_training_lib.all_finite(means)
    sent = [
      tf.logical_and(s, is_finite) for s in tf.nest.flatten(aggregate['sent'])
    ]
    weights = model_functions.flatten_weights(model['weights'])
    round_number = model['round_number'] + 1
    return collections.OrderedDict(
      model=collections.OrderedDict(
        weights=model_functions.weights_like(
          model['weights'],
          model_functions.FlatWeights(
            tuple(
              tf.where(s, old - mean, old)
              for s, mean, old in zip(sent, means, weights.trainable)
            ),
            weights.non_trainable,
          ),
        ),
        last_sent=tuple(
          tf.where(s, round_number, last)
          for s, last in zip(sent, model['last_sent'])
        ),
        round_number=round_number,
      ),
      measurements=collections.OrderedDict(
        update_non_finite=tf.cast(tf.logical_not(is_finite), tf.int32)
      ),
    )

  return server_step
