# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Estimators of the diagonal of the Fisher information on one client's data.

FedFish (Dhawan et al., TMLR 2024, arXiv:2311.10291), Algorithm 2, lines 9 to
12: after local training, one more pass over the client's data sums squared
gradients at the client's final weights. The paper squares the gradient of a
whole batch; there are also two estimators of the per-example Fisher.
"""

from fedfish_tff import choices
from fedfish_tff.models import augmentation
from fedfish_tff.models import autograph
from fedfish_tff.models import model_functions

import tensorflow as tf

# Odd 32-bit constants that separate the streams of a seed (Knuth's
# multiplicative hash and a prime of xxHash); any odd numbers would do.
_ROUND_STRIDE = -1640531535
_BATCH_STRIDE = 374761393


def _num_rows(x: object) -> tf.Tensor:
  return tf.shape(tf.nest.flatten(x)[0])[0]


def _rows(x: object, start: tf.Tensor) -> object:
  """Returns a batch of one example: row `start` of every tensor."""
  return tf.nest.map_structure(lambda t: t[start][tf.newaxis], x)


def _per_example_squares(
  bound: model_functions.BoundModel,
  weights: model_functions.FlatWeights,
  x: object,
  y: object,
) -> tuple[tf.Tensor, ...]:
  """Sums squared per-example gradients over one batch, one example at a time.

  A loop in the graph needs the memory of one gradient whatever the batch size,
  and works with every kind of layer, which a vectorised map does not.
  """

  def add_example(i, sums):
    gradients = bound.loss_gradients(weights, _rows(x, i), _rows(y, i))
    return i + 1, tuple(s + tf.square(g) for s, g in zip(sums, gradients))

  num_rows = _num_rows(x)
  _, sums = tf.while_loop(
    lambda i, _: i < num_rows,
    add_example,
    (tf.constant(0), tuple(tf.zeros_like(w) for w in weights.trainable)),
    parallel_iterations=1,
  )
  return sums


def fisher_diagonal(
  bound: model_functions.BoundModel,
  weights: model_functions.FlatWeights,
  dataset: tf.data.Dataset,
  *,
  estimator: choices.FisherEstimator,
  normalization: choices.FisherNormalization,
  label_sampler: model_functions.LabelSampler | None = None,
  seed: int = 0,
  round_number: tf.Tensor | int = 0,
) -> tuple[tuple[tf.Tensor, ...], tf.Tensor]:
  """Estimates the Fisher diagonal at `weights`; call inside a `tf.function`.

  Args:
    bound: The model, bound to the graph being built.
    weights: The client's final weights, at which gradients are taken.
    dataset: One pass over the client's data, in batches.
    estimator: The squared gradients to sum.
    normalization: Whether their sum is divided by their number.
    label_sampler: A function that draws labels from the model's output, for
      SAMPLED_LABEL.
    seed: The seed of the label draws.
    round_number: The round's number, int32, so that each round draws other
      labels.

  Returns:
    (Fisher diagonal with the shapes of the trainable weights, int64 number of
    examples seen).
  """

  def add_batch(state, batch):
    sums, num_terms, num_examples, batch_number = state
    x, y = model_functions.split_batch(batch)
    rows = tf.cast(_num_rows(x), tf.int64)
    if estimator is choices.FisherEstimator.BATCH_GRADIENT:
      squares = tuple(tf.square(g) for g in bound.loss_gradients(weights, x, y))
      terms = tf.constant(1, tf.int64)
    else:
      if estimator is choices.FisherEstimator.SAMPLED_LABEL:
        # By their content, clients with different data get different draws,
        # while the graph does not know the client.
        stream = tf.stack(
          [
            seed + tf.cast(round_number, tf.int32) * _ROUND_STRIDE,
            augmentation.fingerprint(x) + batch_number * _BATCH_STRIDE,
          ]
        )
        y = autograph.convert(label_sampler)(
          bound.predictions(weights, x), y, stream
        )
      squares = _per_example_squares(bound, weights, x, y)
      terms = rows
    return (
      tuple(s + q for s, q in zip(sums, squares)),
      num_terms + terms,
      num_examples + rows,
      batch_number + 1,
    )

  sums, num_terms, num_examples, _ = dataset.reduce(
    (
      tuple(tf.zeros_like(w) for w in weights.trainable),
      tf.constant(0, tf.int64),
      tf.constant(0, tf.int64),
      tf.constant(0, tf.int32),
    ),
    add_batch,
  )
  if normalization is choices.FisherNormalization.MEAN:
    sums = tuple(
      tf.math.divide_no_nan(s, tf.cast(num_terms, s.dtype)) for s in sums
    )
  return sums, num_examples
