# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What all `build_*` of this package do last: compose with TFF's templates."""

from fedfish_tff.algorithms import process as process_lib
from fedfish_tff.models import model_functions

import tensorflow_federated as tff


def compose_process(
  model: model_functions.ModelFn,
  client_work: tff.learning.templates.ClientWorkProcess,
  model_aggregator: tff.aggregators.WeightedAggregationFactory,
  server_optimizer_fn: tff.learning.optimizers.Optimizer,
  *,
  local_training: tff.Computation,
  update_is_finite: tff.Computation,
  model_distributor: tff.learning.templates.DistributionProcess | None = None,
  extra_passes: int = 0,
) -> process_lib.FederatedProcess:
  """Composes client work, aggregator and server optimizer to a process.

  Args:
    model: A functional model, or a function that returns a variable model.
    client_work: What clients compute.
    model_aggregator: Combines the clients' updates to an update of the
      trainable weights, with the sign of a gradient.
    server_optimizer_fn: Applies that update to the global weights.
    local_training: See `FederatedProcess`.
    update_is_finite: See `FederatedProcess`.
    model_distributor: Sends the weights to the clients; a plain broadcast by
      default.
    extra_passes: See `FederatedProcess`.

  Returns:
    The process.
  """
  initial_weights = model_functions.build_initial_weights(model)
  weights_type = initial_weights.type_signature.result
  client_result_type = client_work.next.type_signature.result.result.member
  composed = tff.learning.templates.compose_learning_process(
    initial_weights,
    model_distributor
    or tff.learning.templates.build_broadcast_process(weights_type),
    client_work,
    model_aggregator.create(
      client_result_type.update, client_result_type.update_weight
    ),
    tff.learning.templates.build_apply_optimizer_finalizer(
      server_optimizer_fn, weights_type
    ),
  )
  return process_lib.FederatedProcess(
    composed,
    local_training=local_training,
    update_is_finite=update_is_finite,
    extra_passes=extra_passes,
  )
