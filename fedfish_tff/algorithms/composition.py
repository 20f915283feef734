# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What all `build_*` of this package do last: compose with TFF's templates."""

import collections
from collections.abc import Callable
from typing import Any

from fedfish_tff.algorithms import process as process_lib
from fedfish_tff.client_work import local_training as local_training_lib
from fedfish_tff.models import autograph
from fedfish_tff.models import model_functions

import tensorflow as tf
import tensorflow_federated as tff

# Takes (optimizer state, update), returns (whether to reject, measurements).
RejectFn = Callable[
  [Any, Any], tuple[tf.Tensor, collections.OrderedDict[str, tf.Tensor]]
]

FinalizerWrapper = Callable[
  [tff.learning.templates.FinalizerProcess],
  tff.learning.templates.FinalizerProcess,
]


def reject_empty_update(
  state: Any, update: Any
) -> tuple[tf.Tensor, collections.OrderedDict[str, tf.Tensor]]:
  """Rejects updates that are not finite, and those that are 0 everywhere.

  Where an aggregator returns 0 for want of information, nobody contributed to
  such an update; a server optimizer with momentum would move the weights all
  the same.
  """
  rejected, measurements = tff.learning.templates.reject_non_finite_update(
    state, update
  )
  empty = tf.reduce_all(
    [tf.reduce_all(tf.equal(t, 0)) for t in tf.nest.flatten(update)]
  )
  measurements['update_empty'] = tf.cast(empty, tf.int32)
  return tf.logical_or(rejected, empty), measurements


def compose_optimizer_step(
  server_optimizer_fn: tff.learning.optimizers.Optimizer,
  weights_type: tff.Type,
  should_reject_update: RejectFn = tff.learning.templates.reject_non_finite_update,
) -> tff.learning.templates.FinalizerProcess:
  """Makes a finalizer of a server optimizer.

  Args:
    server_optimizer_fn: Applied to the aggregated update.
    weights_type: Of the model's `ModelWeights`.
    should_reject_update: See `compose_process`.

  Raises:
    TypeError: If `server_optimizer_fn` is not one of TFF's optimizers.
  """
  local_training_lib.check_optimizer(server_optimizer_fn, 'server_optimizer_fn')
  return tff.learning.templates.build_apply_optimizer_finalizer(
    autograph.without_autograph(server_optimizer_fn),
    weights_type,
    tf.autograph.experimental.do_not_convert(should_reject_update),
  )


def compose_process(
  model: model_functions.ModelFn,
  client_work: tff.learning.templates.ClientWorkProcess,
  model_aggregator: tff.aggregators.WeightedAggregationFactory,
  server_optimizer_fn: tff.learning.optimizers.Optimizer,
  *,
  local_training: tff.Computation,
  build_update_is_finite: Callable[[], tff.Computation],
  should_reject_update: RejectFn = tff.learning.templates.reject_non_finite_update,
  wrap_finalizer: FinalizerWrapper | None = None,
  extra_passes: float = 0,
) -> process_lib.FederatedProcess:
  """Composes client work, aggregator and server optimizer to a process.

  Args:
    model: A functional model, or a function that returns a variable model.
    client_work: What clients compute.
    model_aggregator: Combines the clients' updates to an update of the
      trainable weights, with the sign of a gradient.
    server_optimizer_fn: Applies that update to the global weights.
    local_training: See `FederatedProcess`.
    build_update_is_finite: Returns `FederatedProcess.update_is_finite`.
    should_reject_update: As in
      `tff.learning.templates.build_apply_optimizer_finalizer`: a round whose
      update it rejects keeps the weights and the server optimizer's state. By
      default, updates that are not finite, such as the mean of no client.
    wrap_finalizer: Applied to the finalizer, for an aggregator whose result is
      more than an update; by default it stays as it is.
    extra_passes: See `FederatedProcess`.

  Returns:
    The process.

  Raises:
    TypeError: If the server optimizer is not a
      `tff.learning.optimizers.Optimizer`, or parts do not fit.
  """
  initial_weights = model_functions.build_initial_weights(model)
  weights_type = initial_weights.type_signature.result
  finalizer = compose_optimizer_step(
    server_optimizer_fn, weights_type, should_reject_update
  )
  if wrap_finalizer is not None:
    finalizer = wrap_finalizer(finalizer)
  client_result_type = client_work.next.type_signature.result.result.member
  composed = tff.learning.templates.compose_learning_process(
    initial_weights,
    tff.learning.templates.build_broadcast_process(weights_type),
    client_work,
    model_aggregator.create(
      client_result_type.update, client_result_type.update_weight
    ),
    finalizer,
  )
  return process_lib.FederatedProcess(
    composed,
    local_training=local_training,
    build_update_is_finite=build_update_is_finite,
    extra_passes=extra_passes,
  )
