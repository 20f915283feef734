# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""One client's local training, in client work and by itself.

Every algorithm exports its local training as a computation (weights, data) ->
weights. The client-server barrier, personalisation and the diagnosis of a
diverged client run it outside of a round.
"""

import abc
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
from typing import Any
from typing import NamedTuple

from fedfish_tff import parameters
from fedfish_tff.models import autograph
from fedfish_tff.models import model_functions
from fedfish_tff.models import model_partition

import tensorflow as tf
import tensorflow_federated as tff


class TrainingResult(NamedTuple):
  """The result of one client's local training.

  Attributes:
    weights: The weights after the last batch.
    metrics_state: The metrics over all batches.
    num_examples: The number of examples over all epochs, an int64 scalar.
    num_batches: The number of batches over all epochs, an int64 scalar.
  """

  weights: model_functions.FlatWeights
  metrics_state: Any
  num_examples: tf.Tensor
  num_batches: tf.Tensor


# Takes (bound model, start weights, the client's data); called inside a
# `tf.function`.
TrainFn = Callable[
  [model_functions.BoundModel, model_functions.FlatWeights, tf.data.Dataset],
  TrainingResult,
]


# Takes (weights, state, metrics' state, batch), and returns the result of
# `training_gradients`, the trainable tensors after the step and the next state.
StepFn = Callable[
  [model_functions.FlatWeights, Any, Any, Any],
  tuple[model_functions.TrainingGradients, tuple[tf.Tensor, ...], Any],
]


class StartingOptimizer(tff.learning.optimizers.Optimizer):
  """An optimizer whose steps may depend on the weights that they start from."""

  @abc.abstractmethod
  def started_at(
    self, weights: Sequence[tf.Tensor]
  ) -> tff.learning.optimizers.Optimizer:
    """Returns the optimizer for steps from given weights, in their graph.

    `next` then needs neither to keep the weights nor to tell the first step.
    """


def check_optimizer(
  optimizer: tff.learning.optimizers.Optimizer, name: str
) -> None:
  """Raises TypeError, which names the argument, unless `optimizer` is TFF's."""
  if not isinstance(optimizer, tff.learning.optimizers.Optimizer):
    raise TypeError(
      f'{name} must be a tff.learning.optimizers.Optimizer, such as '
      f'tff.learning.optimizers.build_sgdm(0.1), got {type(optimizer)}.'
    )


def train_locally(
  bound: model_functions.BoundModel,
  optimizer: tff.learning.optimizers.Optimizer,
  weights: model_functions.FlatWeights,
  dataset: tf.data.Dataset,
  *,
  metrics_state: Any = None,
) -> TrainingResult:
  """Takes one optimizer step per batch; call inside a `tf.function`.

  Args:
    bound: The model, bound to the graph being built.
    optimizer: The optimizer. It starts with a new state, which the call drops.
    weights: The weights at the start.
    dataset: Batches, all epochs one after another. It may be empty.
    metrics_state: The metrics' state after a previous training, to be
      continued; new metrics by default.

  Returns:
    The trained weights with metrics and counts.
  """
  check_optimizer(optimizer, 'client_optimizer_fn')
  if isinstance(optimizer, StartingOptimizer):
    optimizer = optimizer.started_at(weights.trainable)

  def step(flat, optimizer_state, metrics_state, batch):
    result = bound.training_gradients(flat, metrics_state, batch)
    optimizer_state, trainable = autograph.convert(optimizer.next)(
      optimizer_state, flat.trainable, result.gradients
    )
    return result, trainable, optimizer_state

  trained, _ = train_by_steps(
    bound,
    weights,
    dataset,
    step,
    begin_optimizer(optimizer, weights.trainable),
    metrics_state=metrics_state,
  )
  return trained


def train_by_steps(
  bound: model_functions.BoundModel,
  weights: model_functions.FlatWeights,
  dataset: tf.data.Dataset,
  step: StepFn,
  state: Any,
  *,
  metrics_state: Any = None,
) -> tuple[TrainingResult, Any]:
  """Takes any step per batch; call inside a `tf.function`.

  Args:
    bound: The model, bound to the graph being built.
    weights: The weights at the start.
    dataset: Batches, all epochs one after another. It may be empty.
    step: The step, from (weights, state, metrics' state, batch) to the result
      of `training_gradients`, the trainable tensors after it and the next
      state.
    state: The nest of tensors that steps pass on beside the weights, such as
      states of optimizers or a second model.
    metrics_state: The metrics' state to continue; new metrics by default.

  Returns:
    The result for the weights, and the last state.
  """

  def add_batch(carried, batch):
    flat, state, metrics_state, num_examples, num_batches = carried
    result, trainable, state = step(flat, state, metrics_state, batch)
    return (
      model_functions.FlatWeights(trainable, result.non_trainable),
      state,
      result.metrics_state,
      num_examples + result.num_examples,
      num_batches + 1,
    )

  flat, state, *rest = dataset.reduce(
    (
      weights,
      state,
      bound.initial_metrics() if metrics_state is None else metrics_state,
      tf.constant(0, tf.int64),
      tf.constant(0, tf.int64),
    ),
    add_batch,
  )
  return TrainingResult(flat, *rest), state


