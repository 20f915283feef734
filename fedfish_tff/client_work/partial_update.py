# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Client work of which only a chosen part is sent.

Zhang and Emerson (2023), section 2, around any client work that returns a model
delta, as FedAvg's, or FedFish's with its Fisher diagonal.
"""

import collections

from fedfish_tff.client_work import client_update
from fedfish_tff.client_work import tensor_selection

import tensorflow as tf


def keep_selected(
  whole: client_update.ClientUpdate,
  start: tuple[tf.Tensor, ...],
  selector: tensor_selection.Selector,
) -> client_update.ClientUpdate:
  """Returns the sent part of an update, with masks of it.

  Args:
    whole: The whole update: <delta>, or <delta, fisher>.
    start: The tensors before local training.
    selector: The selector, which compares these with those after it.

  Returns:
    An update for `SentPartsFactory`: <update, mask>. The mask is bool, a scalar
    or an array for each tensor of delta, and false everywhere for a client of
    weight 0. `update` is <delta, mask> or <delta, fisher>, 0 where the mask is
    false.
  """
  masks = selector.select(
    start, tuple(s - d for s, d in zip(start, whole.update['delta']))
  )
  contributes = whole.weight > 0
  masks = tuple(tf.logical_and(mask, contributes) for mask in masks)
  update = collections.OrderedDict(
    (name, keep_sent(tensors, masks)) for name, tensors in whole.update.items()
  )
  if 'fisher' not in update:
    update['mask'] = masks
  return whole._replace(
    update=collections.OrderedDict(update=update, mask=masks),
    also_finite=(whole.also_finite, whole.update),
  )


def keep_sent(
  tensors: tuple[tf.Tensor, ...], masks: tuple[tf.Tensor, ...]
) -> tuple[tf.Tensor, ...]:
  """Returns tensors that are 0 where their masks are false."""
  return tuple(
    tf.where(mask, tensor, tf.zeros_like(tensor))
    for mask, tensor in zip(masks, tensors)
  )
