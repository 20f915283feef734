# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedCM: local steps mixed with the mean direction of the last round.

Xu, Wang, Wang and Yao, "FedCM: Federated Learning with Client-level Momentum",
2021 (arXiv:2106.10874), Algorithm 1.
"""

import collections

from fedfish_tff import errors
from fedfish_tff.aggregators import named_parts
from fedfish_tff.algorithms import composition
from fedfish_tff.algorithms import process
from fedfish_tff.algorithms import server_step as server_step_lib
from fedfish_tff.client_work import gradient_transforms
from fedfish_tff.client_work import local_training as local_training_lib
from fedfish_tff.client_work import model_delta
from fedfish_tff.client_work import plain_sgd
from fedfish_tff.models import model_functions

import tensorflow as tf
import tensorflow_federated as tff


def build_fed_cm(
  model_fn: model_functions.ModelFn,
  client_optimizer_fn: tff.learning.optimizers.Optimizer,
  server_optimizer_fn: tff.learning.optimizers.Optimizer | None = None,
  *,
  mixture: float = 0.1,
  client_weighting: tff.learning.ClientWeighting = (
    tff.learning.ClientWeighting.UNIFORM
  ),
  model_aggregator: (tff.aggregators.WeightedAggregationFactory | None) = None,
) -> process.FederatedProcess:
  """Builds FedCM (Xu et al., 2021, Algorithm 1).

  Client i takes K_i steps on batches b from w_i = w, the global weights, with
  the server's direction d, which is 0 at first. Means are over the clients of a
  round:

    w_i <- w_i - eta_l (alpha grad F_i(w_i; b) + (1 - alpha) d)
    d <- mean(w - w_i) / mean(eta_l K_i)
    w <- w - eta_g mean(w - w_i)

  With as many steps at all clients, this is the paper's algorithm; its rate of
  the server is eta_g eta_l K.

  Args:
    model_fn: A functional model, or a function that returns a variable model.
    client_optimizer_fn: The client optimizer, plain SGD with rate eta_l. Weight
      decay is outside of the mixture, as in the authors' code.
    server_optimizer_fn: The optimizer applied to mean(w - w_i). The default,
      SGD with rate eta_g = 1, takes the mean of the clients' models.
    mixture: alpha, the share of a client's own gradient, above 0 and at most 1,
      where this is FedAvg. The paper has 0.1.
    client_weighting: The clients' weights: uniform, the paper's, or |D_i|
      (times local epochs).
    model_aggregator: The aggregator of w - w_i, `tff.aggregators.MeanFactory`
      by default, as always for eta_l K_i.

  Returns:
    A process with next of type (<S@SERVER, {B*}@CLIENTS> -> <state=S@SERVER,
    metrics=M@SERVER>), where B* are batches of all local epochs. A round to
    which no client contributes keeps the weights and the direction. The
    direction does not exist outside of a round, so `local_training` is that of
    `client_optimizer_fn`, as in fine-tuning.
  """
  errors.check_range('mixture', mixture, above=0, most=1)
  plain_sgd.check_plain_sgd(client_optimizer_fn, 'FedCM')

  def client_update(bound, sent, unused_own, dataset):
    def mix(unused_weights, gradients):
      return [
        tf.cast(mixture, g.dtype) * g + tf.cast(1 - mixture, g.dtype) * d
        for g, d in zip(gradients, sent.state)
      ]

    trained = local_training_lib.train_locally(
      bound,
      gradient_transforms.transform_gradients(client_optimizer_fn, mix),
      sent.weights,
      dataset,
    )
    update = model_delta.delta_update(
      bound, sent.weights, trained, client_weighting
    )
    rate = plain_sgd.learning_rate(client_optimizer_fn)
    length = rate * tf.cast(trained.num_batches, rate.dtype)
    return update._replace(
      update=collections.OrderedDict(update.update, length=length)
    )

  def server_step(take_step, server, aggregate):
    delta, length = aggregate['delta'], aggregate['length']
    step, stepped = server_step_lib.step_weights(
      take_step, server, {'delta': delta}
    )
    direction = tuple(d / tf.cast(length, d.dtype) for d in delta)
    return step, stepped._replace(
      state=server_step_lib.keep_unless_finite(
        direction, direction, server.state
      )
    )

  return composition.compose(
    model_fn,
    client_update,
    named_parts.NamedPartsFactory(
      {
        'delta': server_step_lib.weighted_factory(model_aggregator),
        'length': tff.aggregators.MeanFactory(),
      }
    ),
    server_optimizer_fn,
    initialize_server=lambda weights: tuple(
      map(tf.zeros_like, weights.trainable)
    ),
    server_step=server_step,
    build_local_training=lambda: local_training_lib.build_local_training(
      model_fn, client_optimizer_fn
    ),
  )
