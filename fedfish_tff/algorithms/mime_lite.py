# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Mime Lite: local steps with the server's optimizer state.

Karimireddy, Jaggi, Kale, Mohri, Reddi, Stich and Suresh, "Breaking the
centralized barrier for cross-device federated learning", NeurIPS 2021
(arXiv:2008.03606), Algorithm 1. It equals
`tff.learning.algorithms.build_weighted_mime_lite`, except for diverged clients
and the cost of the gradient: see `client_work.build_server_statistics_update`.
"""

from fedfish_tff.algorithms import composition
from fedfish_tff.algorithms import process
from fedfish_tff.client_work import local_training
from fedfish_tff.client_work import mime_lite
from fedfish_tff.models import model_functions

import tensorflow_federated as tff


def build_mime_lite(
  model_fn: model_functions.ModelFn,
  client_optimizer_fn: tff.learning.optimizers.Optimizer,
  server_optimizer_fn: tff.learning.optimizers.Optimizer | None = None,
  *,
  local_epochs: int = 1,
  client_weighting: tff.learning.ClientWeighting = (
    tff.learning.ClientWeighting.NUM_EXAMPLES
  ),
  model_aggregator: (tff.aggregators.WeightedAggregationFactory | None) = None,
) -> process.FederatedProcess:
  """Builds Mime Lite (Karimireddy et al., 2021, Algorithm 1).

  With the server's optimizer state s, client i takes steps from w_i = w, the
  global weights, that leave s unchanged. Then the server steps, with numbers of
  examples n_i:

    w_i <- w_i after a step of (grad F_i(w_i; b), s)
    s <- s after a step of (sum(n_i grad F_i(w)) / sum(n_i), s)
    w <- w - sum(n_i (w - w_i)) / sum(n_i)

  The gradient in the second line is over one epoch, at the w that was sent.

  Args:
    model_fn: A functional model, or a function that returns a variable model.
    client_optimizer_fn: The paper's base optimizer. Clients take steps with it.
      Its state is the server's, which updates it with the clients' mean
      gradient at the global weights. The state after a step must not depend on
      the weights, as that of a proximal optimizer does. An optimizer without a
      state, such as plain SGD, makes this FedAvg with the default aggregators.
    server_optimizer_fn: The optimizer applied to the mean model delta. The
      default, SGD with rate 1, is the original Mime Lite.
    local_epochs: The number of epochs in a client's sequence of batches, one
      after another. The gradient takes one of them.
    client_weighting: The clients' weights: |D_i|, or uniform.
    model_aggregator: The aggregator, `tff.aggregators.MeanFactory` by default.

  Returns:
    A process with next of type (<S@SERVER, {B*}@CLIENTS> -> <state=S@SERVER,
    metrics=M@SERVER>), where B* are the batches of all local epochs. A client
    with a delta or gradient that is not finite is left out of the round and
    counted. A round to which no client contributes keeps the weights and the
    states of both optimizers.

    A client's computation in a round depends on the server's state, which does
    not exist outside of a round. So `local_training` is that of the base
    optimizer with a state of its own, as in fine-tuning. It does not give the
    clients' models of a round, on which the client-server barrier is measured.
    `update_is_finite` takes the state of a first round.

  Raises:
    InputError: If `local_epochs` is below 1, or the client optimizer is
      proximal.
    TypeError: If `model_fn` is not a model or an optimizer is not TFF's.
  """
  local_training.check_optimizer(client_optimizer_fn, 'client_optimizer_fn')
  return composition.compose_process(
    model_fn,
    mime_lite.build_server_statistics_work(
      model_fn,
      client_optimizer_fn,
      mime_lite.build_server_statistics_update(
        client_optimizer_fn,
        local_epochs=local_epochs,
        client_weighting=client_weighting,
      ),
    ),
    model_aggregator,
    server_optimizer_fn,
    local_training=local_training.build_local_training(
      model_fn, client_optimizer_fn
    ),
    extra_passes=1,
  )
