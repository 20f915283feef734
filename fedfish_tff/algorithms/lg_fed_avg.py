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

  It is `build_fed_per` with the first layers at the clients: `global_tensors`
  says for each trainable tensor whether it is sent and averaged, and the other
  arguments are the same. The paper starts from weights trained by FedAvg, and
  its code takes the unweighted mean (`client_weighting`).
  """
  return fed_per.build_fed_per(
    model_fn,
    client_optimizer_fn,
    server_optimizer_fn,
    local_tensors=[not t for t in global_tensors],
    **arguments,
  )
