# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Further operations on the variables of a replayed graph.

These are the operations of Keras' optimizers, of embeddings and of the
gradients of loops. `replayer` has plain reads and assignments.
"""

from collections.abc import Callable
from collections.abc import Mapping

from fedfish_tff.execution.replay import replayer

import tensorflow as tf


def _gradient_descent(replay, node, inputs):
  del node
  variable, rate, gradient = inputs
  replay.assign(variable, replay.value_of(variable) - rate * gradient)
  return []


def _keras_momentum(replay, node, inputs):
  variable, accumulator, rate, gradient, momentum = inputs
  step = rate * gradient
  accumulated = replay.value_of(accumulator) * momentum - step
  replay.assign(accumulator, accumulated)
  if node.attr['use_nesterov'].b:
    change = accumulated * momentum - step
  else:
    change = accumulated
  replay.assign(variable, replay.value_of(variable) + change)
  return []


def _scatter(
  update: Callable[[tf.Tensor, tf.Tensor, tf.Tensor], tf.Tensor],
) -> replayer.Handler:
  def handle(replay, node, inputs):
    del node
    variable, indices, updates = inputs
    value = replay.value_of(variable)
    # A scalar update applies to whole rows.
    updates = tf.broadcast_to(
      updates, tf.concat([tf.shape(indices), tf.shape(value)[1:]], axis=0)
    )
    replay.assign(variable, update(value, indices[..., tf.newaxis], updates))
    return []

  return handle


def _shape(replay, node, inputs):
  return [
    tf.shape(
      replay.value_of(inputs[0]),
      out_type=tf.as_dtype(node.attr['out_type'].type),
    )
  ]


HANDLERS: Mapping[str, replayer.Handler] = {
  'ResourceApplyGradientDescent': _gradient_descent,
  'ResourceApplyKerasMomentum': _keras_momentum,
  'ResourceScatterAdd': _scatter(tf.tensor_scatter_nd_add),
  'ResourceScatterSub': _scatter(tf.tensor_scatter_nd_sub),
  'ResourceScatterUpdate': _scatter(tf.tensor_scatter_nd_update),
  'VariableShape': _shape,
}
