# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""SCAFFOLD: FedAvg whose clients do not drift to their own optima.

Karimireddy, Kale, Mohri, Reddi, Stich and Suresh, "SCAFFOLD: Stochastic
Controlled Averaging for Federated Learning", ICML 2020 (arXiv:1910.06378),
Algorithm 1. Clients keep a control variate from one round to the next; see
`client_work.control_variates` for what they compute.
"""

import collections

from fedfish_tff import choices
from fedfish_tff import errors
from fedfish_tff.algorithms import client_state_composition
from fedfish_tff.algorithms import client_state_process
from fedfish_tff.algorithms import composition
from fedfish_tff.client_work import client_work_process
from fedfish_tff.client_work import control_variates
from fedfish_tff.client_work import local_training
from fedfish_tff.models import model_functions

import tensorflow as tf
import tensorflow_federated as tff


def build_scaffold(
  model_fn: model_functions.ModelFn,
  client_learning_rate: float,
  server_optimizer_fn: tff.learning.optimizers.Optimizer | None = None,
  *,
  num_clients: int,
  control_update: choices.ControlUpdate = choices.ControlUpdate.LOCAL_STEPS,
  local_epochs: int = 1,
  client_weighting: tff.learning.ClientWeighting = (
    tff.learning.ClientWeighting.UNIFORM
  ),
  model_aggregator: (tff.aggregators.WeightedAggregationFactory | None) = None,
) -> client_state_process.ClientStateProcess:
  """Builds SCAFFOLD (Karimireddy et al., 2020, Algorithm 1).

  With the server's control variate c and client i's c_i, client i takes K steps on
  batches b from w_i = w, the global weights; by option II, of N clients in all and
  those of a round in the sums and the mean:

    w_i <- w_i - eta_l (grad F_i(w_i; b) - c_i + c)
    new c_i = c_i - c + (w - w_i) / (K eta_l)
    w <- w - eta_g mean(w - w_i)
    c <- c + sum(new c_i - c_i) / N

  Option I is new c_i = grad F_i(w).

  The server's and all clients' control variates begin at 0, so that the first
  round is FedAvg's. Weights that are not trainable stay at their initial
  values, as in FedAvg.

  Args:
    model_fn: A functional model, or a function that returns a variable model.
    client_learning_rate: eta_l, the rate of the clients' plain SGD.
    server_optimizer_fn: Applied to the mean model delta; the paper's is SGD
      with rate eta_g, here 1 by default.
    num_clients: N, of all clients that may take part, not of a cohort: the
      server's control variate is the mean of all of theirs.
    control_update: What a client's control variate becomes: the paper's option
      II by default, or I.
    local_epochs: How many epochs a client's sequence of batches holds, one
      after another; the gradient of option I takes one of them. Option II does
      not ask.
    client_weighting: Of the model deltas. Uniform by default, which is the
      paper's Algorithm 1 to the letter, where other methods here weigh by
      |D_i|: its control variates correct for the optimum of the mean of the
      clients' losses, whatever their sizes, and are never weighted. With
      NUM_EXAMPLES deltas are weighted by |D_i| (times local epochs).
    model_aggregator: `tff.aggregators.MeanFactory` by default.

  Returns:
    The process. A client's state is its control variate. A client whose delta
    or control variate is not finite, or whose delta is too large to be summed,
    is left out of the round, counted, and keeps its state. A client without
    data changes nothing.

    What a client computes in a round depends on both control variates, and
    outside of a round there are none. So `local_training` is plain SGD, as
    fine-tuning has it; it does not give the clients' models of a round, on
    which the client-server barrier is measured. `update_is_finite` takes the
    control variates of a first round. `client_model_weights` are the server's.

  Raises:
    InputError: If `client_learning_rate` is not positive and finite,
      `control_update` none, or `num_clients` or `local_epochs` below 1.
    TypeError: If `model_fn` is not a model or the optimizer not TFF's.
  """
  if num_clients < 1:
    raise errors.InputError(
      f'num_clients must be 1 or more, got {num_clients}.'
    )
  client_update = control_variates.build_control_variate_update(
    client_learning_rate,
    control_update=control_update,
    local_epochs=local_epochs,
    client_weighting=client_weighting,
  )
  initial_weights = model_functions.build_initial_weights(model_fn)

  @tff.tensorflow.computation
  def initial_model():
    weights = initial_weights()
    return collections.OrderedDict(weights=weights, control=_zeros(weights))

  model_type = initial_model.type_signature.result

  @tff.tensorflow.computation(model_type)
  def initialize_client(model):
    return collections.OrderedDict(control=_zeros(model['weights']))

  client_type = initialize_client.type_signature.result

  @tff.tensorflow.computation(model_type)
  def get_model_weights(model):
    return model['weights']

  @tff.tensorflow.computation(model_type, client_type)
  def client_model_weights(model, client_state):
    del client_state  # Changes how the client trains, not from where.
    return model['weights']

  def first_round_update(bound, weights, dataset, unused_round_number):
    zeros = _zeros(weights)
    update, _ = client_update(
      bound, {'weights': weights, 'control': zeros}, {'control': zeros}, dataset
    )
    return update

  client_work = client_work_process.build_client_state_work(
    model_fn, client_update, model_type=model_type, client_type=client_type
  )
  return client_state_composition.compose_client_state_process(
    model_fn,
    client_work,
    client_state_composition.compose_mean_and_sums(
      client_work.type_signature.result.result,
      model_aggregator or tff.aggregators.MeanFactory(),
    ),
    _build_finalizer(
      model_type,
      server_optimizer_fn or tff.learning.optimizers.build_sgdm(1.0),
      num_clients,
    ),
    initial_model=initial_model,
    initialize_client=initialize_client,
    get_model_weights=get_model_weights,
    client_model_weights=client_model_weights,
    local_training=local_training.build_local_training(
      model_fn, tff.learning.optimizers.build_sgdm(client_learning_rate)
    ),
    update_is_finite=client_work_process.build_update_is_finite(
      model_fn, first_round_update
    ),
    extra_passes=1 if control_update is choices.ControlUpdate.GRADIENT else 0,
  )


def _zeros(
  weights: tff.learning.models.ModelWeights | model_functions.FlatWeights,
) -> tuple[tf.Tensor, ...]:
  return tuple(tf.zeros_like(w) for w in tf.nest.flatten(weights.trainable))


def _build_finalizer(
  model_type: tff.Type,
  server_optimizer_fn: tff.learning.optimizers.Optimizer,
  num_clients: int,
) -> tff.templates.MeasuredProcess:
  """Builds the server's steps of the weights and of its control variate."""
  optimizer_step = composition.compose_optimizer_step(
    server_optimizer_fn, model_type['weights']
  )

  @tff.tensorflow.computation(model_type['control'], model_type['control'])
  def add_mean(control, total):
    # By itself: clients have changed theirs whatever becomes of the weights,
    # for example if the mean of deltas is that of no client.
    is_finite = local_training.all_finite(total)
    return collections.OrderedDict(
      control=tuple(
        tf.where(is_finite, c + t / num_clients, c)
        for c, t in zip(control, total)
      ),
      non_finite=tf.cast(tf.logical_not(is_finite), tf.int32),
    )

  @tff.federated_computation(
    optimizer_step.initialize.type_signature.result,
    tff.FederatedType(model_type, tff.SERVER),
    tff.FederatedType(
      collections.OrderedDict(
        delta=model_type['weights'].trainable, control=model_type['control']
      ),
      tff.SERVER,
    ),
  )
  def next_fn(state, model, aggregate):
    stepped = optimizer_step.next(state, model['weights'], aggregate['delta'])
    added = tff.federated_map(
      add_mean, (model['control'], aggregate['control'])
    )
    return tff.templates.MeasuredProcessOutput(
      stepped.state,
      tff.federated_zip(
        collections.OrderedDict(weights=stepped.result, control=added.control)
      ),
      tff.federated_zip(
        collections.OrderedDict(
          update_non_finite=stepped.measurements.update_non_finite,
          control_non_finite=added.non_finite,
        )
      ),
    )

  return tff.templates.MeasuredProcess(optimizer_step.initialize, next_fn)
