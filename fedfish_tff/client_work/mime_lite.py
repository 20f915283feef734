# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Mime Lite's client work: steps with the server's optimizer state.

Karimireddy et al., NeurIPS 2021 (arXiv:2008.03606), Algorithm 1 without its
control variates. The state of an optimizer, such as a momentum, is the
server's. Clients take their steps with it and leave it unchanged. They send the
gradient of their whole loss at the global weights, with which the server
updates it.

There are two differences from
`tff.learning.algorithms.build_weighted_mime_lite`. A client with a delta or
gradient that is not finite is left out, where TFF's average of gradients would
become NaN, and with it the server's state for good. And the gradient takes one
pass over the client's data, whatever the local epochs.
"""

import collections
from typing import Any

from fedfish_tff import errors
from fedfish_tff.client_work import client_work_process
from fedfish_tff.client_work import gradient_transforms
from fedfish_tff.client_work import gradient_update
from fedfish_tff.client_work import local_training
from fedfish_tff.client_work import model_delta
from fedfish_tff.client_work import proximal
from fedfish_tff.models import autograph
from fedfish_tff.models import model_functions

import tensorflow as tf
import tensorflow_federated as tff


class _FrozenOptimizer(gradient_transforms.WrappedOptimizer):
  """Takes all steps of another optimizer with one state."""

  def __init__(
    self, inner: tff.learning.optimizers.Optimizer, state: Any
  ) -> None:
    super().__init__(inner)
    self._state = state

  def initialize(self, specs: Any) -> Any:
    return self._state or super().initialize(specs)

  def next(self, state: Any, weights: Any, gradients: Any) -> tuple[Any, Any]:
    return state, super().next(state, weights, gradients)[1]


def build_server_statistics_update(
  optimizer: tff.learning.optimizers.Optimizer,
  *,
  local_epochs: int = 1,
  client_weighting: tff.learning.ClientWeighting = (
    tff.learning.ClientWeighting.NUM_EXAMPLES
  ),
) -> client_work_process.ClientUpdateFn:
  """Builds one client's <delta, gradient> update for Mime Lite.

  Args:
    optimizer: The optimizer. Its state, which is the server's, must not depend
      on the weights, only on the gradients. With weight decay, of
      `build_weight_decay_optimizer`, the gradient is that of the penalised
      loss.
    local_epochs: The number of epochs in the client's sequence of batches, one
      after another; batches that straddle epochs fail. The gradient at the
      global weights is taken over the first epoch.
    client_weighting: The client's weight: |D_i| or one. A client without
      examples has weight 0.

  Returns:
    A function with the state of the optimizer as its last argument; for (), it
    uses the state of the optimizer's `initialize`.

  Raises:
    InputError: If `local_epochs` is below 1, or `optimizer` is proximal.
    TypeError: If `optimizer` is not one of TFF's.
  """
  local_training.check_optimizer(optimizer, 'optimizer')
  if proximal.is_proximal(optimizer):
    raise errors.InputError(
      "Mime Lite's optimizer must have a state without weights, since the "
      "state is the server's, got a proximal one, which starts from a client's "
      'weights.'
    )
  if local_epochs < 1:
    raise errors.InputError(
      f'local_epochs must be 1 or more, got {local_epochs}.'
    )

  def client_update(bound, weights, dataset, optimizer_state):
    trained = local_training.train_locally(
      bound, _FrozenOptimizer(optimizer, optimizer_state), weights, dataset
    )
    update = model_delta.delta_update(bound, weights, trained, client_weighting)
    batches_per_epoch = local_training.count_batches_of_an_epoch(
      trained.num_batches, local_epochs, method='Mime Lite'
    )
    mean = gradient_update.mean_gradient(
      bound, weights, dataset.take(batches_per_epoch)
    )
    num_examples = local_training.check_whole_epochs(
      mean.num_examples, trained.num_examples, local_epochs, method='Mime Lite'
    )
    return update._replace(
      update=collections.OrderedDict(
        update.update,
        # The server steps from zero weights, so it cannot add weight decay.
        gradient=gradient_transforms.gradients_of_steps(
          optimizer, weights.trainable, mean.gradient
        ),
      ),
      weight=client_work_process.client_weight(num_examples, client_weighting),
    )

  return client_update


def build_server_statistics_work(
  model: model_functions.ModelFn,
  optimizer: tff.learning.optimizers.Optimizer,
  client_update_fn: client_work_process.ClientUpdateFn,
) -> client_work_process.ClientWork:
  """Builds Mime Lite's client work process.

  Args:
    model: A functional model, or a function that returns a variable model.
    optimizer: The optimizer. Its state is the server's.
    client_update_fn: The result of `build_server_statistics_update` with that
      optimizer.

  Returns:
    A process with next of type (<S@SERVER, {ModelWeights}@CLIENTS,
    {B*}@CLIENTS> -> <S@SERVER, {ClientResult}@CLIENTS, M@SERVER>), where M is
    <train=model metrics, excluded_clients=int32>. A round with a mean gradient
    that is not finite, such as that of no client, keeps the optimizer's state.
  """
  aggregate_metrics = tff.learning.metrics.sum_then_finalize(
    model_functions.metric_finalizers(model)
  )
  specs = tuple(
    tf.TensorSpec(t.shape, t.dtype)
    for t in tff.structure.flatten(
      model_functions.weights_type(model).trainable
    )
  )

  @tff.tensorflow.computation
  def initialize_optimizer():
    return optimizer.initialize(specs)

  state_type = initialize_optimizer.type_signature.result
  client_work = client_work_process.build_client_computation(
    model, client_update_fn, state_type
  )
  weights_type, data_type = client_work.type_signature.parameter[1:]
  update_type, weight_type = client_work.type_signature.result.result
  gradient_mean = tff.aggregators.MeanFactory().create(
    update_type['gradient'], weight_type
  )

  @tff.tensorflow.computation(state_type, update_type['gradient'])
  @autograph.graph_function
  def update_optimizer(state, gradient):
    # `build_server_statistics_update` requires that the state after a step does
    # not depend on the weights.
    updated, _ = autograph.convert(optimizer.next)(
      state, tf.nest.map_structure(tf.zeros_like, gradient), gradient
    )
    finite = local_training.all_finite(gradient)
    return tf.nest.map_structure(
      lambda new, old: tf.where(finite, new, old), updated, state
    )

  @tff.federated_computation
  def init_fn():
    return tff.federated_zip(
      collections.OrderedDict(
        optimizer=tff.federated_eval(initialize_optimizer, tff.SERVER),
        gradient_mean=gradient_mean.initialize(),
      )
    )

  @tff.federated_computation(
    init_fn.type_signature.result,
    tff.FederatedType(weights_type, tff.CLIENTS),
    tff.FederatedType(data_type, tff.CLIENTS),
  )
  def next_fn(state, weights, client_data):
    output = tff.federated_map(
      client_work,
      (tff.federated_broadcast(state.optimizer), weights, client_data),
    )
    result = output.result
    mean_output = gradient_mean.next(
      state.gradient_mean, result.update['gradient'], result.update_weight
    )
    return tff.templates.MeasuredProcessOutput(
      tff.federated_zip(
        collections.OrderedDict(
          optimizer=tff.federated_map(
            update_optimizer, (state.optimizer, mean_output.result)
          ),
          gradient_mean=mean_output.state,
        )
      ),
      tff.federated_zip(
        tff.learning.templates.ClientResult(
          result.update['delta'], result.update_weight
        )
      ),
      tff.federated_zip(
        collections.OrderedDict(
          train=aggregate_metrics(output.metrics),
          excluded_clients=tff.federated_sum(output.excluded),
        )
      ),
    )

  return client_work_process.ClientWork(
    init_fn,
    next_fn,
    build_update_is_finite=lambda: client_work_process.build_update_is_finite(
      model, client_update_fn, client_work_process.NO_STATE
    ),
  )
