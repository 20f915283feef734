# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedDyn: clients whose losses change so that they agree where training ends.

Acar, Zhao, Matas Navarro, Mattina, Whatmough and Saligrama, "Federated Learning
Based on Dynamic Regularization", ICLR 2021 (arXiv:2111.04263), Algorithm 1.
"""

import collections
import math

from fedfish_tff import errors
from fedfish_tff.algorithms import client_state_composition
from fedfish_tff.algorithms import client_state_process
from fedfish_tff.algorithms import composition
from fedfish_tff.client_work import client_work_process
from fedfish_tff.client_work import control_variates
from fedfish_tff.client_work import local_training as local_training_lib
from fedfish_tff.client_work import proximal
from fedfish_tff.models import model_functions

import tensorflow as tf
import tensorflow_federated as tff


def build_fed_dyn(
  model_fn: model_functions.ModelFn,
  client_optimizer_fn: tff.learning.optimizers.Optimizer,
  server_optimizer_fn: tff.learning.optimizers.Optimizer | None = None,
  *,
  num_clients: int,
  regularization: float,
  model_aggregator: (tff.aggregators.WeightedAggregationFactory | None) = None,
) -> client_state_process.ClientStateProcess:
  """Builds FedDyn (Acar et al., 2021, Algorithm 1).

  Client i takes steps from w_i = w, the global weights, on the loss

    F_i(w_i) - <g_i, w_i> + alpha / 2 |w_i - w|^2,    g_i <- g_i + alpha (w - w_i)

  and the server, with the sum and the mean over the clients of a round, of N
  clients in all, keeps s (the paper's h is alpha s):

    s <- s + sum(w - w_i) / N,    w <- w - mean(w - w_i) - s

  All g_i and s begin at 0. Weights that are not trainable stay as they are.

  Args:
    model_fn: A functional model, or a function that returns a variable model.
    client_optimizer_fn: Takes the local steps.
    server_optimizer_fn: Applied to mean(w - w_i) + s; SGD with rate 1 by default,
      which is the paper's.
    num_clients: N, of all clients that may take part, not of a cohort.
    regularization: alpha, positive; the paper tunes it over 0.001, 0.01, 0.03
      and 0.1.
    model_aggregator: Of w - w_i, with the weight 1 for each client that has data;
      `tff.aggregators.MeanFactory` by default. The sum is its result times the
      number of these clients.

  Returns:
    The process. A client's state is g_i. A client whose update is not finite is
    left out of the round, counted, and keeps its state. A client without data
    changes nothing. Losses that are reported are those of the model.

    What a client computes in a round depends on its state, and outside of a
    round there is none. So `local_training` is that of `client_optimizer_fn` on
    the model's loss, as fine-tuning has it, and `update_is_finite` takes the
    state of a first round. `client_model_weights` are the server's.

  Raises:
    InputError: If `num_clients` is below 1, or `regularization` not positive and
      finite.
    TypeError: If `model_fn` is not a model or an optimizer is not TFF's.
  """
  if num_clients < 1:
    raise errors.InputError(
      f'num_clients must be 1 or more, got {num_clients}.'
    )
  if not 0 < regularization < math.inf:
    raise errors.InputError(
      f'regularization must be positive and finite, got {regularization}.'
    )
  local_training = local_training_lib.build_local_training(
    model_fn, client_optimizer_fn
  )
  initial_weights = model_functions.build_initial_weights(model_fn)
  weights_type = initial_weights.type_signature.result

  @tff.tensorflow.computation(weights_type)
  def initialize_client(weights):
    return tuple(tf.zeros_like(w) for w in tf.nest.flatten(weights.trainable))

  client_type = initialize_client.type_signature.result

  def client_update(bound, sent, client_state, dataset):
    weights = model_functions.flatten_weights(sent)
    initial_metrics = bound.unfinalized_metrics(bound.initial_metrics())
    trained = local_training_lib.train_locally(
      bound,
      proximal.pull_to(
        control_variates.add_to_gradients(
          client_optimizer_fn, tuple(-g for g in client_state)
        ),
        regularization,
        weights.trainable,
      ),
      weights,
      dataset,
    )
    delta = tuple(
      start - end
      for start, end in zip(weights.trainable, trained.weights.trainable)
    )
    number = tf.cast(trained.num_examples > 0, tf.float32)
    update = client_work_process.ClientUpdate(
      update=collections.OrderedDict(delta=delta, number=number),
      weight=number,
      metrics=bound.unfinalized_metrics(trained.metrics_state),
      initial_metrics=initial_metrics,
    )
    return update, tuple(
      g + tf.cast(regularization, d.dtype) * d
      for g, d in zip(client_state, delta)
    )

  def first_round_update(bound, weights, dataset, unused_round_number):
    zeros = tuple(tf.zeros_like(w) for w in weights.trainable)
    sent = tff.learning.models.ModelWeights(*weights)
    return client_update(bound, sent, zeros, dataset)[0]

  @tff.tensorflow.computation(weights_type)
  def get_model_weights(weights):
    return weights

  @tff.tensorflow.computation(weights_type, client_type)
  def client_model_weights(weights, client_state):
    del client_state  # Changes how the client trains, not from where.
    return weights

  client_work = client_work_process.build_client_state_work(
    model_fn, client_update, model_type=weights_type, client_type=client_type
  )
  aggregator = client_state_composition.compose_mean_and_sums(
    client_work.type_signature.result.result,
    model_aggregator or tff.aggregators.MeanFactory(),
  )
  return client_state_composition.compose_client_state_process(
    model_fn,
    client_work,
    aggregator,
    _build_finalizer(
      weights_type,
      aggregator.next.type_signature.result.result,
      server_optimizer_fn or tff.learning.optimizers.build_sgdm(1.0),
      num_clients,
    ),
    initial_model=initial_weights,
    initialize_client=initialize_client,
    get_model_weights=get_model_weights,
    client_model_weights=client_model_weights,
    local_training=local_training,
    update_is_finite=client_work_process.build_update_is_finite(
      model_fn, first_round_update
    ),
  )


def _build_finalizer(
  weights_type: tff.Type,
  aggregate_type: tff.Type,
  server_optimizer_fn: tff.learning.optimizers.Optimizer,
  num_clients: int,
) -> tff.templates.MeasuredProcess:
  """Builds the server's steps of s and of the weights."""
  step = composition.compose_optimizer_step(server_optimizer_fn, weights_type)
  delta_type = aggregate_type.member['delta']

  @tff.tensorflow.computation
  def zeros():
    return tuple(
      tf.zeros(t.shape, t.dtype) for t in tff.structure.flatten(delta_type)
    )

  @tff.tensorflow.computation(
    zeros.type_signature.result, aggregate_type.member
  )
  def add(shift, aggregate):
    delta = tf.nest.flatten(aggregate['delta'])
    # The mean of no client is not; then the step is rejected, too.
    is_finite = local_training_lib.all_finite(delta)
    shift = tuple(
      tf.where(
        is_finite,
        s + d * tf.cast(aggregate['number'] / num_clients, d.dtype),
        s,
      )
      for s, d in zip(shift, delta)
    )
    update = [d + s for d, s in zip(delta, shift)]
    return shift, tf.nest.pack_sequence_as(aggregate['delta'], update)

  @tff.federated_computation
  def initialize():
    return tff.federated_zip(
      (tff.federated_eval(zeros, tff.SERVER), step.initialize())
    )

  @tff.federated_computation(
    initialize.type_signature.result,
    tff.FederatedType(weights_type, tff.SERVER),
    aggregate_type,
  )
  def next_fn(state, weights, aggregate):
    shift, update = tff.federated_map(add, (state[0], aggregate))
    stepped = step.next(state[1], weights, update)
    return tff.templates.MeasuredProcessOutput(
      tff.federated_zip((shift, stepped.state)),
      stepped.result,
      stepped.measurements,
    )

  return tff.templates.MeasuredProcess(initialize, next_fn)
