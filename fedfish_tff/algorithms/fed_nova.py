# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedNova: FedAvg with updates normalised by the number of local steps.

Wang, Liu, Liang, Joshi and Poor, "Tackling the Objective Inconsistency Problem
in Heterogeneous Federated Optimization", NeurIPS 2020 (arXiv:2007.07481),
equation (5) with the default tau_eff of section 4.
"""

import collections

from fedfish_tff.aggregators import named_parts
from fedfish_tff.algorithms import composition
from fedfish_tff.algorithms import process
from fedfish_tff.algorithms import server_step as server_step_lib
from fedfish_tff.client_work import local_training
from fedfish_tff.client_work import model_delta
from fedfish_tff.client_work import plain_sgd
from fedfish_tff.models import model_functions

import tensorflow as tf
import tensorflow_federated as tff


def build_fed_nova(
  model_fn: model_functions.ModelFn,
  client_optimizer_fn: tff.learning.optimizers.Optimizer,
  server_optimizer_fn: tff.learning.optimizers.Optimizer | None = None,
  *,
  client_weighting: tff.learning.ClientWeighting = (
    tff.learning.ClientWeighting.NUM_EXAMPLES
  ),
  model_aggregator: (tff.aggregators.WeightedAggregationFactory | None) = None,
) -> process.FederatedProcess:
  """Builds FedNova (Wang et al., 2020, equation (5)).

  Client i goes from the global w to w_i = w - eta sum_k a_ik g_ik, with
  gradients g_ik. With its share p_i of the weights, and |a_i| = sum_k a_ik:

    w <- w - (sum_i p_i |a_i|) sum_i p_i (w - w_i) / |a_i|

  With plain SGD |a_i| is the number of steps. With momentum, weight decay or a
  proximal term it follows from the client optimizer's steps on gradients of 1.

  Args:
    model_fn: A functional model, or a function that returns a variable model.
    client_optimizer_fn: SGD, with or without momentum, weight decay or a
      proximal term, so that its steps are linear in the gradients.
    server_optimizer_fn: The optimizer applied to the update. The default, SGD
      with rate 1, is the original FedNova.
    client_weighting: The basis of p_i: |D_i| (times local epochs), or uniform.
    model_aggregator: The aggregator of the normalised updates (w - w_i) / (eta
      |a_i|), which are means of gradients, so bounds of norms are those of
      gradients. `tff.aggregators.MeanFactory` by default, as always for eta
      |a_i|.

  Returns:
    A process with next of type (<S@SERVER, {B*}@CLIENTS> -> <state=S@SERVER,
    metrics=M@SERVER>), where B* are batches of all local epochs.
  """
  plain_sgd.check_sgd(client_optimizer_fn, 'FedNova')

  def client_update(bound, sent, unused_own, dataset):
    trained = local_training.train_locally(
      bound, client_optimizer_fn, sent.weights, dataset
    )
    # The rate, a factor of it, cancels in the update.
    norm = plain_sgd.distance_of_unit_gradients(
      client_optimizer_fn, trained.num_batches
    )
    update = model_delta.delta_update(
      bound, sent.weights, trained, client_weighting
    )
    delta = tuple(
      tf.math.divide_no_nan(d, tf.cast(norm, d.dtype))
      for d in update.update['delta']
    )
    return update._replace(
      update=collections.OrderedDict(delta=delta, norm=norm)
    )

  def server_step(take_step, server, aggregate):
    delta = [
      tf.cast(aggregate['norm'], d.dtype) * d
      for d in tf.nest.flatten(aggregate['delta'])
    ]
    return server_step_lib.step_weights(take_step, server, {'delta': delta})

  return composition.compose(
    model_fn,
    client_update,
    named_parts.NamedPartsFactory(
      {
        'delta': server_step_lib.weighted_factory(model_aggregator),
        'norm': tff.aggregators.MeanFactory(),
      }
    ),
    server_optimizer_fn,
    build_local_training=lambda: local_training.build_local_training(
      model_fn, client_optimizer_fn
    ),
    server_step=server_step,
  )
