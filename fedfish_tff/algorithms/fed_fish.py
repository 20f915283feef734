# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedFish: federated learning by function space aggregation.

Dhawan, Mitchell, Charles, Garrett and Dziugaite, "Leveraging Function Space
Aggregation for Federated Learning at Scale", TMLR 2024 (arXiv:2311.10291),
Algorithms 1 and 2. Its authors published no code. Where the paper leaves a
choice open, the default is its literal reading, except for the rate of the
server. Each choice is named below.

With data `clients`, a list of `tf.data.Dataset` of (x, y) batches:

```
process = build_fed_fish(
    model, tff.learning.optimizers.build_sgdm(0.1), local_epochs=8)
state = process.initialize()
state, metrics = process.next(state, clients)
```
"""

from collections.abc import Sequence

from fedfish_tff import choices
from fedfish_tff import errors
from fedfish_tff.aggregators import fisher_weighted_mean
from fedfish_tff.algorithms import composition
from fedfish_tff.algorithms import partial_exchange
from fedfish_tff.algorithms import process
from fedfish_tff.algorithms import server_step
from fedfish_tff.client_work import fisher_delta
from fedfish_tff.client_work import local_training
from fedfish_tff.client_work import tensor_selection
from fedfish_tff.models import extended_model
from fedfish_tff.models import model_functions

import tensorflow_federated as tff


def build_fed_fish(
  model_fn: model_functions.ModelFn,
  client_optimizer_fn: tff.learning.optimizers.Optimizer,
  server_optimizer_fn: tff.learning.optimizers.Optimizer | None = None,
  *,
  local_epochs: int = 1,
  client_weighting: tff.learning.ClientWeighting = (
    tff.learning.ClientWeighting.NUM_EXAMPLES
  ),
  fisher_estimator: choices.FisherEstimator = (
    choices.FisherEstimator.BATCH_GRADIENT
  ),
  fisher_normalization: choices.FisherNormalization = (
    choices.FisherNormalization.SUM
  ),
  fisher_granularity: choices.FisherGranularity = (
    choices.FisherGranularity.WEIGHT
  ),
  damping: float = 0.0,
  relative_damping: float = 0.0,
  minimum_denominator: float = 0.0,
  label_sampler: model_functions.LabelSampler | None = None,
  seed: int = 0,
  sum_factory: tff.aggregators.UnweightedAggregationFactory | None = None,
  diagnostics: bool = False,
  selector: tensor_selection.Selector | None = None,
  tensor_names: Sequence[str] | None = None,
) -> process.FederatedProcess:
  """Builds FedFish (Dhawan et al., 2024, Algorithms 1 and 2).

  Client i trains from the global w to w_i, and passes over its batches b once
  more for the Fisher diagonal F_i. With n_i examples, elementwise:

    F_i = sum over b of (grad loss(w_i; b))^2
    w <- w - eta_g sum(n_i F_i (w - w_i)) / sum(n_i F_i)

  Where no client has Fisher information the update is 0.

  Args:
    model_fn: A functional model, or a function that returns a variable model.
    client_optimizer_fn: The client optimizer, initialized anew in each round.
    server_optimizer_fn: The optimizer applied to the Fisher-weighted mean of
      deltas. Plain steps (Algorithm 2) with eta_g 1 by default, as in
      `build_fed_avg`; table 2's eta_g of 1e-3 would barely move the weights.
      docs/results_fedfish.md compares them with Adam's steps.
    local_epochs: The number of epochs in a client's sequence of batches, one
      after another. The Fisher pass takes one of them.
    client_weighting: The clients' weights: |D_i| (the paper's w_i), or uniform.
    fisher_estimator: The estimator: BATCH_GRADIENT (the paper's), PER_EXAMPLE
      or SAMPLED_LABEL.
    fisher_normalization: The normalization: SUM over the data (the paper's), or
      MEAN.
    fisher_granularity: The granularity: WEIGHT (the paper's), or TENSOR, with
      the mean of F_i over each tensor. Kronecker factors (K-FAC) are not
      offered, since their weighted mean is no quotient of two sums.
    damping: The constant that clients add to every F_i, so that the update is
      FedAvg's instead of 0 where no client has Fisher information.
    relative_damping: The multiple of the client's mean of F_i over all weights
      that is added as well.
    minimum_denominator: The bound at or below which denominators count as 0.
    label_sampler: A function that draws labels from the model's output, which
      SAMPLED_LABEL needs.
    seed: The seed of those draws.
    sum_factory: The aggregator of numerator and denominator as one structure;
      `tff.aggregators.SumFactory` by default. For inexact sums set `damping`
      and `minimum_denominator`.
    diagnostics: Whether to also measure how many clients decide a coordinate,
      and the cosine and norm to FedAvg's update, for two more sums of the
      model's size. A selector excludes it.
    selector: The selector of the parts of delta and Fisher that a client sends,
      as in `build_partial_exchange`. The mean is then over the clients that
      sent a part, and the server keeps parts that no client sent. By default
      everything is sent.
    tensor_names: The trainable tensors' names in the metrics; by position and
      shape by default.

  Returns:
    A process with next of type (<S@SERVER, {B*}@CLIENTS> -> <state=S@SERVER,
    metrics=M@SERVER>), where B* are the batches of all local epochs. A client
    with a delta, a Fisher or a product of both that is not finite is left out
    of the round and counted. A round to which no client contributes keeps the
    weights and the server optimizer's state.
  """
  if fisher_estimator is not choices.FisherEstimator.BATCH_GRADIENT and (
    extended_model.adds_loss(model_fn)
    or extended_model.changes_statistics(model_fn)
  ):
    raise errors.InputError(
      'fisher_estimator must be BATCH_GRADIENT (in a config: batch_gradient) for '
      'a model with added losses, such as regularisers, or with statistics of '
      'batches, since the others take the loss of one example at a time.'
    )
  client_update_fn = fisher_delta.build_fisher_delta_update(
    client_optimizer_fn,
    local_epochs=local_epochs,
    client_weighting=client_weighting,
    fisher_estimator=fisher_estimator,
    fisher_normalization=fisher_normalization,
    fisher_granularity=fisher_granularity,
    damping=damping,
    relative_damping=relative_damping,
    label_sampler=label_sampler,
    seed=seed,
  )
  parts = (
    fisher_weighted_mean.FisherWeightedMeanFactory(
      sum_factory,
      minimum_denominator=minimum_denominator,
      diagnostics=diagnostics,
      tensor_names=tensor_names,
    ),
    server_optimizer_fn,
  )
  arguments = {
    'build_local_training': lambda: local_training.build_local_training(
      model_fn, client_optimizer_fn
    ),
    'extra_passes': 1,
  }
  if selector is None:
    return composition.compose(
      model_fn,
      client_update_fn,
      *parts,
      initialize_server=server_step.first_round,
      server_step=server_step.count_rounds(),
      should_reject_update=server_step.reject_empty_update,
      **arguments,
    )
  tensor_selection.check_selector(selector)
  if diagnostics:
    raise errors.InputError(
      'diagnostics must be False with a selector, since there is no sum of '
      "whole deltas to compare FedFish's update with; got True."
    )
  return partial_exchange.compose_partial_process(
    model_fn,
    client_update_fn,
    *parts,
    selector=selector,
    tensor_names=tensor_names,
    **arguments,
  )
