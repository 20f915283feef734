# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The common part of all client work: mapping, metrics, excluded clients.

A client with an update that is not finite, or too large to be weighted, is left
out of the round: its update and its weight are zero, its metrics are those of a
client without data, and the process counts it. TFF's own client work leaves
such clients out silently.
"""

import collections
from collections.abc import Callable
from typing import Any
from typing import NamedTuple

from fedfish_tff import errors
from fedfish_tff.client_work import local_training
from fedfish_tff.models import autograph
from fedfish_tff.models import model_functions

import tensorflow as tf
import tensorflow_federated as tff


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
    trained: The trainable tensors after local training. Client work that keeps
      some of them at the clients uses it.
    statistics: The other tensors after it, for the same use.
  """

  update: Any
  weight: tf.Tensor
  metrics: Any
  also_finite: Any = ()
  trained: tuple[tf.Tensor, ...] = ()
  statistics: tuple[tf.Tensor, ...] = ()


class CheckedUpdate(NamedTuple):
  """The result of one client's round.

  Attributes:
    result: The update and its weight for the aggregator.
    metrics: The model's unfinalized metrics.
    excluded: int32, 1 if the client is left out and 0 otherwise.
    client_state: The client's new state, if any.
  """

  result: tff.learning.templates.ClientResult
  metrics: Any
  excluded: tf.Tensor
  client_state: Any


# Takes (bound model, flat weights, the client's data, the client work's state
# at the server).
ClientUpdateFn = Callable[
  [
    model_functions.BoundModel,
    model_functions.FlatWeights,
    tf.data.Dataset,
    Any,
  ],
  ClientUpdate,
]

# Takes (bound model, the server's message, the client's state, its data),
# returns (its update, its new state).
ClientStateUpdateFn = Callable[
  [model_functions.BoundModel, Any, Any, tf.data.Dataset],
  tuple[ClientUpdate, Any],
]


class ServerState(NamedTuple):
  """The server's state of client work, which is sent with the weights.

  Attributes:
    initialize: A graph-time function that returns the first round's state.
    advance: A graph-time function from a round's state to the next one's.
    is_hparams: Whether the state is the hyper-parameters of `get_hparams` and
      `set_hparams`.
  """

  initialize: Callable[[], Any]
  advance: Callable[[Any], Any] = lambda state: state
  is_hparams: bool = False


ROUND_NUMBER = ServerState(lambda: tf.constant(1), lambda number: number + 1)


class ClientWork(tff.learning.templates.ClientWorkProcess):
  """A client work process that can also check one client's update.

  Attributes:
    build_update_is_finite: A function that returns a computation (<ModelWeights,
      B*> -> bool), unplaced: whether the client's update would be accepted, with
      the server's state of the first round.
  """

  def __init__(
    self,
    initialize_fn: tff.Computation,
    next_fn: tff.Computation,
    *,
    build_update_is_finite: Callable[[], tff.Computation],
    **hparams_fns: tff.Computation,
  ):
    super().__init__(initialize_fn, next_fn, **hparams_fns)
    self.build_update_is_finite = build_update_is_finite


def client_weight(
  num_examples: tf.Tensor, weighting: tff.learning.ClientWeighting
) -> tf.Tensor:
  """Returns |D_i| or one as float32, by the weighting; 0 without examples.

  Args:
    num_examples: |D_i|.
    weighting: The weighting.

  Raises:
    errors.InputError: If the weighting is none, such as a string.
  """
  if not isinstance(weighting, tff.learning.ClientWeighting):
    raise errors.InputError(
      'client_weighting must be tff.learning.ClientWeighting.NUM_EXAMPLES or '
      f'UNIFORM, got {weighting!r}.'
    )
  if weighting == tff.learning.ClientWeighting.UNIFORM:
    return tf.cast(num_examples > 0, tf.float32)
  return tf.cast(num_examples, tf.float32)


