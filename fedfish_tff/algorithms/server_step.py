# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The server's step, from the aggregate to the next model."""

import collections
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import NamedTuple

from fedfish_tff import finite_checks
from fedfish_tff.client_work import client_update
from fedfish_tff.client_work import local_training
from fedfish_tff.models import autograph
from fedfish_tff.models import model_functions

import tensorflow as tf
import tensorflow_federated as tff

# Maps (optimizer state, update) to (whether to reject it, measurements).
RejectFn = Callable[
  [Any, Any], tuple[tf.Tensor, collections.OrderedDict[str, tf.Tensor]]
]


class OptimizerStep(NamedTuple):
  """A step of the server optimizer.

  Attributes:
    trainable: The tensors after the step.
    state: The optimizer's state after the step.
    rejected: Whether the update was rejected. Tensors and state are then
      unchanged.
    measurements: The measurements, scalars by name.
  """

  trainable: tuple[tf.Tensor, ...]
  state: Any
  rejected: tf.Tensor
  measurements: collections.OrderedDict[str, tf.Tensor]


# Maps an update, with the shapes of the stepped tensors, to the step.
TakeStep = Callable[[Any], OptimizerStep]

# Maps the server's values to the part that is sent.
SelectFn = Callable[[client_update.Server], client_update.Server]

# Maps (a function that takes the optimizer's step, the server's values, the
# aggregate) to (the step taken, the next values).
ServerStepFn = Callable[
  [TakeStep, client_update.Server, Any],
  tuple[OptimizerStep, client_update.Server],
]


def flatten_server(server: Any) -> client_update.Server:
  """Returns the server's values with flat weights."""
  return client_update.Server(
    model_functions.flatten_weights(server.weights), server.state
  )


# The aggregator where a builder's argument gives none.
_PLAIN_MEAN = tff.aggregators.MeanFactory()


def weighted_factory(
  model_aggregator: tff.aggregators.WeightedAggregationFactory | None,
) -> tff.aggregators.WeightedAggregationFactory:
  """Returns the aggregator that a builder is given, by default the mean.

  Any but a weighted factory raises TypeError.
  """
  factory = model_aggregator or _PLAIN_MEAN
  if not isinstance(factory, tff.aggregators.WeightedAggregationFactory):
    raise TypeError(
      'model_aggregator must be a tff.aggregators.WeightedAggregationFactory, '
      'which tff.aggregators.as_weighted_aggregator makes of an unweighted one '
      f'that ignores the weights, got {factory!r:.100}.'
    )
  return factory


def step_weights(
  take_step: TakeStep, server: client_update.Server, aggregate: Any
) -> tuple[OptimizerStep, client_update.Server]:
  """Takes the aggregate <delta> as a gradient of the trainable weights."""
  if not isinstance(aggregate, Mapping) or list(aggregate) != ['delta']:
    raise TypeError(
      'The aggregate must make an update <delta> of the weights, got '
      f'{aggregate}.'
    )
  step = take_step(aggregate['delta'])
  return step, with_trainable(server, step.trainable)


def with_trainable(
  server: client_update.Server, trainable: Sequence[tf.Tensor]
) -> client_update.Server:
  """Returns the server's values with other trainable weights."""
  return server._replace(
    weights=server.weights._replace(trainable=tuple(trainable))
  )


def keep_unless_finite(judged: Any, new: Any, old: Any) -> Any:
  """Returns the new state if all judged tensors are finite, else the old one.

  The mean of no client is not finite, so a round without a client leaves the
  server's state as it was.

  Args:
    judged: A nest of tensors, such as the aggregate that the new state is of.
    new: The state after the step.
    old: The old state, a nest of as many tensors. The result has its structure.
  """
  is_finite = finite_checks.all_finite(judged)
  kept = [
    tf.where(is_finite, n, o)
    for n, o in zip(tf.nest.flatten(new), tf.nest.flatten(old), strict=True)
  ]
  return tf.nest.pack_sequence_as(old, kept)


def first_round(unused_weights: model_functions.FlatWeights) -> tf.Tensor:
  """Returns the number of the first round, int32, as the server's state."""
  return tf.constant(1)


def count_rounds(server_step: ServerStepFn = step_weights) -> ServerStepFn:
  """Returns a server step that also counts rounds, from `first_round` on."""

  def counting_step(take_step, server, aggregate):
    step, server = server_step(take_step, server, aggregate)
    return step, server._replace(state=server.state + 1)

  return counting_step


