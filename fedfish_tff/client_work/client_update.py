# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The common part of all client work: metrics, states, excluded clients.

A client with an update that is not finite, or too large to be weighted, is left
out of the round: its update and its weight are zero, its state stays, its
metrics are those of a client without data, and the process counts it. TFF's own
client work leaves such clients out silently.
"""

from collections.abc import Callable
from typing import Any
from typing import NamedTuple

from fedfish_tff import errors
from fedfish_tff import finite_checks
from fedfish_tff.models import autograph
from fedfish_tff.models import model_functions

import tensorflow as tf
import tensorflow_federated as tff


class Server(NamedTuple):
  """The server's values, all of them or those sent to clients.

  Attributes:
    weights: The model's weights.
    state: The values beside the weights, such as control variates; () for none.
  """

  weights: model_functions.FlatWeights
  state: Any = ()


class ClientUpdate(NamedTuple):
  """The result of one client's round, before it is checked.

  Attributes:
    update: The float tensors for the aggregator, by name: `delta`, the change
      of the model with the sign of a gradient, and any others.
    weight: The client's weight, a float32 scalar.
    metrics: The model's unfinalized metrics over local training.
    also_finite: Further tensors that must be finite for the update to be
      accepted, such as products that the aggregator will form. The update, and
      its product with the weight, must always be finite.
    trained: The weights after local training, for client work around this one.
    own: The client's new state, if clients keep one. It must be finite where
      the update and `also_finite` are.
  """

  update: Any
  weight: tf.Tensor
  metrics: Any
  also_finite: Any = ()
  trained: model_functions.FlatWeights | None = None
  own: Any = ()


class CheckedUpdate(NamedTuple):
  """The result of one client's round.

  Attributes:
    result: The update and its weight for the aggregator.
    metrics: The model's unfinalized metrics.
    excluded: int32, 1 if the client is left out and 0 otherwise.
    own: The client's new state, if any.
  """

  result: tff.learning.templates.ClientResult
  metrics: Any
  excluded: tf.Tensor
  own: Any


# Takes (bound model, what the server sends, the client's own state, its data);
# the state is () if clients keep none. Called inside a `tf.function`.
ClientUpdateFn = Callable[
  [model_functions.BoundModel, Server, Any, tf.data.Dataset], ClientUpdate
]


def client_weight(
  num_examples: tf.Tensor, weighting: tff.learning.ClientWeighting
) -> tf.Tensor:
  """Returns |D_i| or one as float32, by the weighting; 0 without examples."""
  if not isinstance(weighting, tff.learning.ClientWeighting):
    raise errors.InputError(
      'client_weighting must be tff.learning.ClientWeighting.NUM_EXAMPLES or '
      f'UNIFORM, got {weighting!r}.'
    )
  if weighting == tff.learning.ClientWeighting.UNIFORM:
    return tf.cast(num_examples > 0, tf.float32)
  return tf.cast(num_examples, tf.float32)


def leave_out_non_finite(
  result: ClientUpdate, initial_metrics: Any, *, own: Any = ()
) -> CheckedUpdate:
  """Zeroes an update, its weight and its metrics if it is not finite.

  Args:
    result: The client's update, with its weight and metrics.
    initial_metrics: The client's metrics before any batch.
    own: The client's state before the round, if clients keep one.
  """
  # A finite update times its weight can overflow in the sum, which would void
  # the round of all clients. The largest number suffices, since a product of
  # the model's size takes longer. A maximum does not show NaN on every machine,
  # so updates are checked, too.
  products = [
    tf.cast(result.weight, t.dtype) * tf.reduce_max(tf.abs(t))
    for t in tf.nest.flatten(result.update)
    if t.dtype.is_floating and t.shape.num_elements()
  ]
  finite = finite_checks.all_finite(
    (result.update, products, result.also_finite)
  )
  kept = CheckedUpdate(
    tff.learning.templates.ClientResult(result.update, result.weight),
    result.metrics,
    tf.constant(0),
    result.own,
  )
  left_out = CheckedUpdate(
    tf.nest.map_structure(tf.zeros_like, kept.result),
    initial_metrics,
    tf.constant(1),
    own,
  )
  # tf.where would copy the update.
  chosen = tf.cond(
    finite,
    lambda: list(map(tf.identity, tf.nest.flatten(kept))),
    lambda: list(map(tf.identity, tf.nest.flatten(left_out))),
  )
  return tf.nest.pack_sequence_as(kept, chosen)


def build_client_work(
  model: model_functions.ModelFn,
  client_update_fn: ClientUpdateFn,
  sent_type: tff.Type,
  own_type: tff.Type | None = None,
) -> tff.Computation:
  """Builds one client's round.

  Args:
    model: A functional model, or a function that returns a variable model.
    client_update_fn: A graph-time function that computes one client's update.
    sent_type: P, the type of the `Server` that is sent.
    own_type: C, the type of a client's state; None if clients keep none.

  Returns:
    A computation (<P, C, B*> -> CheckedUpdate), not placed, or (<P, B*> ->
    CheckedUpdate) without states. A client that is left out keeps its state.
  """

  def client_work(sent, own, dataset):
    bound = model_functions.bind_model(model)

    @autograph.graph_function
    def run(sent, own, data):
      initial_metrics = bound.unfinalized_metrics(bound.initial_metrics())
      update = autograph.convert(client_update_fn)(bound, sent, own, data)
      tf.nest.assert_same_structure(own, update.own, check_types=False)
      return leave_out_non_finite(update, initial_metrics, own=own)

    return run(sent, own, dataset)

  data_type = model_functions.data_type(model)
  if own_type is None:
    return tff.tensorflow.computation(
      lambda sent, dataset: client_work(sent, (), dataset), sent_type, data_type
    )
  return tff.tensorflow.computation(client_work, sent_type, own_type, data_type)