def leave_out_non_finite(
  result: ClientUpdate,
  initial_metrics: Any,
  *,
  new_state: Any = (),
  old_state: Any = (),
) -> CheckedUpdate:
  """Zeroes an update, its weight and its metrics if it is not finite.

  Args:
    result: The client's update.
    initial_metrics: The client's metrics before any batch.
    new_state: The client's state after the round, if clients keep one.
    old_state: The client's state before the round.
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
  finite = local_training.all_finite(
    (result.update, products, result.also_finite)
  )
  kept = CheckedUpdate(
    tff.learning.templates.ClientResult(result.update, result.weight),
    result.metrics,
    tf.constant(0),
    new_state,
  )
  left_out = CheckedUpdate(
    tf.nest.map_structure(tf.zeros_like, kept.result),
    initial_metrics,
    tf.constant(1),
    old_state,
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
  server_state: ServerState = ROUND_NUMBER,
) -> ClientWork:
  """Builds a client work process around one client's update.

  Args:
    model: A functional model, or a function that returns a variable model.
    client_update_fn: A graph-time function that computes one client's update.
      It is called inside a `tf.function`.
    server_state: S, the last argument of `client_update_fn`. By default it is
      the int32 number of the round, for random draws.

  Returns:
    A process with next of type (<S@SERVER, {ModelWeights}@CLIENTS,
    {B*}@CLIENTS> -> <S@SERVER, {ClientResult}@CLIENTS, M@SERVER>), where M is
    <train=model metrics, excluded_clients=int32>.
  """
  initialize_state = tff.tensorflow.computation(server_state.initialize)
  state_type = initialize_state.type_signature.result
  client_work = build_client_computation(model, client_update_fn, state_type)
  weights_type, data_type = client_work.type_signature.parameter[1:]
  aggregate_metrics = tff.learning.metrics.sum_then_finalize(
    model_functions.metric_finalizers(model)
  )
  advance = tff.tensorflow.computation(server_state.advance, state_type)

  @tff.federated_computation
  def init_fn():
    return tff.federated_eval(initialize_state, tff.SERVER)

  @tff.federated_computation(
    init_fn.type_signature.result,
    tff.FederatedType(weights_type, tff.CLIENTS),
    tff.FederatedType(data_type, tff.CLIENTS),
  )
  def next_fn(state, weights, client_data):
    output = tff.federated_map(
      client_work, (tff.federated_broadcast(state), weights, client_data)
    )
    return tff.templates.MeasuredProcessOutput(
      tff.federated_map(advance, state),
      output.result,
      tff.federated_zip(
        collections.OrderedDict(
          train=aggregate_metrics(output.metrics),
          excluded_clients=tff.federated_sum(output.excluded),
        )
      ),
    )

  hparams_fns = {}
  if server_state.is_hparams:
    hparams_fns = {
      'get_hparams_fn': tff.tensorflow.computation(lambda s: s, state_type),
      'set_hparams_fn': tff.tensorflow.computation(
        lambda s, hparams: hparams, state_type, state_type
      ),
    }
  return ClientWork(
    init_fn,
    next_fn,
    build_update_is_finite=lambda: build_update_is_finite(
      client_work, server_state.initialize
    ),
    **hparams_fns,
  )


def build_client_computation(
  model: model_functions.ModelFn,
  client_update_fn: ClientUpdateFn,
  state_type: tff.Type,
) -> tff.Computation:
  """Builds one client's round.

  Args:
    model: See `build_client_work`.
    client_update_fn: See `build_client_work`.
    state_type: S, the type of the server's state.

  Returns:
    A computation (<S, ModelWeights, B*> -> CheckedUpdate), not placed.
  """

  @tff.tensorflow.computation(
    state_type,
    model_functions.weights_type(model),
    model_functions.data_type(model),
  )
  def client_work(state, weights, dataset):
    bound = model_functions.bind_model(model)

    @autograph.graph_function
    def run(flat, data, state):
      initial_metrics = bound.unfinalized_metrics(bound.initial_metrics())
      return leave_out_non_finite(
        autograph.convert(client_update_fn)(bound, flat, data, state),
        initial_metrics,
      )

    return run(model_functions.flatten_weights(weights), dataset, state)

  return client_work


def build_client_state_work(
  model: model_functions.ModelFn,
  client_update_fn: ClientStateUpdateFn,
  *,
  model_type: tff.Type,
  client_type: tff.Type,
) -> tff.Computation:
  """Builds one client's round in a method with client states.

  Args:
    model: A functional model, or a function that returns a variable model.
    client_update_fn: A graph-time function that computes one client's update
      and new state. It is called inside a `tf.function`. The state must be
      finite where the update and its `also_finite` are.
    model_type: M, the type of the server's message.
    client_type: C, the type of a client's state.

  Returns:
    A computation (<M, C, B*> -> CheckedUpdate), not placed. A client that is left
    out keeps its state.
  """

  @tff.tensorflow.computation(
    model_type, client_type, model_functions.data_type(model)
  )
  def client_work(sent, client_state, dataset):
    bound = model_functions.bind_model(model)

    @autograph.graph_function
    def run(sent, client_state, data):
      initial_metrics = bound.unfinalized_metrics(bound.initial_metrics())
      update, new_state = autograph.convert(client_update_fn)(
        bound, sent, client_state, data
      )
      tf.nest.assert_same_structure(client_state, new_state, check_types=False)
      return leave_out_non_finite(
        update, initial_metrics, new_state=new_state, old_state=client_state
      )

    return run(sent, client_state, dataset)

  return client_work


def build_update_is_finite(
  client_work: tff.Computation, initialize: Callable[[], Any]
) -> tff.Computation:
  """Builds the check of one client's update as a separate computation.

  Args:
    client_work: The result of `build_client_computation`.
    initialize: See `ServerState`.

  Returns:
    A computation of type (<ModelWeights, B*> -> bool), unplaced.
  """

  @tff.tensorflow.computation(*client_work.type_signature.parameter[1:])
  def update_is_finite(weights, dataset):
    result = client_work(initialize(), weights, dataset)
    return tf.equal(result.excluded, 0)

  return update_is_finite