def begin_optimizer(
  optimizer: tff.learning.optimizers.Optimizer, tensors: Iterable[tf.Tensor]
) -> Any:
  """Returns the state of an optimizer before its first step of some tensors."""
  return optimizer.initialize(
    tuple(tf.TensorSpec(t.shape, t.dtype) for t in tensors)
  )


def train_part(
  bound: model_functions.BoundModel,
  weights: model_functions.FlatWeights,
  dataset: tf.data.Dataset,
  *,
  optimizer: tff.learning.optimizers.Optimizer,
  trained: Sequence[bool],
  metrics_state: Any = None,
) -> TrainingResult:
  """Trains a part of a model; call inside a `tf.function`.

  Args:
    bound: The model, bound to the graph being built.
    weights: The whole model's weights at the start.
    dataset: Batches, all epochs one after another. It may be empty.
    optimizer: The optimizer, with a new state for the trained tensors.
    trained: For each trainable tensor, whether it is trained.
    metrics_state: The metrics' state to continue; new metrics by default.

  Returns:
    The same as `train_locally`, with the whole model's weights.
  """
  part, frozen = model_partition.split_tensors(weights.trainable, trained)
  result = train_locally(
    model_partition.bind_part(bound, trained, frozen),
    optimizer,
    weights._replace(trainable=part),
    dataset,
    metrics_state=metrics_state,
  )
  return result._replace(
    weights=result.weights._replace(
      trainable=model_partition.join_tensors(
        result.weights.trainable, frozen, trained
      )
    )
  )


def count_batches_of_an_epoch(
  num_batches: tf.Tensor, local_epochs: int, *, method: str
) -> tf.Tensor:
  """Returns the number of a client's batches in one epoch.

  Args:
    num_batches: The number of batches over all epochs, an int64 scalar.
    local_epochs: The expected number of epochs, one after another. It is the
      default of the parameter `local_epochs` (`fedfish_tff.parameters`).
    method: The name of what was built with `local_epochs`, for the error
      message.

  Returns:
    An int64 scalar, which fails to compute unless epochs are whole.
  """
  # Exact below 2 ** 24.
  parameter = parameters.create('local_epochs', local_epochs)
  epochs = tf.cast(parameter, num_batches.dtype)
  whole_epochs = tf.debugging.Assert(
    tf.equal(num_batches % epochs, 0),
    [
      f"{method} was built with local_epochs={local_epochs}, but a client's "
      'data is not that many whole epochs of batches (batch first, then '
      'repeat). Number of batches:',
      num_batches,
    ],
  )
  with tf.control_dependencies([whole_epochs]):
    return num_batches // epochs


def check_whole_epochs(
  num_examples: tf.Tensor,
  total_examples: tf.Tensor,
  local_epochs: int,
  *,
  of_epochs: int = 1,
  method: str,
) -> tf.Tensor:
  """Checks that the first batches of a client are its first epochs.

  Batches that straddle epochs may be divisible by the epochs, too: 28 examples,
  repeated before they are batched by 10, are 6 batches, the first 3 of which
  hold 30 examples.

  Args:
    num_examples: The number of examples in the batches of the first epochs, an
      int64 scalar.
    total_examples: The number of examples over all epochs, an int64 scalar.
    local_epochs: The expected number of epochs, as in
      `count_batches_of_an_epoch`.
    of_epochs: The number of the first epochs.
    method: The name of the method, for the error message.

  Returns:
    `num_examples`, which fails to compute unless epochs are whole.
  """
  parameter = parameters.create('local_epochs', local_epochs)
  epochs = tf.cast(parameter, num_examples.dtype)
  whole_epochs = tf.debugging.Assert(
    tf.equal(num_examples * epochs, total_examples * of_epochs),
    [
      f"{method} was built with local_epochs={local_epochs}, but a client's "
      'batches straddle epochs (batch first, then repeat). Number of examples '
      f'in the first {of_epochs} of {local_epochs} parts of the batches, and '
      'in all:',
      num_examples,
      total_examples,
    ],
  )
  with tf.control_dependencies([whole_epochs]):
    return tf.identity(num_examples)


def build_local_training(
  model: model_functions.ModelFn,
  optimizer: tff.learning.optimizers.Optimizer,
) -> tff.Computation:
  """Builds one client's local training as a separate computation.

  Args:
    model: A functional model, or a function that returns a variable model.
    optimizer: The client optimizer, which starts with a new state.

  Returns:
    A computation of type (<ModelWeights, B*> -> ModelWeights), unplaced, where
    B* are the batches of all epochs.
  """

  def train(bound, weights, dataset):
    return train_locally(bound, optimizer, weights, dataset)

  return build_training(model, train)


def build_training(
  model: model_functions.ModelFn, train: TrainFn
) -> tff.Computation:
  """Builds any local training as `build_local_training` does."""

  @tff.tensorflow.computation(
    model_functions.weights_type(model), model_functions.data_type(model)
  )
  def local_training(weights, dataset):
    bound = model_functions.bind_model(model)

    @autograph.graph_function
    def run(flat, data):
      return autograph.convert(train)(bound, flat, data).weights

    flat = run(model_functions.flatten_weights(weights), dataset)
    return model_functions.weights_like(weights, flat)

  return local_training
