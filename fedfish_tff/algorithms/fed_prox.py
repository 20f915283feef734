# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedProx: FedAvg with local steps pulled towards the global weights.

Li, Sahu, Zaheer, Sanjabi, Talwalkar and Smith, "Federated Optimization in
Heterogeneous Networks", MLSys 2020 (arXiv:1812.06127), Algorithm 2, with the
server optimizer of Reddi et al., ICLR 2021 (arXiv:2003.00295).

`tff.learning.algorithms.build_weighted_fed_prox` of TFF 0.87 is not used: the
sign of its proximal term is wrong.
"""

from fedfish_tff.algorithms import fed_avg
from fedfish_tff.algorithms import process
from fedfish_tff.client_work import local_training
from fedfish_tff.client_work import proximal
from fedfish_tff.models import model_functions

import tensorflow_federated as tff


def build_fed_prox(
  model_fn: model_functions.ModelFn,
  client_optimizer_fn: tff.learning.optimizers.Optimizer,
  server_optimizer_fn: tff.learning.optimizers.Optimizer | None = None,
  *,
  proximal_strength: float,
  client_weighting: tff.learning.ClientWeighting = (
    tff.learning.ClientWeighting.NUM_EXAMPLES
  ),
  model_aggregator: (tff.aggregators.WeightedAggregationFactory | None) = None,
) -> process.FederatedProcess:
  """Builds FedProx (Li et al., 2020, Algorithm 2).

  Client i takes steps from w_i = w, the global weights, on batches b. The
  server's step is that of `build_fed_avg`:

    w_i <- w_i - eta (grad F_i(w_i; b) + mu (w_i - w))

  The local solver is the client optimizer, run for the local epochs on the loss
  plus proximal_strength / 2 |w - w_global|^2.

  Args:
    model_fn: A functional model, or a function that returns a variable model.
    client_optimizer_fn: The local solver's optimizer, initialized anew in each
      round.
    server_optimizer_fn: The optimizer applied to the mean model delta. The
      default, SGD with rate 1, is the original FedProx.
    proximal_strength: mu, the strength of the pull. The paper tunes it over
      0.001, 0.01, 0.1 and 1. With 0 this is FedAvg, bit for bit;
      `client_work.build_proximal_optimizer` says how large it may be.
    client_weighting: The clients' weights: |D_i| (times local epochs), or
      uniform.
    model_aggregator: The aggregator, `tff.aggregators.MeanFactory` by default.

  Returns:
    A process with next of type (<S@SERVER, {B*}@CLIENTS> -> <state=S@SERVER,
    metrics=M@SERVER>), where B* are batches of all local epochs. Reported
    losses are those of the model, without the proximal term. Its local
    training is that of a round, so personalisation is proximal, too.
  """
  local_training.check_optimizer(client_optimizer_fn, 'client_optimizer_fn')
  return fed_avg.build_fed_avg(
    model_fn,
    proximal.build_proximal_optimizer(client_optimizer_fn, proximal_strength),
    server_optimizer_fn,
    client_weighting=client_weighting,
    model_aggregator=model_aggregator,
  )
