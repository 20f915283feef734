# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedSGD: one server step per round on the clients' mean gradient.

McMahan et al., AISTATS 2017 (arXiv:1602.05629), section 2.
"""

from fedfish_tff.algorithms import averaged_statistics
from fedfish_tff.algorithms import composition
from fedfish_tff.algorithms import process
from fedfish_tff.client_work import gradient_update
from fedfish_tff.client_work import local_training
from fedfish_tff.models import model_functions

import tensorflow_federated as tff


def build_fed_sgd(
  model_fn: model_functions.ModelFn,
  server_optimizer_fn: tff.learning.optimizers.Optimizer | None = None,
  *,
  client_optimizer_fn: tff.learning.optimizers.Optimizer | None = None,
  client_weighting: tff.learning.ClientWeighting = (
    tff.learning.ClientWeighting.NUM_EXAMPLES
  ),
  model_aggregator: (tff.aggregators.WeightedAggregationFactory | None) = None,
) -> process.FederatedProcess:
  """Builds FedSGD (McMahan et al., 2017, section 2).

  With the gradients of the clients' mean losses F_i, and n_i examples:

    w <- w - eta sum(n_i grad F_i(w)) / sum(n_i)

  In a language model, whose loss is a mean over a batch's tokens, batches count
  by their rows, so grad F_i(w) depends on the batch size.

  Args:
    model_fn: A functional model, or a function that returns a variable model.
    server_optimizer_fn: The optimizer applied to the mean gradient; SGD with
      rate 0.1 by default, as in `tff.learning.algorithms.build_fed_sgd`.
    client_optimizer_fn: The optimizer of the exported local training, with
      which evaluation personalises; SGD with rate 0.1 by default. FedSGD's
      rounds take no local steps.
    client_weighting: The clients' weights: |D_i|, or uniform.
    model_aggregator: The aggregator, `tff.aggregators.MeanFactory` by default.

  Returns:
    A process with next of type (<S@SERVER, {B*}@CLIENTS> -> <state=S@SERVER,
    metrics=M@SERVER>), where B* are the batches of one epoch.
  """
  default_optimizer = tff.learning.optimizers.build_sgdm(0.1)
  client_optimizer_fn = client_optimizer_fn or default_optimizer
  local_training.check_optimizer(client_optimizer_fn, 'client_optimizer_fn')
  averaged_statistics.refuse(model_fn, 'FedSGD')
  return composition.compose(
    model_fn,
    gradient_update.build_gradient_update(client_weighting=client_weighting),
    model_aggregator,
    server_optimizer_fn or default_optimizer,
    build_local_training=lambda: local_training.build_local_training(
      model_fn, client_optimizer_fn
    ),
  )
