# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Common parts of language models: a loss and metrics per token.

Padding among the labels does not count. The loss of a batch is the mean over
the other tokens, in nats. The metrics are sums over tokens until the end, so
they are exact over batches and clients of any size.
"""

import collections
from collections.abc import Sequence
import math
from typing import Any

from fedfish_tff.datasets import vocabulary as vocabulary_lib
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
  recall_at: Sequence[int] = (),
) -> tff.learning.models.FunctionalModel:
  """Creates a model of next tokens whose weights are all trainable.

  Args:
    predict: A function of (weights, x, training) that returns logits, float32
      [batch, length, vocabulary].
    initial_weights: The weights to start from, in the order that `predict`
      takes.
    special_tokens: The ids of padding, eos and oov.
    recall_at: The numbers k of words that a keyboard suggests at once.

  Returns:
    A model of x and y, both int32 [batch, length] of any length; y is x one
    token ahead. Its metrics are loss (nats per token), accuracy (of the most
    likely token; oov and eos count like any other),
    accuracy_without_oov_and_eos (these labels do not count), perplexity (exp of
    the loss), top_<k>_recall for each of `recall_at`, num_tokens (labels other
    than padding) and num_examples (rows). All are 0 without tokens.

    top_<k>_recall is the share of typed words that are among the k likeliest,
    as reported by Hard et al. (2018, arXiv:1811.03604). Padding, bos and eos
    are not typed; oov is typed and always missed. Only words are suggested,
    never special tokens; of equal logits, the lower id comes first.
  """

  def loss_fn(
    output: tf.Tensor, label: tf.Tensor, sample_weight: Any = None
  ) -> tf.Tensor:
    is_token = tf.not_equal(label, special_tokens.pad)
    losses = _token_losses(output, label, is_token)
    if sample_weight is not None:
      # Weights of rows or tokens; the sum is divided by the number of tokens,
      # the same as in Keras.
      weights = tf.cast(sample_weight, losses.dtype)
      losses *= tf.reshape(weights, [tf.shape(losses)[0], -1])
    return tf.math.divide_no_nan(
      tf.reduce_sum(losses), _count(is_token, losses.dtype)
    )

  return supervised.create_trainable_model(
    predict,
    initial_weights,
    loss_fn=loss_fn,
    metrics_fns=_build_metrics_fns(special_tokens, tuple(recall_at)),
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
  # A product would pass on non-finite losses, which padded rows may have.
  return tf.where(is_token, losses, tf.zeros_like(losses))


def _count(mask: tf.Tensor, dtype: tf.DType = tf.int64) -> tf.Tensor:
  return tf.reduce_sum(tf.cast(mask, dtype))


def _find_likeliest(logits: tf.Tensor, count: int) -> tf.Tensor:
  """Returns the ids of the greatest logits in half the time of `tf.math.top_k`.

  They are in the `count` groups of tokens with the greatest maxima, and maxima
  are computed by vector instructions.

  Args:
    logits: The logits, [batch, length, vocabulary].
    count: The number of ids, at most the vocabulary's size.

  Returns:
    int32 [batch, length, count]; of equal logits the lower id comes first.
  """
  size = logits.shape[-1]
  width = next(n for n in range(math.isqrt(size), size + 1) if size % n == 0)
  grouped = tf.reshape(logits, [-1, size // width, width])
  num_groups = min(count, size // width)
  groups = tf.math.top_k(tf.reduce_max(grouped, axis=-1), num_groups).indices
  groups = tf.sort(groups)  # Among equal logits, top_k takes the first.
  candidates = tf.reshape(
    tf.gather(grouped, groups, batch_dims=1), [-1, num_groups * width]
  )
  places = tf.math.top_k(candidates, count).indices
  ids = tf.gather(groups, places // width, batch_dims=1) * width
  return tf.reshape(
    ids + places % width, tf.concat([tf.shape(logits)[:-1], [count]], axis=0)
  )


def _find_places(
  likeliest: tf.Tensor, labels: tf.Tensor, special: Sequence[int]
) -> tf.Tensor:
  """Returns each label's place among the likeliest words.

  Args:
    likeliest: The likeliest tokens, int32 [batch, length, count], the most
      likely one first.
    labels: The next tokens, int32 [batch, length].
    special: The tokens that are no words.

  Returns:
    int32 [batch, length], from 1 on; 0 for labels that are missing or no words.
  """
  is_word = tf.reduce_all(
    tf.not_equal(likeliest[..., tf.newaxis], special), axis=-1
  )
  places = tf.cumsum(tf.cast(is_word, tf.int32), axis=-1)
  is_label = is_word & tf.equal(likeliest, labels[..., tf.newaxis])
  return tf.reduce_sum(tf.where(is_label, places, 0), axis=-1)


def _build_metrics_fns(
  special_tokens: vocabulary_lib.SpecialTokens, recall_at: tuple[int, ...]
) -> tuple[Any, Any, Any]:
  """Returns the functions that begin, update and finalise the metrics."""
  recall_counts = [f'num_recalled_at_{k}' for k in recall_at]
  if recall_at:
    recall_counts.append('num_typed')
  special = sorted(set(special_tokens))

  def initialize() -> _MetricsState:
    zero = tf.constant(0, tf.int64)
    return collections.OrderedDict(
      loss=tf.constant(0.0),
      num_correct=zero,
      num_tokens=zero,
      num_correct_words=zero,
      num_words=zero,
      num_examples=zero,
      **dict.fromkeys(recall_counts, zero),
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
    if recall_at:
      # Enough tokens, even if all special tokens are among them.
      count = min(max(recall_at) + len(special), logits.shape[-1])
      likeliest = _find_likeliest(logits, count)
      most_likely = likeliest[..., 0]
    else:
      most_likely = tf.argmax(logits, axis=-1, output_type=labels.dtype)
    is_correct = tf.equal(most_likely, labels)
    losses = _token_losses(logits, labels, is_token)
    batch = collections.OrderedDict(
      loss=tf.reduce_sum(losses),
      num_correct=_count(is_correct & is_token),
      num_tokens=_count(is_token),
      num_correct_words=_count(is_correct & is_word),
      num_words=_count(is_word),
      num_examples=tf.shape(labels, out_type=tf.int64)[0],
    )
    if recall_at:
      is_typed = (
        is_token
        & tf.not_equal(labels, special_tokens.bos)
        & tf.not_equal(labels, special_tokens.eos)
      )
      places = _find_places(likeliest, labels, special)
      # NaN logits have no order, so nothing is suggested.
      places = tf.where(tf.math.is_finite(losses), places, 0)
      batch['num_typed'] = _count(is_typed)
      batch |= {
        f'num_recalled_at_{k}': _count((places > 0) & (places <= k))
        for k in recall_at
      }
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
      **{
        f'top_{k}_recall': share(f'num_recalled_at_{k}', 'num_typed')
        for k in recall_at
      },
      num_tokens=state['num_tokens'],
      num_examples=state['num_examples'],
    )

  return initialize, update, finalize
