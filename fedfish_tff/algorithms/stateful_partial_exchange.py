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
from fedfish_tff.aggregators import sent_masks
from fedfish_tff.algorithms import client_state_composition
from fedfish_tff.algorithms import client_state_process
from fedfish_tff.algorithms import partial_exchange
from fedfish_tff.client_work import client_work_process
from fedfish_tff.client_work import local_training as local_training_lib
from fedfish_tff.client_work import partial_update
from fedfish_tff.client_work import tensor_selection
from fedfish_tff.models import model_functions

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
) -> client_state_process.ClientStateProcess:
  """Builds partial exchange with client states (Zhang and Emerson, 2023).

  Client i trains to w_i, with n_i examples, and for each tensor t the server takes
  the mean over the clients that sent it:

    w[t] <- sum(n_i w_i[t]) / sum(n_i)

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
  model_type = initial_model.type_signature.result
  train = partial_update.build_stateful_training(
    client_optimizer_fn, selector, client_weighting
  )

  @tff.tensorflow.computation(model_type)
  def initialize_client(model):
    return collections.OrderedDict(
      weights=tuple(tf.nest.flatten(model['weights'].trainable)),
      last_round=tf.constant(0),
    )

  client_type = initialize_client.type_signature.result

  def client_update(bound, model, client_state, dataset):
    update, values = train(
      bound,
      _start_of(model, client_state),
      model_functions.flatten_weights(model['weights']).trainable,
      dataset,
    )
    return update, collections.OrderedDict(
      weights=values, last_round=model['round_number'] + 1
    )

  client_work = client_work_process.build_client_state_work(
    model_fn, client_update, model_type=model_type, client_type=client_type
  )
  client_result_type = client_work.type_signature.result.result
  aggregator = sent_masks.SentPartsFactory(
    partial_mean.PartialMeanFactory(
      sum_factory, minimum_denominator=minimum_denominator
    ),
    mask_bits=mask_bits,
    tensor_names=tensor_names,
  ).create(client_result_type.update, client_result_type.update_weight)

  @tff.tensorflow.computation(model_type)
  def get_model_weights(model):
    return model['weights']

  @tff.tensorflow.computation(model_type, client_type)
  def client_model_weights(model, client_state):
    return model_functions.weights_like(
      model['weights'], _start_of(model, client_state)
    )

  def update_alone(bound, start, data, unused_round_number):
    # How far the values are from the server's is finite where they are.
    return train(bound, start, start.trainable, data)[0]

  return client_state_composition.compose_client_state_process(
    model_fn,
    client_work,
    aggregator,
    _build_finalizer(
      model_type, aggregator.next.type_signature.result.result.member
    ),
    initial_model=initial_model,
    initialize_client=initialize_client,
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


def _build_finalizer(
  model_type: tff.Type, aggregate_type: tff.Type
) -> tff.templates.MeasuredProcess:
  """Builds the step from M and <update, sent> to the next M; has no state."""

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

  @tff.federated_computation
  def initialize():
    return tff.federated_value((), tff.SERVER)

  @tff.federated_computation(
    initialize.type_signature.result,
    tff.FederatedType(model_type, tff.SERVER),
    tff.FederatedType(aggregate_type, tff.SERVER),
  )
  def next_fn(state, model, aggregate):
    finished = tff.federated_map(server_step, (model, aggregate))
    return tff.templates.MeasuredProcessOutput(
      state, finished.model, finished.measurements
    )

  return tff.templates.MeasuredProcess(initialize, next_fn)
