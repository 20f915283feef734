# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Composition of stateless methods from TFF's templates."""

from fedfish_tff.algorithms import process as process_lib
from fedfish_tff.algorithms import server_step as server_step_lib
from fedfish_tff.client_work import client_work_process
from fedfish_tff.models import model_functions

import tensorflow_federated as tff


def compose_process(
  model: model_functions.ModelFn,
  client_work: client_work_process.ClientWork,
  model_aggregator: tff.aggregators.WeightedAggregationFactory | None,
  server_optimizer_fn: tff.learning.optimizers.Optimizer | None,
  *,
  local_training: tff.Computation,
  server_step: server_step_lib.ServerStepFn = server_step_lib.step_weights,
  should_reject_update: server_step_lib.RejectFn = (
    tff.learning.templates.reject_non_finite_update
  ),
  extra_passes: float = 0,
) -> process_lib.FederatedProcess:
  """Composes client work, aggregator and server optimizer into a process.

  Args:
    model: A functional model, or a function that returns a variable model.
    client_work: The clients' computation.
    model_aggregator: The aggregator of the clients' updates,
      `tff.aggregators.MeanFactory` by default.
    server_optimizer_fn: The server optimizer. The default, SGD with rate 1,
      takes an update as it is.
    local_training: See `FederatedProcess`.
    server_step: A graph-time function from the weights and the aggregator's
      result to the next weights. By default the result is an update of the
      trainable weights, with the sign of a gradient.
    should_reject_update: The same as in
      `tff.learning.templates.build_apply_optimizer_finalizer`: a rejected
      update leaves the weights and the server optimizer's state unchanged. By
      default it rejects updates that are not finite, such as the mean of no
      client.
    extra_passes: See `FederatedProcess`.

  Returns:
    The process.

  Raises:
    TypeError: If the server optimizer is not a
      `tff.learning.optimizers.Optimizer`, or parts do not fit.
  """
  initial_weights = model_functions.build_initial_weights(model)
  weights_type = initial_weights.type_signature.result
  result_type = client_work.next.type_signature.result.result.member
  aggregator = server_step_lib.weighted_factory(model_aggregator).create(
    result_type.update, result_type.update_weight
  )
  composed = tff.learning.templates.compose_learning_process(
    initial_weights,
    tff.learning.templates.build_broadcast_process(weights_type),
    client_work,
    aggregator,
    server_step_lib.compose_server_step(
      server_optimizer_fn or tff.learning.optimizers.build_sgdm(1.0),
      weights_type,
      aggregator.next.type_signature.result.result.member,
      server_step,
      should_reject_update=should_reject_update,
    ),
  )
  return process_lib.FederatedProcess(
    composed,
    local_training=local_training,
    build_update_is_finite=client_work.build_update_is_finite,
    extra_passes=extra_passes,
  )
