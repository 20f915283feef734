# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""SCAFFOLD: FedAvg with control variates against client drift.

Karimireddy, Kale, Mohri, Reddi, Stich and Suresh, "SCAFFOLD: Stochastic
Controlled Averaging for Federated Learning", ICML 2020 (arXiv:1910.06378),
Algorithm 1. A client's control variate estimates the gradient of its own loss,
the server's that of the mean of all clients' losses. Their difference corrects
a client's steps for the drift to its own optimum.
"""

import collections

from fedfish_tff import choices
from fedfish_tff import errors
from fedfish_tff import finite_checks
from fedfish_tff.aggregators import named_parts
from fedfish_tff.algorithms import client_state_process
from fedfish_tff.algorithms import composition
from fedfish_tff.algorithms import server_step as server_step_lib
from fedfish_tff.client_work import gradient_transforms
from fedfish_tff.client_work import gradient_update
from fedfish_tff.client_work import local_training
from fedfish_tff.client_work import model_delta
from fedfish_tff.client_work import plain_sgd
from fedfish_tff.models import model_functions

import tensorflow as tf
import tensorflow_federated as tff


def build_scaffold(
  model_fn: model_functions.ModelFn,
  client_optimizer_fn: tff.learning.optimizers.Optimizer,
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

  With the server's control variate c and client i's c_i, client i takes K steps
  on batches b from w_i = w, the global weights. By option II, with N clients in
  all and sums and mean over the clients of a round:

    w_i <- w_i - eta_l (grad F_i(w_i; b) - c_i + c)
    new c_i = c_i - c + (w - w_i) / (K eta_l)
    w <- w - eta_g mean(w - w_i)
    c <- c + sum(new c_i - c_i) / N

  Option I is new c_i = grad F_i(w).

  All control variates start at 0, so that the first round is FedAvg's.
  Statistics of batches are averaged.

  Args:
    model_fn: A functional model, or a function that returns a variable model.
    client_optimizer_fn: The client optimizer, plain SGD with rate eta_l, which
      may have weight decay; F_i is then the penalised loss.
    server_optimizer_fn: The optimizer applied to the mean model delta. The
      paper's is SGD with rate eta_g, here 1 by default.
    num_clients: N, the number of all clients that may take part, not of a
      cohort. The server's control variate is the mean of theirs.
    control_update: The rule for a client's new control variate: the paper's
      option II by default, or I.
    local_epochs: The number of epochs in a client's sequence of batches, one
      after another. The gradient of option I takes one of them; option II
      ignores it.
    client_weighting: The weights of the model deltas. Uniform by default, as in
      the paper's Algorithm 1, where other methods here weigh by |D_i|: control
      variates correct for the optimum of the mean of the clients' losses,
      whatever their sizes, and are never weighted. With NUM_EXAMPLES deltas are
      weighted by |D_i| (times local epochs).
    model_aggregator: The aggregator, `tff.aggregators.MeanFactory` by default.

  Returns:
    The process. A client's state is its control variate. A client with a delta
    or control variate that is not finite, or a delta too large to be summed, is
    left out of the round, counted, and keeps its state. A client without data
    changes nothing. With rate 0, option II keeps the control variates.

    A client's computation in a round depends on both control variates, which do
    not exist outside of a round. So `local_training` is that of
    `client_optimizer_fn`, as in fine-tuning. It does not give the clients'
    models of a round, on which the client-server barrier is measured.
    `update_is_finite` takes the control variates of a first round.
    `client_model_weights` are the server's weights.
  """
  errors.check_positive_integer('num_clients', num_clients)
  errors.check_choice('control_update', control_update, choices.ControlUpdate)
  errors.check_positive_integer('local_epochs', local_epochs)
  plain_sgd.check_plain_sgd(client_optimizer_fn, 'SCAFFOLD')

  def client_update(bound, sent, own, dataset):
    weights = sent.weights
    correction = tuple(
      c - c_i for c, c_i in zip(sent.state['control'], own['control'])
    )
    corrected = gradient_transforms.transform_gradients(
      client_optimizer_fn,
      lambda _, gradients: list(map(tf.add, gradients, correction)),
    )
    trained = local_training.train_locally(bound, corrected, weights, dataset)
    update = model_delta.delta_update(bound, weights, trained, client_weighting)
    has_data = trained.num_examples > 0
    if control_update is choices.ControlUpdate.GRADIENT:
      batches_per_epoch = local_training.count_batches_of_an_epoch(
        trained.num_batches, local_epochs, method='SCAFFOLD'
      )
      mean = gradient_update.mean_gradient(
        bound, weights, dataset.take(batches_per_epoch)
      )
      control = gradient_transforms.gradients_of_steps(
        client_optimizer_fn, weights.trainable, mean.gradient
      )
      epoch_examples = local_training.check_whole_epochs(
        mean.num_examples, trained.num_examples, local_epochs, method='SCAFFOLD'
      )
      has_data = epoch_examples > 0
    else:
      delta = update.update['delta']
      rate = plain_sgd.learning_rate(client_optimizer_fn)
      control = tuple(
        d / (tf.cast(trained.num_batches, d.dtype) * tf.cast(rate, d.dtype)) - c
        for d, c in zip(delta, correction)
      )
      # Steps of rate 0 do not tell a gradient.
      has_data &= rate > 0
    control = tuple(
      tf.where(has_data, new, old) for new, old in zip(control, own['control'])
    )
    change = tuple(new - old for new, old in zip(control, own['control']))
    return update._replace(
      update=collections.OrderedDict(update.update, control=change),
      own=collections.OrderedDict(control=control),
    )

  def server_step(take_step, server, aggregate):
    step, stepped = server_step_lib.step_weights(
      take_step, server, {'delta': aggregate['delta']}
    )
    change = aggregate['control']
    # Checked by itself: clients have already changed their control variates,
    # even if the weights stay, for example with the mean of no client's deltas.
    step.measurements['control_non_finite'] = tf.cast(
      tf.logical_not(finite_checks.all_finite(change)), tf.int32
    )
    control = [
      c + t / num_clients for c, t in zip(server.state['control'], change)
    ]
    return step, stepped._replace(
      state=server_step_lib.keep_unless_finite(change, control, server.state)
    )

  def zeros(weights):
    return collections.OrderedDict(
      control=tuple(map(tf.zeros_like, weights.trainable))
    )

  return composition.compose(
    model_fn,
    client_update,
    named_parts.NamedPartsFactory(
      {
        'delta': server_step_lib.weighted_factory(model_aggregator),
        'control': tff.aggregators.SumFactory(),
      }
    ),
    server_optimizer_fn,
    initialize_server=zeros,
    initialize_client=lambda server: zeros(server.weights),
    server_step=server_step,
    build_local_training=lambda: local_training.build_local_training(
      model_fn, client_optimizer_fn
    ),
    extra_passes=1 if control_update is choices.ControlUpdate.GRADIENT else 0,
  )
