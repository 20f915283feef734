# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedSGD's client work: the mean gradient over all of a client's examples.

McMahan et al., AISTATS 2017 (arXiv:1602.05629), section 2: each client sends
the gradient of its whole loss at the global weights; nobody trains locally.
"""

from fedfish_tff.client_work import client_work_process

import tensorflow as tf
import tensorflow_federated as tff


def build_gradient_update(
  *,
  client_weighting: tff.learning.ClientWeighting = (
    tff.learning.ClientWeighting.NUM_EXAMPLES
  ),
) -> client_work_process.ClientUpdateFn:
  """Builds one client's gradient update for FedSGD.

  Args:
    client_weighting: |D_i| or one. A client without examples weighs nothing.

  Returns:
    A function for `build_client_work` whose update is a tuple of gradients,
    the mean over examples whatever the batch sizes.
  """

  def client_update(bound, weights, dataset, round_number):
    del round_number  # Nothing here is drawn.
    initial = bound.initial_metrics()
    initial_metrics = bound.unfinalized_metrics(initial)

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
        initial,
        tf.constant(0, tf.int64),
      ),
      add_batch,
    )
    weight = client_work_process.client_weight(num_examples, client_weighting)
    return client_work_process.ClientUpdate(
      update=tuple(
        tf.math.divide_no_nan(s, tf.cast(num_examples, s.dtype)) for s in sums
      ),
      weight=tf.where(num_examples > 0, weight, 0.0),
      metrics=bound.unfinalized_metrics(metrics_state),
      initial_metrics=initial_metrics,
    )

  return client_update
