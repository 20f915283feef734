# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""HF-MAML: a global model that one local step personalises.

Fallah, Mokhtari and Ozdaglar, "Personalized Federated Learning with Theoretical
Guarantees: A Model-Agnostic Meta-Learning Approach", NeurIPS 2020
(arXiv:2002.07948), Algorithm 1 (Per-FedAvg), with the server optimizer of Reddi
et al., ICLR 2021 (arXiv:2003.00295).
"""

from fedfish_tff import choices
from fedfish_tff.algorithms import averaged_statistics
from fedfish_tff.algorithms import composition
from fedfish_tff.algorithms import process
from fedfish_tff.client_work import local_training
from fedfish_tff.client_work import meta_training
from fedfish_tff.client_work import model_delta
from fedfish_tff.models import model_functions

import tensorflow_federated as tff


def build_hf_maml(
  model_fn: model_functions.ModelFn,
  client_optimizer_fn: tff.learning.optimizers.Optimizer,
  server_optimizer_fn: tff.learning.optimizers.Optimizer | None = None,
  *,
  personal_learning_rate: float = 1e-2,
  meta_gradient: choices.MetaGradient = choices.MetaGradient.HESSIAN_FREE,
  meta_batches: choices.MetaBatches = choices.MetaBatches.INDEPENDENT,
  difference: float = 1e-3,
  local_epochs: int = 1,
  client_weighting: tff.learning.ClientWeighting = (
    tff.learning.ClientWeighting.UNIFORM
  ),
  model_aggregator: tff.aggregators.WeightedAggregationFactory | None = None,
) -> process.FederatedProcess:
  """Builds HF-MAML (Fallah et al., 2020, Algorithm 1).

  Clients train for F(w) = f(w - alpha grad f(w)), in steps on batches D, D', D'':

    g = grad f(w - alpha grad f(w; D); D')
    h = (grad f(w + delta g; D'') - grad f(w - delta g; D'')) / (2 delta)
    w <- w - beta (g - alpha h)

  and the server takes the mean of the clients' models, as in `build_fed_avg`.

  Args:
    model_fn: A functional model, or a function that returns a variable model.
    client_optimizer_fn: The optimizer of the clients' outer steps; the paper's
      is SGD with rate beta, published as 0.1.
    server_optimizer_fn: The optimizer applied to the mean model delta. The
      default, SGD with rate 1, is the paper's.
    personal_learning_rate: alpha, 0 or positive, the rate of a client's own
      step. With 0 the outer steps are FedAvg's, on the batches D'.
    meta_gradient: The treatment of the Hessian, one of those of
      `client_work.build_meta_training`, which also says what holds for models
      with dropout.
    meta_batches: Whether D, D' and D'' are a client's next three batches, or
      one batch. If the last step lacks batches, it takes the first ones again.
    difference: delta, the step of HESSIAN_FREE's finite difference, positive.
    local_epochs: The number of epochs in a client's sequence of batches. It
      only affects `extra_passes`.
    client_weighting: The clients' weights: uniform, the paper's, or |D_i|
      (times local epochs).
    model_aggregator: The aggregator, `tff.aggregators.MeanFactory` by default.

  Returns:
    A process with next of type (<S@SERVER, {B*}@CLIENTS> -> <state=S@SERVER,
    metrics=M@SERVER>), where B* are batches of all local epochs. Metrics
    describe models after a client's own step, on batches that it has not seen.
    A client with an update that is not finite is left out of the round and
    counted.

    `local_training` personalises the model: plain SGD with rate alpha. The
    paper takes one step; here it is one per batch. It differs from a client's
    training in a round, so it does not give the models on which the
    client-server barrier is measured.
  """
  client_update_fn = model_delta.build_trained_delta_update(
    meta_training.build_meta_training(
      client_optimizer_fn,
      personal_learning_rate=personal_learning_rate,
      meta_gradient=meta_gradient,
      meta_batches=meta_batches,
      difference=difference,
    ),
    client_weighting=client_weighting,
  )
  averaged_statistics.refuse(model_fn, 'HF-MAML')
  return composition.compose(
    model_fn,
    client_update_fn,
    model_aggregator,
    server_optimizer_fn,
    build_local_training=lambda: local_training.build_local_training(
      model_fn, tff.learning.optimizers.build_sgdm(personal_learning_rate)
    ),
    extra_passes=local_epochs * (_passes(meta_gradient, meta_batches) - 1),
  )


def _passes(
  meta_gradient: choices.MetaGradient, meta_batches: choices.MetaBatches
) -> float:
  """Returns the number of gradients per batch."""
  first_order = meta_gradient is choices.MetaGradient.FIRST_ORDER
  # The product with the Hessian costs two gradients in either variant.
  gradients = 2 if first_order else 4
  if meta_batches is choices.MetaBatches.SHARED:
    return gradients
  return gradients / (2 if first_order else 3)
