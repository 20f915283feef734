# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Small classifiers of texts of token ids, free of variables.

Texts of different lengths are padded with id 0. Padding changes no output,
since it is left out of means and maxima over a text.
"""

from collections.abc import Sequence

from fedfish_tff import errors
from fedfish_tff.models import class_metrics
from fedfish_tff.models import layers
from fedfish_tff.models import supervised

import tensorflow as tf
import tensorflow_federated as tff

_PADDING = 0
_WIDTHS = (3, 4, 5)

# Names of the trainable tensors, in the models' order.
BAG_OF_TOKENS_TENSORS = ('embedding/table', 'dense/kernel', 'dense/bias')
TEXT_CNN_TENSORS = (
  'embedding/table',
  *layers.kernel_and_bias_names(
    (*(f'convolution_{width}' for width in _WIDTHS), 'dense')
  ),
)


def create_bag_of_tokens_classifier(
  *,
  vocabulary_size: int,
  class_names: Sequence[str],
  seed: int,
  sequence_length: int | None = None,
  embedding_size: int = 64,
) -> tff.learning.models.FunctionalModel:
  """Creates a linear model of the mean of a text's token embeddings.

  It is fastText (Joulin et al. 2017, arXiv:1607.01759) without its n-grams.

  Args:
    vocabulary_size: The number of token ids; 0 is padding.
    class_names: The names of the classes 0, 1, ...
    seed: The seed, which alone decides the initial weights.
    sequence_length: The number of tokens of a text, padding included; None for
      any number.
    embedding_size: The width of the embeddings.

  Returns:
    A model of x int32 [batch, length] and y int32 [batch] that outputs logits,
    with the metrics of `class_metrics`; its tensors are
    `BAG_OF_TOKENS_TENSORS`.
  """

  def predict(
    weights: tuple[tf.Tensor, ...], tokens: tf.Tensor, training: bool
  ) -> tf.Tensor:
    del training  # The same pass in training and evaluation.
    table, kernel, bias = weights
    is_token = _find_tokens(tokens)
    num_tokens = tf.reduce_sum(is_token, axis=1)
    mean = tf.math.divide_no_nan(
      tf.reduce_sum(tf.gather(table, tokens) * is_token, axis=1), num_tokens
    )
    return tf.nn.bias_add(tf.matmul(mean, kernel), bias)

  return _create(
    predict,
    [(embedding_size, len(class_names))],
    (vocabulary_size, embedding_size),
    sequence_length,
    class_names,
    seed,
  )


def create_text_cnn(
  *,
  vocabulary_size: int,
  class_names: Sequence[str],
  seed: int,
  sequence_length: int | None = None,
  embedding_size: int = 64,
  num_filters: int = 64,
) -> tff.learning.models.FunctionalModel:
  """Creates the CNN of Kim (2014, arXiv:1408.5882), without its dropout.

  It has parallel convolutions over 3, 4 and 5 tokens, the maximum of each
  filter over the text, and a dense layer. A window begins at each token, with
  zeros after the last one.

  Args:
    vocabulary_size: The number of token ids; 0 is padding.
    class_names: The names of the classes 0, 1, ...
    seed: The seed, which alone decides the initial weights.
    sequence_length: The number of tokens of a text, padding included; None for
      any number.
    embedding_size: The width of the embeddings; 300 in the paper.
    num_filters: The number of filters of each convolution; 100 in the paper.

  Returns:
    A model of x int32 [batch, length] and y int32 [batch] that outputs logits,
    with the metrics of `class_metrics`; its tensors are `TEXT_CNN_TENSORS`.
  """
  errors.check_positive_integer('num_filters', num_filters)
  shapes = [(width, embedding_size, num_filters) for width in _WIDTHS]
  shapes.append((len(_WIDTHS) * num_filters, len(class_names)))

  def predict(
    weights: tuple[tf.Tensor, ...], tokens: tf.Tensor, training: bool
  ) -> tf.Tensor:
    del training  # The same pass in training and evaluation.
    table, *rest = weights
    *convolutions, (kernel, bias) = layers.kernels_and_biases(tuple(rest))
    is_token = _find_tokens(tokens)
    x = tf.gather(table, tokens) * is_token
    maxima = [_convolve_and_pool(x, is_token, *c) for c in convolutions]
    return tf.nn.bias_add(tf.matmul(tf.concat(maxima, axis=1), kernel), bias)

  return _create(
    predict,
    shapes,
    (vocabulary_size, embedding_size),
    sequence_length,
    class_names,
    seed,
  )


def _convolve_and_pool(
  x: tf.Tensor, is_token: tf.Tensor, kernel: tf.Tensor, bias: tf.Tensor
) -> tf.Tensor:
  """Returns each filter's maximum over the windows that begin at a token.

  Args:
    x: The embeddings [batch, length, features], zeros for padding.
    is_token: 1 for tokens and 0 for padding, [batch, length, 1].
    kernel: The convolution's kernel, [width, features, filters].
    bias: The convolution's bias, [filters].

  Returns:
    The maxima [batch, filters], at least 0; 0 for a text without tokens.
  """
  x = tf.pad(x, [[0, 0], [0, kernel.shape[0] - 1], [0, 0]])
  x = tf.nn.bias_add(tf.nn.conv1d(x, kernel, 1, 'VALID'), bias)
  # After relu nothing is below zero, so zeros of padding win no maximum.
  return tf.reduce_max(tf.nn.relu(x) * is_token, axis=1)


def _find_tokens(tokens: tf.Tensor) -> tf.Tensor:
  """Returns 1 for tokens and 0 for padding, float32 [batch, length, 1]."""
  return tf.cast(tf.not_equal(tokens, _PADDING), tf.float32)[:, :, tf.newaxis]


def _create(
  predict: supervised.Predict,
  shapes: Sequence[tuple[int, ...]],
  embedding_shape: tuple[int, int],
  sequence_length: int | None,
  class_names: Sequence[str],
  seed: int,
) -> tff.learning.models.FunctionalModel:
  """Creates a model of an embedding and layers with kernels of some shapes."""
  vocabulary_size, embedding_size = embedding_shape
  errors.check_positive_integer('vocabulary_size', vocabulary_size)
  errors.check_positive_integer('embedding_size', embedding_size)
  if sequence_length is not None:
    errors.check_positive_integer('sequence_length', sequence_length)
  class_metrics.check_class_names(class_names)
  return supervised.create_classifier(
    predict,
    (
      layers.draw_embedding(*embedding_shape, seed),
      *layers.glorot_weights(shapes, seed),
    ),
    input_shape=[sequence_length],
    input_dtype=tf.int32,
    class_names=class_names,
  )
