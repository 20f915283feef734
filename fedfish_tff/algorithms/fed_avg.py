# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedAvg, equal to TFF's own, with excluded clients counted.

McMahan et al., AISTATS 2017 (arXiv:1602.05629), Algorithm 1, with the server
optimizer of Reddi et al., ICLR 2021 (arXiv:2003.00295).
"""

from fedfish_tff.algorithms import composition
from fedfish_tff.algorithms import process
from fedfish_tff.client_work import local_training as local_training_lib
from fedfish_tff.client_work import model_delta
from fedfish_tff.models import model_functions

import tensorflow as tf
import tensorflow_federated as tff


def build_fed_avg(
  model_fn: model_functions.ModelFn,
  client_optimizer_fn: tff.learning.optimizers.Optimizer,
  server_optimizer_fn: tff.learning.optimizers.Optimizer | None = None,
  *,
  client_weighting: tff.learning.ClientWeighting = (
    tff.learning.ClientWeighting.NUM_EXAMPLES
  ),
  model_aggregator: (tff.aggregators.WeightedAggregationFactory | None) = None,
) -> process.FederatedProcess:
  """Builds FedAvg (McMahan et al., 2017, Algorithm 1).

  Client i trains from the global w to w_i, and n_i is its number of examples:

    w <- w - sum(n_i (w - w_i)) / sum(n_i)

  with the default server optimizer; another one takes the mean as a gradient.

  Results equal those of `tff.learning.algorithms.build_weighted_fed_avg`,
  except that clients with a weighted update that overflows are left out, too,
  and that a round in which every client is left out keeps the weights. With
  uniform weights a client without examples counts as one. Hyper-parameters are
  those of the server optimizer, for variable models, too.

  Args:
    model_fn: A functional model, or a function that returns a variable model.
    client_optimizer_fn: The client optimizer, initialized anew in each round.
    server_optimizer_fn: The optimizer applied to the mean model delta. The
      default, SGD with rate 1, is the original FedAvg. TFF's Adam and Yogi
      correct the bias of their moments, which FedAdam and FedYogi of Reddi et
      al. do not, and Adam's epsilon is 1e-7 instead of 1e-3 by default.
    client_weighting: The clients' weights: |D_i| (times local epochs), or
      uniform.
    model_aggregator: The aggregator, `tff.aggregators.MeanFactory` by default.

  Returns:
    A process with next of type (<S@SERVER, {B*}@CLIENTS> -> <state=S@SERVER,
    metrics=M@SERVER>), where B* are batches of all local epochs.
  """

  def client_update(bound, sent, unused_own, dataset):
    trained = local_training_lib.train_locally(
      bound, client_optimizer_fn, sent.weights, dataset
    )
    update = model_delta.delta_update(
      bound, sent.weights, trained, client_weighting
    )
    if client_weighting == tff.learning.ClientWeighting.UNIFORM:
      # TFF counts clients without examples, too.
      update = update._replace(weight=tf.constant(1.0))
    return update

  return composition.compose(
    model_fn,
    client_update,
    model_aggregator,
    server_optimizer_fn,
    build_local_training=lambda: local_training_lib.build_local_training(
      model_fn, client_optimizer_fn
    ),
  )
