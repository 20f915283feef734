# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedRep's local training: the head first, then the body.

Collins et al., ICML 2021 (arXiv:2102.07078), Algorithm 1: while one part of the
model is trained, the other one stays unchanged.
"""

from collections.abc import Sequence
from typing import Any

from fedfish_tff import errors
from fedfish_tff.client_work import local_training
from fedfish_tff.models import model_functions
from fedfish_tff.models import model_partition

import tensorflow as tf
import tensorflow_federated as tff


def build_alternating_training(
  client_optimizer_fn: tff.learning.optimizers.Optimizer,
  head: Sequence[bool],
  *,
  head_epochs: int,
  body_epochs: int,
) -> local_training.TrainFn:
  """Builds local training of a model's head, and then of its body.

  Args:
    client_optimizer_fn: The client optimizer, initialized anew for each part.
    head: For each trainable tensor, whether it belongs to the head. A part
      without tensors is not trained in its epochs.
    head_epochs: The number of the head's epochs, the first ones.
    body_epochs: The number of the body's epochs, which follow and are the last
      ones.

  Returns:
    A function for `model_delta.build_trained_delta_update`. Metrics cover all
    epochs.

  Raises:
    InputError: If one of the numbers of epochs is below 1.
    TypeError: If `client_optimizer_fn` is not one of TFF's optimizers.
  """
  local_training.check_optimizer(client_optimizer_fn, 'client_optimizer_fn')
  for name, epochs in (
    ('head_epochs', head_epochs),
    ('body_epochs', body_epochs),
  ):
    if epochs < 1:
      raise errors.InputError(f'{name} must be 1 or more, got {epochs}.')
  head = tuple(head)
  body = tuple(not h for h in head)

  def train(bound, weights, dataset):
    num_batches = dataset.reduce(
      tf.constant(0, tf.int64), lambda number, _: number + 1
    )
    epochs = head_epochs + body_epochs
    head_batches = head_epochs * local_training.count_batches_of_an_epoch(
      num_batches, epochs, method='FedRep'
    )
    first = train_part(
      bound,
      weights,
      dataset.take(head_batches),
      optimizer=client_optimizer_fn,
      trained=head,
    )
    second = train_part(
      bound,
      first.weights,
      dataset.skip(head_batches),
      optimizer=client_optimizer_fn,
      trained=body,
      metrics_state=first.metrics_state,
    )
    num_examples = first.num_examples + second.num_examples
    first_examples = local_training.check_whole_epochs(
      first.num_examples,
      num_examples,
      epochs,
      of_epochs=head_epochs,
      method='FedRep',
    )
    return second._replace(
      num_examples=first_examples + second.num_examples,
      num_batches=num_batches,
    )

  return train


def train_part(
  bound: model_functions.BoundModel,
  weights: model_functions.FlatWeights,
  dataset: tf.data.Dataset,
  *,
  optimizer: tff.learning.optimizers.Optimizer,
  trained: Sequence[bool],
  metrics_state: Any = None,
) -> local_training.TrainingResult:
  """Trains a part of a model; call inside a `tf.function`.

  Args:
    bound: The model, bound to the graph being built.
    weights: The whole model's weights at the start.
    dataset: See `local_training.train_locally`.
    optimizer: See `local_training.train_locally`.
    trained: For each trainable tensor, whether it is trained.
    metrics_state: See `local_training.train_locally`.

  Returns:
    The same as `local_training.train_locally`, with the whole model's weights.
  """
  part, frozen = model_partition.split_tensors(weights.trainable, trained)
  result = local_training.train_locally(
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
