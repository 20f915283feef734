# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""LG-FedAvg: local representations under one global model.

Liang, Liu, Liu, Allen, Brent, Auerbach, Salakhutdinov and Morency, "Think
Locally, Act Globally: Federated Learning with Local and Global Representations"
(2020, arXiv:2001.01523), Algorithm 1. It reverses FedPer: the first layers of
the model stay at each client.
"""

from collections.abc import Sequence
from typing import Any

from fedfish_tff.algorithms import client_state_process
from fedfish_tff.algorithms import fed_per
from fedfish_tff.models import model_functions

import tensorflow_federated as tff


def build_lg_fed_avg(
  model_fn: model_functions.ModelFn,
  client_optimizer_fn: tff.learning.optimizers.Optimizer,
  server_optimizer_fn: tff.learning.optimizers.Optimizer | None = None,
  *,
  global_tensors: Sequence[bool],
  **arguments: Any,
) -> client_state_process.ClientStateProcess:
  """Builds LG-FedAvg (Liang et al., 2020, Algorithm 1).

  The equations and the process are those of `build_fed_per`, with the last
  layers as w and a client's own first layers as v_i. The paper starts from
  weights trained by FedAvg, and its code takes the unweighted mean
  (`client_weighting`).

  Args:
    model_fn: A functional model, or a function that returns a variable model.
    client_optimizer_fn: The client optimizer, used for all tensors.
    server_optimizer_fn: The optimizer applied to the mean delta of w; SGD with
      rate 1 by default.
    global_tensors: For each trainable tensor, whether it is sent and averaged.
    **arguments: Further arguments of `build_fed_per`.
  """
  return fed_per.build_fed_per(
    model_fn,
    client_optimizer_fn,
    server_optimizer_fn,
    local_tensors=[not t for t in global_tensors],
    **arguments,
  )
