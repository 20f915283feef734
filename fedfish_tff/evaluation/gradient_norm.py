# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FLANP's criterion: the gradient of a cohort's loss, and its allowed size.

FLANP (Reisizadeh et al., arXiv:2012.14453), Algorithm 1: n clients with s
examples each determine the loss of all clients only up to their statistical
accuracy c / (n s). If the loss is mu-strongly convex, the model has reached
this accuracy when |grad L_n(w)|^2 <= 2 mu c / (n s), with L_n the mean loss of
the n s examples. More rounds on these examples would then be useless.
"""

import collections
from collections.abc import Sequence
from typing import Any

from fedfish_tff import datasets
from fedfish_tff.evaluation import metric_names
from fedfish_tff.models import autograph
from fedfish_tff.models import model_functions

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff


def build_gradient_norm(model: model_functions.ModelFn) -> tff.Computation:
  """Builds the squared norm of the gradient of all clients' mean loss.

  Every example counts alike, whichever client holds it.

  Args:
    model: A functional model, or a function that returns a variable model. It
      runs in training mode, the same as on clients.

  Returns:
    A computation `(<M@SERVER, {B*}@CLIENTS> -> <squared=float32,
    num_examples=int64>@SERVER)`. The square is NaN without examples.
  """

  @tff.tensorflow.computation(
    model_functions.weights_type(model), model_functions.data_type(model)
  )
  def sum_gradients(weights, dataset):
    bound = model_functions.bind_model(model)

    @autograph.graph_function
    def run(flat, data):
      def add_batch(state, batch):
        sums, num_examples = state
        x, y = model_functions.split_batch(batch)
        rows = tf.shape(tf.nest.flatten(x)[0])[0]
        gradients = bound.loss_gradients(flat, x, y)
        return (
          tuple(
            s + g * tf.cast(rows, g.dtype) for s, g in zip(sums, gradients)
          ),
          num_examples + tf.cast(rows, tf.int64),
        )

      return data.reduce(
        (
          tuple(tf.zeros_like(w) for w in flat.trainable),
          tf.constant(0, tf.int64),
        ),
        add_batch,
      )

    sums, num_examples = run(model_functions.flatten_weights(weights), dataset)
    return collections.OrderedDict(sums=sums, num_examples=num_examples)

  @tff.tensorflow.computation(sum_gradients.type_signature.result)
  def square_mean(total):
    num_examples = tf.cast(total['num_examples'], tf.float32)
    return collections.OrderedDict(
      squared=tf.add_n(
        [
          tf.reduce_sum(tf.square(tf.cast(s, tf.float32) / num_examples))
          for s in tf.nest.flatten(total['sums'])
        ]
      ),
      num_examples=total['num_examples'],
    )

  @tff.federated_computation(
    tff.FederatedType(model_functions.weights_type(model), tff.SERVER),
    tff.FederatedType(model_functions.data_type(model), tff.CLIENTS),
  )
  def gradient_norm(weights, client_data):
    sums = tff.federated_map(
      sum_gradients, (tff.federated_broadcast(weights), client_data)
    )
    return tff.federated_map(square_mean, tff.federated_sum(sums))

  return gradient_norm


class AccuracyCriterion:
  """FLANP's criterion on a round's cohort; `AccuracyStages` decides by it."""

  def __init__(
    self, gradient_norm: tff.Computation, *, constant: float
  ) -> None:
    """Prepares the measurement.

    Args:
      gradient_norm: The computation by `build_gradient_norm`.
      constant: 2 mu c, in the unit of the squared gradient times examples.
    """
    self._gradient_norm = gradient_norm
    self._constant = constant

  def __call__(
    self, weights: Any, cohort: Sequence[datasets.ClientBatches]
  ) -> dict[str, float]:
    """Returns both sides of the criterion as columns; NaN without examples.

    Args:
      weights: The global weights after the round.
      cohort: The round's batches. The first epoch of each client is used, which
        has each of its examples once.
    """
    result = self._gradient_norm(
      weights,
      [
        datasets.to_client_input(client.replan(np.asarray)) for client in cohort
      ],
    )
    num_examples = int(result['num_examples'])
    return {
      metric_names.GRADIENT: float(result['squared']),
      metric_names.ALLOWED_GRADIENT: (
        self._constant / num_examples if num_examples else float('nan')
      ),
    }
