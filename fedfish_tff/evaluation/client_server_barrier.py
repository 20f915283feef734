# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The client-server barrier: what clients lose when their models are merged.

FedFish (arXiv 2311.10291), equation 5: how far the new global model is, on a
client's own data, from the model that client trained in the round. The formula
is our reading of the paper's text: signed, so that it is positive where the
global model serves the client worse than the client's own,

  mean_i [accuracy(theta_i, D_i) - accuracy(theta_G, D_i)], or
  mean_i [loss(theta_G, D_i) - loss(theta_i, D_i)].

The paper leaves the mean's weights open, so there are both: every client
alike, and by its number of examples.
"""

import collections
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from fedfish_tff.evaluation import client_evaluation
from fedfish_tff.evaluation import client_statistics
from fedfish_tff.models import model_functions

import numpy as np
import tensorflow_federated as tff


def build_client_server_barrier(
  model: model_functions.ModelFn, local_training: tff.Computation
) -> tff.Computation:
  """Builds the evaluation of each client's own and of the new global model.

  Args:
    model: A functional model, or a function that returns a variable model.
    local_training: A process's local training, `(<M, B*> -> M)`. Run from the
      weights the round started with, on the round's batches, it gives the
      clients' own models again.

  Returns:
    A computation of the round's start weights, the global weights after the
    round, and the cohort's data, `(<M@SERVER, M@SERVER,
    {<train=B*, eval=B*>}@CLIENTS> -> {OrderedDict(client=metrics,
    server=metrics, num_examples=int64)}@CLIENTS)`. Both `metrics` are those of
    `client_evaluation.build_local_evaluation` on the `eval` batches: `client`
    of the client's own model, `server` of the global one.
  """
  evaluate = client_evaluation.build_local_evaluation(model)
  weights_type = tff.FederatedType(
    model_functions.weights_type(model), tff.SERVER
  )
  data_type = model_functions.data_type(model)

  @tff.federated_computation(
    weights_type,
    weights_type,
    tff.FederatedType(
      collections.OrderedDict(train=data_type, eval=data_type), tff.CLIENTS
    ),
  )
  def client_server_barrier(start_weights, new_weights, client_data):
    client_weights = tff.federated_map(
      local_training,
      (tff.federated_broadcast(start_weights), client_data.train),
    )
    client = tff.federated_map(evaluate, (client_weights, client_data.eval))
    server = tff.federated_map(
      evaluate, (tff.federated_broadcast(new_weights), client_data.eval)
    )
    return tff.federated_zip(
      collections.OrderedDict(
        client=client, server=server, num_examples=client.num_examples
      )
    )

  return client_server_barrier


def client_barriers(
  per_client: Sequence[Mapping[str, Any]],
  metric: str,
  *,
  higher_is_better: bool,
) -> tuple[np.ndarray, np.ndarray]:
  """Returns the signed barrier of every scored client, with their sizes.

  Args:
    per_client: The result of `build_client_server_barrier`.
    metric: The name of the metric, for example `'accuracy'`.
    higher_is_better: True for accuracies, False for losses.

  Returns:
    Two float64 arrays of shape `[num_scored_clients]`: the barrier, in the
    metric's unit, positive where the global model is worse and NaN where one
    of the two has diverged, and the number of examples it was measured on.

  Raises:
    errors.InputError: If a scored client has no such metric.
  """
  own, sizes = client_statistics.metric_values(
    [client['client'] for client in per_client], metric
  )
  merged, _ = client_statistics.metric_values(
    [client['server'] for client in per_client], metric
  )
  with np.errstate(invalid='ignore'):  # inf - inf
    return (own - merged if higher_is_better else merged - own), sizes


def barrier(
  per_client: Sequence[Mapping[str, Any]],
  metric: str,
  higher_is_better: bool,
  weighting: str = 'uniform',
) -> float:
  """Returns the client-server barrier, equation 5 of FedFish as read above.

  Args:
    per_client: The result of `build_client_server_barrier`.
    metric: The name of the metric, for example `'accuracy'`.
    higher_is_better: True for accuracies, False for losses.
    weighting: `'uniform'` over clients, or by `'examples'`.

  Returns:
    The barrier in the metric's unit; lower is better, positive where the
    global model serves clients worse than their own. Clients whose own model
    has diverged are left out; NaN where none is left.

  Raises:
    errors.InputError: If a scored client has no such metric, or `weighting`
      is neither.
  """
  values, sizes = client_barriers(
    per_client, metric, higher_is_better=higher_is_better
  )
  return client_statistics.weighted_mean(values, sizes, weighting=weighting)
