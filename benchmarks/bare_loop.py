# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The yardstick: a round in plain TensorFlow, without TFF.

A compiled function is called once per client, on arrays in memory. It trains
the client's weights in variables and adds to the cohort's sums. It is the
fastest of the plain forms that were tried (weights as arguments, sums outside
the function, a call per batch).
"""

from collections.abc import Callable
from collections.abc import Sequence

from fedfish_tff.models import model_functions

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff


def build_round(
  model: tff.learning.models.FunctionalModel,
  clients: Sequence[tuple[np.ndarray, np.ndarray]],
  *,
  batch_size: int,
  learning_rate: float,
  fed_fish: bool,
) -> Callable[[], list[np.ndarray]]:
  """Returns a function that computes a round and returns the new weights.

  Args:
    model: The model.
    clients: Each client's arrays.
    batch_size: The number of examples in a batch.
    learning_rate: The clients' learning rate.
    fed_fish: Whether the method is FedFish, in which a client makes another
      pass over its data to sum squared gradients, the weights of the mean of
      model deltas; otherwise it is FedAvg.
  """
  bound = model_functions.bind_model(model)
  start = [tf.constant(w) for w in model.initial_weights[0]]
  weights = [tf.Variable(w) for w in start]
  weighted_deltas = [tf.Variable(tf.zeros_like(w)) for w in start]
  total_weights = [
    tf.Variable(tf.zeros_like(w) if fed_fish else 0.0) for w in start
  ]
  sums = weighted_deltas + total_weights

  def gradients(x, y):
    flat = model_functions.FlatWeights(
      tuple(w.read_value() for w in weights), ()
    )
    return bound.loss_gradients(flat, x, y)

  @tf.function
  def train_client(x, y):
    num_examples = tf.shape(y)[0]
    for weight, value in zip(weights, start):
      weight.assign(value)
    for i in tf.range(0, num_examples, batch_size):
      batch = (x[i : i + batch_size], y[i : i + batch_size])
      for weight, gradient in zip(weights, gradients(*batch)):
        weight.assign_sub(learning_rate * gradient)
    client_weights = [tf.cast(num_examples, tf.float32)] * len(weights)
    if fed_fish:
      fisher = tuple(tf.zeros_like(w) for w in start)
      for i in tf.range(0, num_examples, batch_size):
        batch = (x[i : i + batch_size], y[i : i + batch_size])
        fisher = tuple(
          f + tf.square(g) for f, g in zip(fisher, gradients(*batch))
        )
      client_weights = [n * f for n, f in zip(client_weights, fisher)]
    for i, client_weight in enumerate(client_weights):
      delta = start[i] - weights[i]
      weighted_deltas[i].assign_add(client_weight * delta)
      total_weights[i].assign_add(client_weight)

  tensors = [(tf.constant(x), tf.constant(y)) for x, y in clients]

  def run():
    for total in sums:
      total.assign(tf.zeros_like(total))
    for x, y in tensors:
      train_client(x, y)
    return [
      (value - tf.math.divide_no_nan(delta, total)).numpy()
      for value, delta, total in zip(start, weighted_deltas, total_weights)
    ]

  return run