def keep_unsent(
  take_step: TakeStep, server: client_update.Server, aggregate: Any
) -> tuple[OptimizerStep, client_update.Server]:
  """Takes a step of <delta, any_sent> that keeps weights no client has sent.

  A server optimizer with momentum, or one that scales all steps together, would
  move these weights although their update is 0.
  """
  step = take_step(aggregate['delta'])
  kept = [
    tf.where(s, new, old)
    for s, new, old in zip(
      tf.nest.flatten(aggregate['any_sent']),
      step.trainable,
      server.weights.trainable,
    )
  ]
  return step, with_trainable(server, kept)


def reject_empty_update(
  state: Any, update: Any
) -> tuple[tf.Tensor, collections.OrderedDict[str, tf.Tensor]]:
  """Rejects updates that are not finite, and updates that are 0 everywhere.

  An aggregator returns 0 where no client contributes information. A server
  optimizer with momentum would move the weights even then.
  """
  rejected, measurements = tff.learning.templates.reject_non_finite_update(
    state, update
  )
  empty = tf.reduce_all(
    [tf.reduce_all(tf.equal(t, 0)) for t in tf.nest.flatten(update)]
  )
  measurements['update_empty'] = tf.cast(empty, tf.int32)
  return tf.logical_or(rejected, empty), measurements


def compose_server_step(
  server_optimizer_fn: tff.learning.optimizers.Optimizer,
  server_type: tff.Type,
  aggregate_type: tff.Type,
  server_step: ServerStepFn = step_weights,
  *,
  should_reject_update: RejectFn = tff.learning.templates.reject_non_finite_update,
  select_sent: SelectFn = lambda server: server,
) -> tff.learning.templates.FinalizerProcess:
  """Composes the server's step as a process with the optimizer's state.

  Args:
    server_optimizer_fn: The server optimizer, which steps the trainable weights
      that are sent.
    server_type: M, the type of the server's values, unplaced, with
      `tff.learning.models.ModelWeights`.
    aggregate_type: The type of the aggregator's result, unplaced.
    server_step: A function from the server's values and the aggregate to the
      next values.
    should_reject_update: The rule that leaves weights and optimizer unchanged,
      by default for updates that are not finite.
    select_sent: A function from the server's values to the sent ones.

  Returns:
    A process with next of type (<state, M, aggregate>@SERVER -> <state,
    result=M, measurements>@SERVER).
  """
  local_training.check_optimizer(server_optimizer_fn, 'server_optimizer_fn')

  def get_stepped(server):
    return select_sent(server).weights.trainable

  stepped_type = tff.tensorflow.computation(
    lambda server: get_stepped(flatten_server(server)), server_type
  ).type_signature.result

  @tff.tensorflow.computation
  def initialize():
    return server_optimizer_fn.initialize(
      tff.types.type_to_tf_tensor_specs(stepped_type)
    )

  state_type = initialize.type_signature.result

  @tff.tensorflow.computation(state_type, server_type, aggregate_type)
  @autograph.graph_function
  def next_server(state, packed, aggregate):
    server = flatten_server(packed)
    before = get_stepped(server)

    def take_step(update):
      update = tuple(tf.nest.flatten(update))
      if [u.shape for u in update] != [t.shape for t in before]:
        raise TypeError(
          f'The aggregate must make an update of {stepped_type}, got {update}.'
        )
      after = autograph.convert(server_optimizer_fn.next)(state, before, update)
      rejected, measurements = autograph.convert(should_reject_update)(
        after[0], update
      )
      kept = tf.cond(
        rejected,
        lambda: list(map(tf.identity, tf.nest.flatten((state, before)))),
        lambda: list(map(tf.identity, tf.nest.flatten(after))),
      )
      new_state, trainable = tf.nest.pack_sequence_as(after, kept)
      return OptimizerStep(trainable, new_state, rejected, measurements)

    step, server = server_step(take_step, server, aggregate)
    weights = model_functions.weights_like(packed.weights, server.weights)
    return step.state, server._replace(weights=weights), step.measurements

  @tff.federated_computation
  def init_fn():
    return tff.federated_eval(initialize, tff.SERVER)

  @tff.federated_computation(
    *(
      tff.FederatedType(t, tff.SERVER)
      for t in (state_type, server_type, aggregate_type)
    )
  )
  def next_fn(state, server, aggregate):
    return tff.templates.MeasuredProcessOutput(
      *tff.federated_map(next_server, (state, server, aggregate))
    )

  get_hparams = tff.tensorflow.computation(
    server_optimizer_fn.get_hparams, state_type
  )
  return tff.learning.templates.FinalizerProcess(
    init_fn,
    next_fn,
    get_hparams_fn=get_hparams,
    set_hparams_fn=tff.tensorflow.computation(
      server_optimizer_fn.set_hparams,
      state_type,
      get_hparams.type_signature.result,
    ),
  )
