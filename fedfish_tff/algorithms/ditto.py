# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Ditto: FedAvg with an additional model for each client.

Li, Hu, Beirami and Smith, "Ditto: Fair and Robust Federated Learning Through
Personalization", ICML 2021 (arXiv:2012.04221), Algorithm 1. A client's own
model v minimises F_k(v) + (lambda / 2) |v - w|^2, w being the global weights.
"""

import collections

from fedfish_tff.algorithms import averaged_statistics
from fedfish_tff.algorithms import client_state_process
from fedfish_tff.algorithms import composition
from fedfish_tff.client_work import local_training
from fedfish_tff.client_work import model_delta
from fedfish_tff.client_work import proximal
from fedfish_tff.models import model_functions

import tensorflow_federated as tff


def build_ditto(
  model_fn: model_functions.ModelFn,
  client_optimizer_fn: tff.learning.optimizers.Optimizer,
  server_optimizer_fn: tff.learning.optimizers.Optimizer | None = None,
  *,
  personal_strength: float,
  local_epochs: int = 1,
  client_weighting: tff.learning.ClientWeighting = (
    tff.learning.ClientWeighting.NUM_EXAMPLES
  ),
  model_aggregator: tff.aggregators.WeightedAggregationFactory | None = None,
) -> client_state_process.ClientStateProcess:
  """Builds Ditto (Li et al., 2021, Algorithm 1).

  Client k's own model v_k takes steps on batches b, from the global weights w
  at the start of the round:

    v_k <- v_k - eta (grad F_k(v_k; b) + lambda (v_k - w))

  The server's model is FedAvg's. A client's own model takes as many steps on
  the same batches, pulled towards w; with strength 0 every client trains it
  alone. Weights that are not trainable stay at their initial values.

  Args:
    model_fn: A functional model, or a function that returns a variable model.
    client_optimizer_fn: The client optimizer, new for each of the two models.
    server_optimizer_fn: The optimizer applied to the mean model delta; SGD with
      rate 1 by default.
    personal_strength: lambda, the strength of the pull, 0 or positive. The
      paper's code uses 1, or the best of 0.1, 1 and 2. With SGD, its product
      with the learning rate should be below 1.
    local_epochs: The number of epochs in a client's sequence of batches. It
      only affects `extra_passes`: the client's own model trains for as many
      epochs.
    client_weighting: The clients' weights: |D_i| (times local epochs), or
      uniform.
    model_aggregator: The aggregator, `tff.aggregators.MeanFactory` by default.

  Returns:
    The process. A client's state is <personal>, the trainable tensors of its
    own model, which starts as the global model of the client's first round.
    Metrics describe the training for the server. A client with either model
    diverging is left out of the round, counted, and keeps its state. A client
    without data changes nothing.

    `client_model_weights` are those of its own model. `local_training` is that
    model's first round, pulled towards its start. Both trainings of
    `update_is_finite` start at it, too, so `update_is_finite` may miss a client
    that a round leaves out.
  """
  averaged_statistics.refuse(model_fn, 'Ditto')
  delta_update = model_delta.build_model_delta_update(
    client_optimizer_fn, client_weighting=client_weighting
  )

  first_optimizer = proximal.build_proximal_optimizer(
    client_optimizer_fn, personal_strength
  )

  def client_update(bound, sent, own, dataset):
    weights = sent.weights
    update = delta_update(bound, sent, (), dataset)
    personal = local_training.train_locally(
      bound,
      proximal.pull_to(
        client_optimizer_fn, personal_strength, weights.trainable
      ),
      weights._replace(trainable=own['personal']),
      dataset,
    ).weights.trainable
    return update._replace(
      also_finite=personal, own=collections.OrderedDict(personal=personal)
    )

  return composition.compose(
    model_fn,
    client_update,
    model_aggregator,
    server_optimizer_fn,
    initialize_client=lambda server: collections.OrderedDict(
      personal=server.weights.trainable
    ),
    client_weights=lambda server, own: server.weights._replace(
      trainable=own['personal']
    ),
    build_local_training=lambda: local_training.build_local_training(
      model_fn, first_optimizer
    ),
    extra_passes=local_epochs,
  )
