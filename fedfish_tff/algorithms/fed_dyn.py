# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedDyn: local losses adjusted so that the clients' optima agree at the end.

Acar, Zhao, Matas Navarro, Mattina, Whatmough and Saligrama, "Federated Learning
Based on Dynamic Regularization", ICLR 2021 (arXiv:2111.04263), Algorithm 1.
"""

import collections

from fedfish_tff import errors
from fedfish_tff.aggregators import named_parts
from fedfish_tff.algorithms import client_state_process
from fedfish_tff.algorithms import composition
from fedfish_tff.algorithms import server_step as server_step_lib
from fedfish_tff.client_work import gradient_transforms
from fedfish_tff.client_work import local_training as local_training_lib
from fedfish_tff.client_work import model_delta
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

  and the server keeps s (the paper's h is alpha s), with the sum and the mean
  over the clients of a round, of N clients in all:

    s <- s + sum(w - w_i) / N,    w <- w - mean(w - w_i) - s

  All g_i and s start at 0. Statistics of batches are averaged.

  Args:
    model_fn: A functional model, or a function that returns a variable model.
    client_optimizer_fn: The client optimizer, which takes the local steps.
    server_optimizer_fn: The optimizer applied to mean(w - w_i) + s. The
      default, SGD with rate 1, is the paper's.
    num_clients: N, the number of all clients that may take part, not of a
      cohort.
    regularization: alpha, the strength of the regularization, positive; the
      paper tunes it over 0.001, 0.01, 0.03 and 0.1.
    model_aggregator: The aggregator of w - w_i, with weight 1 for each client
      that has data; `tff.aggregators.MeanFactory` by default. The sum is its
      result times the number of these clients. With an aggregator that drops
      clients, or has no finite result, the server's mean of their g_i is no
      longer exact: they have changed their own.

  Returns:
    The process. A client's state is g_i. A client with an update that is not
    finite is left out of the round, counted, and keeps its state. A client
    without data changes nothing. The reported losses are those of the model.

    A client's computation in a round depends on its state, which does not exist
    outside of a round. So `local_training` is that of `client_optimizer_fn` on
    the model's loss, as in fine-tuning, and `update_is_finite` takes the state
    of a first round. `client_model_weights` are the server's weights.
  """
  local_training_lib.check_optimizer(client_optimizer_fn, 'client_optimizer_fn')
  errors.check_positive_integer('num_clients', num_clients)
  errors.check_range('regularization', regularization, above=0)

  def client_update(bound, sent, own, dataset):
    weights = sent.weights

    def regularize(current, gradients):
      return [
        g + tf.cast(regularization, w.dtype) * (w - start) - g_i
        for g, w, start, g_i in zip(gradients, current, weights.trainable, own)
      ]

    trained = local_training_lib.train_locally(
      bound,
      gradient_transforms.transform_gradients(client_optimizer_fn, regularize),
      weights,
      dataset,
    )
    update = model_delta.delta_update(
      bound, weights, trained, tff.learning.ClientWeighting.UNIFORM
    )
    delta = update.update['delta']
    return update._replace(
      update=collections.OrderedDict(delta=delta, number=update.weight),
      own=tuple(
        g_i + tf.cast(regularization, d.dtype) * d for g_i, d in zip(own, delta)
      ),
    )

  def server_step(take_step, server, aggregate):
    delta = tf.nest.flatten(aggregate['delta'])
    share = aggregate['number'] / num_clients
    moved = [
      s + d * tf.cast(share, d.dtype) for s, d in zip(server.state, delta)
    ]
    # Where it is kept, the step is rejected, too.
    shift = server_step_lib.keep_unless_finite(delta, moved, server.state)
    step, server = server_step_lib.step_weights(
      take_step, server, {'delta': [d + s for d, s in zip(delta, shift)]}
    )
    return step, server._replace(state=shift)

  def zeros(weights):
    return tuple(map(tf.zeros_like, weights.trainable))

  return composition.compose(
    model_fn,
    client_update,
    named_parts.NamedPartsFactory(
      {
        'delta': server_step_lib.weighted_factory(model_aggregator),
        'number': tff.aggregators.SumFactory(),
      }
    ),
    server_optimizer_fn,
    initialize_server=zeros,
    # The shift stays at the server.
    select_sent=lambda server: server._replace(state=()),
    initialize_client=lambda server: zeros(server.weights),
    server_step=server_step,
    build_local_training=lambda: local_training_lib.build_local_training(
      model_fn, client_optimizer_fn
    ),
  )
