# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Mime Lite's client work: steps with the server's optimizer state.

Karimireddy et al., NeurIPS 2021 (arXiv:2008.03606), Algorithm 1 without its
control variates. The state of an optimizer, such as a momentum, is the
server's. Clients take their steps with it and do not change it, and send the
gradient of their whole loss at the global weights, with which the server does.

Beside what `tff.learning.algorithms.build_weighted_mime_lite` does, a client
whose delta or gradient is not finite is left out, where TFF's average of the
gradients, and with it the server's state for good, would become NaN; and the
gradient takes one pass over the client's data, whatever the local epochs.
"""

import collections
from collections.abc import Callable
from typing import Any

from fedfish_tff import errors
from fedfish_tff.client_work import client_work_process
from fedfish_tff.client_work import gradient_update
from fedfish_tff.client_work import local_training
from fedfish_tff.client_work import proximal
from fedfish_tff.client_work import weight_decay
from fedfish_tff.models import autograph
from fedfish_tff.models import model_functions

import tensorflow as tf
import tensorflow_federated as tff

# Takes (bound model, flat weights, the client's data, optimizer state).
StatisticsUpdateFn = Callable[
  [
    model_functions.BoundModel,
    model_functions.FlatWeights,
    tf.data.Dataset,
    Any,
  ],
  client_work_process.ClientUpdate,
]


class _FrozenOptimizer(tff.learning.optimizers.Optimizer):
  """Takes all steps of another optimizer with one state."""

  def __init__(
    self, inner: tff.learning.optimizers.Optimizer, state: Any
  ) -> None:
    """Wraps `inner`; without a state, that of its `initialize` is taken."""
    self._inner = inner
    self._state = state

  def initialize(self, specs: Any) -> Any:
    if self._state is None:
      return self._inner.initialize(specs)
    return self._state

  def next(self, state: Any, weights: Any, gradients: Any) -> tuple[Any, Any]:
    _, weights = autograph.convert(self._inner.next)(state, weights, gradients)
    return state, weights


def _specs(weights: model_functions.FlatWeights) -> tuple[tf.TensorSpec, ...]:
  return tuple(tf.TensorSpec(w.shape, w.dtype) for w in weights.trainable)


def build_server_statistics_update(
  optimizer: tff.learning.optimizers.Optimizer,
  *,
  local_epochs: int = 1,
  client_weighting: tff.learning.ClientWeighting = (
    tff.learning.ClientWeighting.NUM_EXAMPLES
  ),
) -> StatisticsUpdateFn:
  """Builds one client's <delta, gradient> update for Mime Lite.

  Args:
    optimizer: The optimizer whose state is the server's. Its state after a
      step must not depend on where the step is taken from: it may know of
      gradients, but not of weights. With weight decay, of
      `build_weight_decay_optimizer`, the gradient is that of the penalised
      loss.
    local_epochs: How many epochs the client's sequence of batches holds, one
      after another; batches that straddle epochs fail. The gradient at the
      global weights is taken over the first of them.
    client_weighting: |D_i| or one. A client without examples weighs nothing.

  Returns:
    A function of (bound model, flat weights, dataset, optimizer state); with
    None as the state, that of the optimizer's `initialize`.

  Raises:
    InputError: If `local_epochs` is below 1, or `optimizer` is proximal.
    TypeError: If `optimizer` is not one of TFF's.
  """
  local_training.check_optimizer(optimizer, 'optimizer')
  if proximal.is_proximal(optimizer):
    raise errors.InputError(
      "Mime Lite's optimizer is proximal, but its state is the server's and "
      'does not know where a client starts; an optimizer whose state holds no '
      'weights was expected.'
    )
  if local_epochs < 1:
    raise errors.InputError(
      f'local_epochs must be 1 or more, got {local_epochs}.'
    )

  def client_update(bound, weights, dataset, optimizer_state):
    initial_metrics = bound.unfinalized_metrics(bound.initial_metrics())
    trained = local_training.train_locally(
      bound,
      _FrozenOptimizer(optimizer, optimizer_state),
      weights,
      dataset,
    )
    # Read before the next pass, which updates a variable model's metrics.
    metrics = bound.unfinalized_metrics(trained.metrics_state)
    batches_per_epoch = local_training.count_batches_of_an_epoch(
      trained.num_batches, local_epochs, method='Mime Lite'
    )
    mean = gradient_update.mean_gradient(
      bound, weights, dataset.take(batches_per_epoch)
    )
    num_examples = local_training.check_whole_epochs(
      mean.num_examples, trained.num_examples, local_epochs, method='Mime Lite'
    )
    weight = client_work_process.client_weight(num_examples, client_weighting)
    weight = tf.where(num_examples > 0, weight, 0.0)
    update = collections.OrderedDict(
      delta=tuple(
        start - end
        for start, end in zip(weights.trainable, trained.weights.trainable)
      ),
      # The server, which steps from zero, cannot add it.
      gradient=weight_decay.add_weight_decay(
        optimizer, weights.trainable, mean.gradient
      ),
    )
    return client_work_process.ClientUpdate(
      update=update,
      weight=weight,
      metrics=metrics,
      initial_metrics=initial_metrics,
      also_finite=client_work_process.weigh_update(update, weight),
    )

  return client_update


def build_server_statistics_work(
  model: model_functions.ModelFn,
  optimizer: tff.learning.optimizers.Optimizer,
  client_update_fn: StatisticsUpdateFn,
) -> tff.learning.templates.ClientWorkProcess:
  """Builds Mime Lite's client work process.

  Args:
    model: A functional model, or a function that returns a variable model.
    optimizer: The optimizer whose state is the server's.
    client_update_fn: Of `build_server_statistics_update`, with that optimizer.

  Returns:
    A process with next of type (<S@SERVER, {ModelWeights}@CLIENTS,
    {B*}@CLIENTS> -> <S@SERVER, {ClientResult}@CLIENTS, M@SERVER>), where M is
    <train=model metrics, excluded_clients=int32>. A round whose mean gradient
    is not finite, such as that of no client, keeps the optimizer's state.
  """
  weights_type = model_functions.weights_type(model)
  data_type = model_functions.data_type(model)
  aggregate_metrics = tff.learning.metrics.sum_then_finalize(
    model_functions.metric_finalizers(model)
  )

  @tff.tensorflow.computation(weights_type)
  def initialize_optimizer(weights):
    return optimizer.initialize(
      _specs(model_functions.flatten_weights(weights))
    )

  state_type = initialize_optimizer.type_signature.result

  @tff.tensorflow.computation(state_type, weights_type, data_type)
  def client_work(optimizer_state, weights, dataset):
    bound = model_functions.bind_model(model)

    @autograph.graph_function
    def run(flat, data, optimizer_state):
      return client_work_process.leave_out_non_finite(
        autograph.convert(client_update_fn)(bound, flat, data, optimizer_state)
      )

    result, metrics, excluded = run(
      model_functions.flatten_weights(weights), dataset, optimizer_state
    )
    return collections.OrderedDict(
      result=tff.learning.templates.ClientResult(
        result.update['delta'], result.update_weight
      ),
      gradient=result.update['gradient'],
      metrics=metrics,
      excluded=excluded,
    )

  client_type = client_work.type_signature.result
  gradient_mean = tff.aggregators.MeanFactory().create(
    client_type.gradient, client_type.result.update_weight
  )

  @tff.tensorflow.computation(state_type, client_type.gradient)
  @autograph.graph_function
  def update_optimizer(state, gradient):
    # The state after a step does not depend on where the step is taken from:
    # `build_server_statistics_update` asks for it.
    updated, _ = autograph.convert(optimizer.next)(
      state, tf.nest.map_structure(tf.zeros_like, gradient), gradient
    )
    finite = local_training.all_finite(gradient)
    return tf.nest.map_structure(
      lambda new, old: tf.where(finite, new, old), updated, state
    )

  initial_weights = model_functions.build_initial_weights(model)

  @tff.federated_computation
  def init_fn():
    return tff.federated_zip(
      collections.OrderedDict(
        optimizer=tff.federated_map(
          initialize_optimizer, tff.federated_eval(initial_weights, tff.SERVER)
        ),
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
    mean_output = gradient_mean.next(
      state.gradient_mean, output.gradient, output.result.update_weight
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
      output.result,
      tff.federated_zip(
        collections.OrderedDict(
          train=aggregate_metrics(output.metrics),
          excluded_clients=tff.federated_sum(output.excluded),
        )
      ),
    )

  return tff.learning.templates.ClientWorkProcess(init_fn, next_fn)
