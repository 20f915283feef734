# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Client work of which only a chosen part is sent.

Zhang and Emerson (2023), section 2, around any client work whose update has a
model delta: FedAvg's, or FedFish's with its Fisher diagonal. Clients that keep
what nobody has sent start from weights of their own; their FedAvg's work has a
function of its own.
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

# Takes (bound model, start weights, the server's trainable tensors, data of the
# client), returns (its update, all of its trained tensors). The update is
# <update=<delta, mask>, mask>.
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
  """Builds a client's update with masks of what is sent of it.

  Args:
    client_update_fn: Computes the whole update: <delta>, or <delta, fisher>.
    selector: Chooses by the weights before and after local training.

  Returns:
    A function for `build_client_work`, whose update `SentPartsFactory` takes:
    <update, mask>. The mask is bool, a scalar or an array for each tensor of
    delta, and false everywhere for a client that weighs nothing. `update` is
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
  """Returns the part of an update that is sent, as of `build_partial_update`.

  Args:
    whole: The whole update: <delta>, or <delta, fisher>.
    start: The tensors before local training.
    selector: Chooses by these and those after it.
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
  """Builds what a client does that starts from weights of its own.

  Args:
    optimizer: The client optimizer.
    selector: Chooses by the weights before and after local training.
    weighting: By |D_i| (times local epochs), or uniform.

  Returns:
    The function. delta is how far the trained tensors are from the server's, 0
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
      # Parts that are not sent are what the client goes on with.
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
