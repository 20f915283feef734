# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Client work of which only a chosen part is sent.

Zhang and Emerson (2023), section 2, around any client work that returns a model
delta, as FedAvg's, or FedFish's with its Fisher diagonal. For clients that keep
the parts not sent, and so start from weights of their own, there is a separate
function with FedAvg's training.
"""

import collections
from collections.abc import Callable

from fedfish_tff.client_work import client_work_process
from fedfish_tff.client_work import local_training as local_training_lib
from fedfish_tff.client_work import model_delta
from fedfish_tff.client_work import tensor_selection
from fedfish_tff.models import model_functions

import tensorflow as tf
import tensorflow_federated as tff

# Takes (bound model, start weights, the server's trainable tensors, the
# client's data), returns (its update, all of its trained tensors). The update
# is <update=<delta, mask>, mask>.
StatefulTrainFn = Callable[
  [
    model_functions.BoundModel,
    model_functions.FlatWeights,
    tuple[tf.Tensor, ...],
    tf.data.Dataset,
  ],
  tuple[client_work_process.ClientUpdate, tuple[tf.Tensor, ...]],
]


def build_partial_update(
  client_update_fn: client_work_process.ClientUpdateFn,
  selector: tensor_selection.Selector,
) -> client_work_process.ClientUpdateFn:
  """Builds a client's update with masks of its sent parts.

  Args:
    client_update_fn: A function that computes the whole update: <delta>, or
      <delta, fisher>.
    selector: The selector, which compares weights before and after local
      training.

  Returns:
    A function for `build_client_work`, with an update for `SentPartsFactory`:
    <update, mask>. The mask is bool, a scalar or an array for each tensor of
    delta, and false everywhere for a client of weight 0. `update` is
    <delta, mask> or <delta, fisher>, 0 where the mask is false.
  """

  def client_update(bound, weights, dataset, state):
    return keep_selected(
      client_update_fn(bound, weights, dataset, state),
      weights.trainable,
      selector,
    )

  return client_update


def keep_selected(
  whole: client_work_process.ClientUpdate,
  start: tuple[tf.Tensor, ...],
  selector: tensor_selection.Selector,
) -> client_work_process.ClientUpdate:
  """Returns the sent part of an update, see `build_partial_update`.

  Args:
    whole: The whole update: <delta>, or <delta, fisher>.
    start: The tensors before local training.
    selector: The selector, which compares these with those after it.
  """
  masks = selector.select(
    start, tuple(s - d for s, d in zip(start, whole.update['delta']))
  )
  contributes = whole.weight > 0
  masks = tuple(tf.logical_and(mask, contributes) for mask in masks)
  update = collections.OrderedDict(
    (name, _keep_sent(tensors, masks)) for name, tensors in whole.update.items()
  )
  if 'fisher' not in update:
    update['mask'] = masks
  return whole._replace(
    update=collections.OrderedDict(update=update, mask=masks),
    also_finite=(whole.also_finite, whole.update),
  )


def build_stateful_training(
  optimizer: tff.learning.optimizers.Optimizer,
  selector: tensor_selection.Selector,
  weighting: tff.learning.ClientWeighting,
) -> StatefulTrainFn:
  """Builds the work of a client that starts from weights of its own.

  Args:
    optimizer: The client optimizer.
    selector: The selector, which compares weights before and after local
      training.
    weighting: The clients' weights: |D_i| (times local epochs), or uniform.

  Returns:
    The function. Its delta is the server's tensors minus the trained ones, 0
    where the mask is false.
  """

  def train(bound, start, server, dataset):
    trained = local_training_lib.train_locally(bound, optimizer, start, dataset)
    update = model_delta.delta_update(
      bound, model_functions.FlatWeights(server, ()), trained, weighting
    )
    has_data = trained.num_examples > 0
    values = trained.weights.trainable
    masks = tuple(
      tf.logical_and(mask, has_data)
      for mask in selector.select(start.trainable, values)
    )
    sent = _keep_sent(update.update['delta'], masks)
    return update._replace(
      update=collections.OrderedDict(
        update=collections.OrderedDict(delta=sent, mask=masks), mask=masks
      ),
      # The client continues with the parts that are not sent.
      also_finite=values,
    ), values

  return train


def _keep_sent(
  tensors: tuple[tf.Tensor, ...], masks: tuple[tf.Tensor, ...]
) -> tuple[tf.Tensor, ...]:
  return tuple(
    tf.where(mask, tensor, tf.zeros_like(tensor))
    for mask, tensor in zip(masks, tensors)
  )
