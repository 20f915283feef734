# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedSGD's client work: the mean gradient over all of a client's examples.

McMahan et al., AISTATS 2017 (arXiv:1602.05629), section 2: each client sends
the gradient of its whole loss at the global weights. There is no local
training.
"""

import collections
from typing import Any
from typing import NamedTuple

from fedfish_tff.client_work import client_update as client_update_lib
from fedfish_tff.models import model_functions

import tensorflow as tf
import tensorflow_federated as tff


class MeanGradient(NamedTuple):
  """The result of one pass over a client's data.

  Attributes:
    gradient: The mean over examples, one tensor per trainable weight; zeros
      without examples. It is the same for all batch sizes, except with a loss
      that is a mean over tokens: a batch's gradient counts by its rows.
    metrics_state: The metrics over all batches.
    num_examples: The number of examples, an int64 scalar.
  """

  gradient: tuple[tf.Tensor, ...]
  metrics_state: Any
  num_examples: tf.Tensor


def build_gradient_update(
  *,
  client_weighting: tff.learning.ClientWeighting = (
    tff.learning.ClientWeighting.NUM_EXAMPLES
  ),
) -> client_update_lib.ClientUpdateFn:
  """Builds one client's gradient update for FedSGD.

  Args:
    client_weighting: The client's weight: |D_i| or one. A client without
      examples has weight 0.

  Returns:
    A function for `algorithms.compose`. Its delta is the gradient of a
    `MeanGradient`.
  """

  def client_update(bound, sent, unused_own, dataset):
    mean = mean_gradient(bound, sent.weights, dataset)
    return client_update_lib.ClientUpdate(
      update=collections.OrderedDict(delta=mean.gradient),
      weight=client_update_lib.client_weight(
        mean.num_examples, client_weighting
      ),
      metrics=bound.unfinalized_metrics(mean.metrics_state),
    )

  return client_update


def mean_gradient(
  bound: model_functions.BoundModel,
  weights: model_functions.FlatWeights,
  dataset: tf.data.Dataset,
) -> MeanGradient:
  """Returns the gradient of one pass; call inside a `tf.function`.

  Args:
    bound: The model, bound to the graph being built.
    weights: The weights at which gradients are taken.
    dataset: One pass over the client's data, in batches.
  """

  def add_batch(state, batch):
    sums, metrics_state, num_examples = state
    result = bound.training_gradients(weights, metrics_state, batch)
    rows = tf.cast(result.num_examples, tf.float32)
    return (
      tuple(
        s + g * tf.cast(rows, g.dtype) for s, g in zip(sums, result.gradients)
      ),
      result.metrics_state,
      num_examples + result.num_examples,
    )

  sums, metrics_state, num_examples = dataset.reduce(
    (
      tuple(tf.zeros_like(w) for w in weights.trainable),
      bound.initial_metrics(),
      tf.constant(0, tf.int64),
    ),
    add_batch,
  )
  return MeanGradient(
    tuple(
      tf.math.divide_no_nan(s, tf.cast(num_examples, s.dtype)) for s in sums
    ),
    metrics_state,
    num_examples,
  )
