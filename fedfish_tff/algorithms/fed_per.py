# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedPer and FedBN: some layers of the model stay at each client.

Arivazhagan, Aggarwal, Singh and Choudhary, "Federated Learning with
Personalization Layers" (2019, arXiv:1912.00818), Algorithms 1 and 2: the last
layers. Both parts of the model are trained together.

Li, Jiang, Zhang, Kamp and Dou, "FedBN: Federated Learning on Non-IID Features
via Local Batch Normalization" (ICLR 2021, arXiv:2102.07623), section 4: the
layers of batch normalisation, with their statistics.
"""

from collections.abc import Sequence

from fedfish_tff.algorithms import client_state_process
from fedfish_tff.algorithms import partially_local
from fedfish_tff.client_work import local_training
from fedfish_tff.client_work import model_delta
from fedfish_tff.client_work import tensor_selection
from fedfish_tff.models import model_functions

import tensorflow_federated as tff


def build_fed_per(
  model_fn: model_functions.ModelFn,
  client_optimizer_fn: tff.learning.optimizers.Optimizer,
  server_optimizer_fn: tff.learning.optimizers.Optimizer | None = None,
  *,
  local_tensors: Sequence[bool],
  local_statistics: bool = False,
  client_weighting: tff.learning.ClientWeighting = (
    tff.learning.ClientWeighting.NUM_EXAMPLES
  ),
  model_aggregator: tff.aggregators.WeightedAggregationFactory | None = None,
  selector: tensor_selection.Selector | None = None,
  tensor_names: Sequence[str] | None = None,
) -> client_state_process.ClientStateProcess:
  """Builds FedPer (Arivazhagan et al., 2019, Algorithms 1 and 2).

  Client i trains the shared w and its own v_i together, to w_i and its new v_i, in
  steps on batches b; with n_i examples:

    (w_i, v_i) <- (w_i, v_i) - eta grad F_i(w_i, v_i; b), from w_i = w
    w <- w - sum(n_i (w - w_i)) / sum(n_i)

  With no local tensor it is FedAvg. With all tensors local, every client trains
  alone. FedBN (Li et al., 2021, section 4) is FedPer with the tensors of
  `models.batch_normalization_tensors` and `local_statistics`.

  Args:
    model_fn: A functional model, or a function that returns a variable model.
    client_optimizer_fn: The client optimizer, used for all tensors.
    server_optimizer_fn: The optimizer applied to the mean delta of w; SGD with
      rate 1 by default.
    local_tensors: For each trainable tensor, whether it stays at the client, as
      the paper's K_P last layers do.
    local_statistics: Whether statistics of batches stay at the client, too.
    client_weighting: The clients' weights: |D_i| (times local epochs), the
      paper's, or uniform.
    model_aggregator: The aggregator of the deltas of w,
      `tff.aggregators.MeanFactory` by default.
    selector: The selector of the parts of w that a client sends; all by
      default.
    tensor_names: The names of the tensors of w in the metrics of a selector.

  Returns:
    The process of `build_partially_local`. `local_training` trains all tensors.
  """
  return partially_local.build_partially_local(
    model_fn,
    model_delta.build_model_delta_update(
      client_optimizer_fn, client_weighting=client_weighting
    ),
    server_optimizer_fn,
    local_tensors=local_tensors,
    local_statistics=local_statistics,
    build_local_training=lambda: local_training.build_local_training(
      model_fn, client_optimizer_fn
    ),
    model_aggregator=model_aggregator,
    selector=selector,
    tensor_names=tensor_names,
  )
