# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Labels drawn from a model's own predictive distribution.

The sampled-label Fisher (the true Fisher information, estimated with one draw
per example) depends on the distribution that a model's output describes. TFF's
models do not declare it, so a task names the sampler that fits its loss.
"""

from typing import Any

from fedfish_tff.models import model_functions

import tensorflow as tf

_STDDEV = 0.5**0.5


def categorical_label_sampler() -> model_functions.LabelSampler:
  """Returns a sampler of class labels, for models with logits.

  Returns:
    A function of (logits float [..., classes], labels int of any shape with as
    many elements as logits have rows, seed int32 [2]) that returns labels of
    the given labels' shape and dtype.
  """

  def sample(logits: Any, labels: Any, seed: tf.Tensor) -> Any:
    num_classes = tf.shape(logits)[-1]
    rows = tf.reshape(logits, [-1, num_classes])
    drawn = tf.random.stateless_categorical(
      rows, num_samples=1, seed=seed, dtype=tf.int32
    )
    # Non-finite logits yield num_classes, which the loss refuses. A diverged
    # client should be left out of the round, not end it.
    drawn = tf.minimum(drawn, num_classes - 1)
    return tf.cast(tf.reshape(drawn, tf.shape(labels)), labels.dtype)

  return sample


def token_label_sampler(*, padding: int = 0) -> model_functions.LabelSampler:
  """Returns a sampler of next tokens, for language models.

  Padding among the labels stays padding, and padding is never drawn, since it
  would not count.

  Args:
    padding: The id of padding among the tokens.

  Returns:
    A function of (logits float [batch, length, vocabulary], labels int [batch,
    length], seed int32 [2]) that returns labels like the given ones.
  """
  draw = categorical_label_sampler()

  def sample(predictions: Any, labels: Any, seed: tf.Tensor) -> Any:
    never = tf.one_hot(
      padding,
      tf.shape(predictions)[-1],
      on_value=predictions.dtype.min,
      off_value=0.0,
      dtype=predictions.dtype,
    )
    drawn = draw(predictions + never, labels, seed)
    return tf.where(tf.equal(labels, padding), labels, drawn)

  return sample


def gaussian_label_sampler() -> model_functions.LabelSampler:
  """Returns a sampler of real labels, for models with the squared error.

  The standard deviation around the prediction, sqrt(1/2), makes the squared
  error (y - f)^2 the negative log-likelihood up to a constant.

  Returns:
    A function of (predictions float [...], labels float of the same shape,
    seed int32 [2]) that returns labels like the given ones.
  """

  def sample(predictions: Any, labels: Any, seed: tf.Tensor) -> Any:
    noise = tf.random.stateless_normal(
      tf.shape(labels), seed=seed, dtype=labels.dtype
    )
    return tf.reshape(predictions, tf.shape(labels)) + _STDDEV * noise

  return sample
