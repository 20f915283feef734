# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What language models share: a loss and metrics per token, not per example.

Labels that are padding count nowhere. The loss of a batch is the mean over the
other tokens, in nats; the metrics are kept as sums over tokens until the end,
so that they are exact over batches and clients of any size.
"""

import collections
from collections.abc import Sequence
from typing import Any

from fedfish_tff.datasets import vocabulary as vocabulary_lib
from fedfish_tff.models import autograph
from fedfish_tff.models import supervised

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_MetricsState = collections.OrderedDict[str, tf.Tensor]


def create_language_model(
  predict: supervised.Predict,
  initial_weights: Sequence[np.ndarray],
  *,
  special_tokens: vocabulary_lib.SpecialTokens,
) -> tff.learning.models.FunctionalModel:
  """Creates a model of next tokens whose weights are all trainable.

  Args:
    predict: A function of (weights, x, training) that returns logits, float32
      [batch, length, vocabulary].
    initial_weights: The weights to start from.
    special_tokens: The ids of padding, end and what is out of vocabulary.

  Returns:
    A model of x and y, both int32 [batch, length] of any length; y is x one
    token ahead. Its metrics are loss (nats per token), accuracy (of the most
    likely token; oov and eos count as any other),
    accuracy_without_oov_and_eos (labels that are one of these do not count),
    perplexity (exp of the loss), num_tokens (labels that are no padding) and
    num_examples (rows). All are 0 where there is no token.
  """

  @autograph.graph_function
  def predict_on_batch(
    model_weights: Any, x: tf.Tensor, training: bool
  ) -> tf.Tensor:
    trainable, _ = model_weights
    return autograph.convert(predict)(tuple(trainable), x, training)

  @tf.autograph.experimental.do_not_convert
  def loss_fn(
    output: tf.Tensor, label: tf.Tensor, sample_weight: Any = None
  ) -> tf.Tensor:
    is_token = tf.not_equal(label, special_tokens.pad)
    losses = _token_losses(output, label, is_token)
    if sample_weight is not None:
      # Of rows or of tokens; as Keras has it, divided by the number of tokens.
      weights = tf.cast(sample_weight, losses.dtype)
      losses *= tf.reshape(weights, [tf.shape(losses)[0], -1])
    return tf.math.divide_no_nan(
      tf.reduce_sum(losses), _count(is_token, losses.dtype)
    )

  return tff.learning.models.FunctionalModel(
    initial_weights=(tuple(initial_weights), ()),
    predict_on_batch_fn=predict_on_batch,
    loss_fn=loss_fn,
    metrics_fns=_build_metrics_fns(special_tokens),
    input_spec=(
      tf.TensorSpec([None, None], tf.int32),
      tf.TensorSpec([None, None], tf.int32),
    ),
  )


def _token_losses(
  logits: tf.Tensor, labels: tf.Tensor, is_token: tf.Tensor
) -> tf.Tensor:
  """Returns the cross-entropy of each token, 0 for padding."""
  losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
    labels=labels, logits=logits
  )
  # A product would hand on what is not finite, as a padded row's may be.
  return tf.where(is_token, losses, tf.zeros_like(losses))


def _count(mask: tf.Tensor, dtype: tf.DType = tf.int64) -> tf.Tensor:
  return tf.reduce_sum(tf.cast(mask, dtype))


def _build_metrics_fns(
  special_tokens: vocabulary_lib.SpecialTokens,
) -> tuple[Any, Any, Any]:
  """Returns what begins, updates and finalises the metrics."""

  def initialize() -> _MetricsState:
    zero = tf.constant(0, tf.int64)
    return collections.OrderedDict(
      loss=tf.constant(0.0),
      num_correct=zero,
      num_tokens=zero,
      num_correct_words=zero,
      num_words=zero,
      num_examples=zero,
    )

  def update(
    state: _MetricsState,
    labels: tf.Tensor,
    batch_output: tff.learning.models.BatchOutput,
    sample_weight: Any = None,
  ) -> _MetricsState:
    del sample_weight  # Every token counts once.
    logits = batch_output.predictions
    is_token = tf.not_equal(labels, special_tokens.pad)
    is_word = (
      is_token
      & tf.not_equal(labels, special_tokens.oov)
      & tf.not_equal(labels, special_tokens.eos)
    )
    likeliest = tf.argmax(logits, axis=-1, output_type=labels.dtype)
    is_correct = tf.equal(likeliest, labels)
    batch = collections.OrderedDict(
      loss=tf.reduce_sum(_token_losses(logits, labels, is_token)),
      num_correct=_count(is_correct & is_token),
      num_tokens=_count(is_token),
      num_correct_words=_count(is_correct & is_word),
      num_words=_count(is_word),
      num_examples=tf.shape(labels, out_type=tf.int64)[0],
    )
    return collections.OrderedDict(
      (name, total + batch[name]) for name, total in state.items()
    )

  def finalize(
    state: _MetricsState,
  ) -> collections.OrderedDict[str, tf.Tensor]:
    def share(part: str, whole: str) -> tf.Tensor:
      return tf.math.divide_no_nan(
        tf.cast(state[part], tf.float32), tf.cast(state[whole], tf.float32)
      )

    loss = share('loss', 'num_tokens')
    return collections.OrderedDict(
      loss=loss,
      accuracy=share('num_correct', 'num_tokens'),
      accuracy_without_oov_and_eos=share('num_correct_words', 'num_words'),
      perplexity=tf.where(state['num_tokens'] > 0, tf.exp(loss), 0.0),
      num_tokens=state['num_tokens'],
      num_examples=state['num_examples'],
    )

  return initialize, update, finalize
