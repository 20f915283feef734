# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedNCM: nearest class means, from one visit to each client.

Legate, Bernier, Caccia, Oyallon and Belilovsky, "Guiding The Last Layer in
Federated Learning with Pre-Trained Models", NeurIPS 2023. A cheap baseline of
Fed3R: clients send sums of features by class, but no products of features.
"""

from fedfish_tff import choices
from fedfish_tff import errors
from fedfish_tff.aggregators import sum_factories
from fedfish_tff.algorithms import closed_form
from fedfish_tff.algorithms import process
from fedfish_tff.models import feature_map as feature_map_lib

import tensorflow as tf
import tensorflow_federated as tff

# The bias of a class with unknown mean, too low for the class to be predicted.
_NEVER = -1e9


def build_fed_ncm(
  feature_map: feature_map_lib.FeatureMap,
  *,
  num_classes: int,
  distance: choices.ClassDistance = choices.ClassDistance.COSINE,
  accumulator_dtype: tf.DType = tf.float32,
  chunk_size: int = 1024,
  sum_factory: tff.aggregators.UnweightedAggregationFactory | None = None,
) -> process.FederatedProcess:
  """Builds FedNCM (Legate et al., 2023).

  With the features phi of the n_c examples of class c, over all clients:

    mu_c = sum(phi) / n_c
    class of phi = argmax over c of cos(phi, mu_c), or argmin of |phi - mu_c|

  Args:
    feature_map: The feature extractor, frozen.
    num_classes: C, the number of classes; labels are from 0 to C - 1.
    distance: The distance to class means: COSINE, as published, or EUCLIDEAN.
    accumulator_dtype: The dtype of the sums, tf.float32 or tf.float64.
    chunk_size: The number of examples with features in memory at a time.
    sum_factory: The aggregator of the sums of features by class, with the
      number of examples of each as one more feature;
      `tff.aggregators.SumFactory` by default. As in `build_fed3r` it must
      return sums, not means. With the cosine distance, sums with noise give
      some direction to a class without examples.

  Returns:
    A process like that of `build_fed3r`, with the same model.
  """
  errors.check_choice('distance', distance, choices.ClassDistance)

  def solve(statistics, hparams):
    del hparams  # There are none.
    moments = tf.cast(statistics['moments'], tf.float64)
    sums, counts = moments[:-1], moments[-1]
    never = tf.constant(_NEVER, moments.dtype)
    if distance is choices.ClassDistance.COSINE:
      # The direction needs no counts. Noise may make counts negative, and would
      # then turn the mean around.
      norms = tf.norm(sums, axis=0)
      return tf.math.divide_no_nan(sums, norms), tf.where(
        norms > 0, tf.zeros_like(counts), never
      )
    has_examples = counts > 0.5
    means = tf.where(has_examples, tf.math.divide_no_nan(sums, counts), 0)
    squares = tf.reduce_sum(tf.square(means), axis=0)
    return means, tf.where(has_examples, -squares / 2, never)

  return closed_form.build_closed_form_process(
    feature_map,
    sum_factories.unweighted_factory(sum_factory),
    solve,
    num_classes=num_classes,
    hparams={},
    with_gram=False,
    accumulator_dtype=accumulator_dtype,
    chunk_size=chunk_size,
  )
