# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Client work of which only a chosen part is sent.

Zhang and Emerson (2023), section 2, around any client work whose update has a
model delta: FedAvg's, or FedFish's with its Fisher diagonal.
"""

import collections

from fedfish_tff.client_work import client_work_process
from fedfish_tff.client_work import tensor_selection

import tensorflow as tf


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

  def client_update(bound, weights, dataset, round_number):
    whole = client_update_fn(bound, weights, dataset, round_number)
    delta = whole.update['delta']
    masks = selector.select(
      weights.trainable,
      tuple(start - d for start, d in zip(weights.trainable, delta)),
    )
    contributes = whole.weight > 0
    masks = tuple(tf.logical_and(mask, contributes) for mask in masks)
    update = collections.OrderedDict(
      (name, _keep_sent(tensors, masks))
      for name, tensors in whole.update.items()
    )
    if 'fisher' not in update:
      update['mask'] = masks
    return whole._replace(
      update=collections.OrderedDict(update=update, mask=masks)
    )

  return client_update


def _keep_sent(
  tensors: tuple[tf.Tensor, ...], masks: tuple[tf.Tensor, ...]
) -> tuple[tf.Tensor, ...]:
  return tuple(
    tf.where(mask, tensor, tf.zeros_like(tensor))
    for mask, tensor in zip(masks, tensors)
  )
