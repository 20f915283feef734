# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A causal transformer that predicts the next token, as a functional model.

It is the decoder of Vaswani et al. (2017, arXiv:1706.03762) without a source,
with normalisation before each part (Radford et al. 2019, GPT-2) and one
embedding matrix for input and output tokens.

Positions are sinusoids, not weights: clients with short texts would hardly
train the later ones, and the model takes sequences of any length.
"""

from collections.abc import Iterator
from collections.abc import Mapping
import math

from fedfish_tff import errors
from fedfish_tff.datasets import random_streams
from fedfish_tff.datasets import vocabulary as vocabulary_lib
from fedfish_tff.models import language_model
from fedfish_tff.models import layers

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

# Sets of arguments of `create_transformer`; 'tiny' is for tests and CPUs.
TRANSFORMER_SIZES: Mapping[str, Mapping[str, int]] = {
  'tiny': dict(num_layers=2, num_heads=4, hidden_size=64),
  '6x384': dict(num_layers=6, num_heads=6, hidden_size=384),
  '12x768': dict(num_layers=12, num_heads=12, hidden_size=768),
}

_EPSILON = 1e-5
_FEED_FORWARD_FACTOR = 4
_LONGEST_WAVE = 10_000.0
_WEIGHTS_PER_LAYER = 12
# Softmax maps it to exactly 0, and every float type in use can hold it.
_HIDDEN = -1e9
_ACTIVATION_DTYPES = {'float32': tf.float32, 'bfloat16': tf.bfloat16}


def create_transformer(
  *,
  vocabulary_size: int,
  num_layers: int,
  num_heads: int,
  hidden_size: int,
  seed: int,
  activation_dtype: str = 'float32',
  special_tokens: vocabulary_lib.SpecialTokens = (
    vocabulary_lib.DEFAULT_SPECIAL_TOKENS
  ),
) -> tff.learning.models.FunctionalModel:
  """Creates a causal transformer with a feed-forward width of 4 x hidden.

  Args:
    vocabulary_size: The number of token ids.
    num_layers: The number of layers, each with attention and a feed-forward
      network (gelu).
    num_heads: The number of attention heads of a layer.
    hidden_size: The width of the layers, even and a multiple of `num_heads`;
      `TRANSFORMER_SIZES` has sets of these three.
    seed: The seed, which alone decides the initial weights.
    activation_dtype: 'float32', or 'bfloat16' for matrix products and their
      results, which takes half the memory. Weights, normalisation, softmax and
      logits are always float32.
    special_tokens: The ids of padding, eos and oov.

  Returns:
    A model of `language_model.create_language_model`, for sequences of any
    length: 123,653,376 weights for 12x768 and GPT-2's 50,257 tokens (GPT-2's
    own number without its positions).
  """
  layers.check_sizes(
    vocabulary_size=[vocabulary_size],
    num_layers=[num_layers],
    num_heads=[num_heads],
    hidden_size=[hidden_size],
  )
  if hidden_size % num_heads or hidden_size % 2:
    raise errors.InputError(
      f'hidden_size must be an even multiple of the {num_heads} head(s), got '
      f'{hidden_size}.'
    )
  errors.check_member('activation_dtype', activation_dtype, _ACTIVATION_DTYPES)
  dtype = _ACTIVATION_DTYPES[activation_dtype]

  def predict(
    weights: tuple[tf.Tensor, ...], tokens: tf.Tensor, training: bool
  ) -> tf.Tensor:
    del training  # The same pass in training and evaluation.
    embedding, *inner, last_scale, last_offset = weights
    shape = tf.shape(tokens)
    length = shape[1]
    x = tf.gather(embedding, tokens) + _positions(length, hidden_size)
    x = tf.cast(x, dtype)
    x = tf.reshape(x, [-1, hidden_size])
    past = tf.linalg.band_part(tf.ones([length, length]), -1, 0)
    hidden_future = _HIDDEN * (1 - past)
    for i in range(0, len(inner), _WEIGHTS_PER_LAYER):
      attention = inner[i : i + _WEIGHTS_PER_LAYER // 2]
      feed_forward = inner[i + _WEIGHTS_PER_LAYER // 2 : i + _WEIGHTS_PER_LAYER]
      normal = _normalize(x, *attention[:2])
      x += _attend(normal, attention[2:], shape, num_heads, hidden_future)
      x += _feed_forward(_normalize(x, *feed_forward[:2]), feed_forward[2:])
    x = tf.cast(_normalize(x, last_scale, last_offset), tf.float32)
    logits = tf.matmul(x, embedding, transpose_b=True)
    return tf.reshape(logits, [shape[0], length, vocabulary_size])

  return language_model.create_language_model(
    predict,
    _initial_weights(vocabulary_size, num_layers, hidden_size, seed),
    special_tokens=special_tokens,
  )


def transformer_tensor_names(num_layers: int) -> tuple[str, ...]:
  """Returns names of the trainable tensors, in the model's order.

  The embedding is also the output matrix, so only 'last_normalization' comes
  after the layers.
  """
  return tuple(name for name, _ in _shapes(1, num_layers, 1))


def _positions(length: tf.Tensor, hidden_size: int) -> tf.Tensor:
  """Returns sinusoids, float32 [length, hidden_size], with all sines first.

  Their amplitude is the standard deviation of the initial embedding.
  """
  half = hidden_size // 2
  rates = _LONGEST_WAVE ** -(np.arange(half) / half)
  angles = tf.cast(tf.range(length), tf.float32)[:, tf.newaxis] * tf.constant(
    rates, tf.float32
  )
  waves = tf.concat([tf.sin(angles), tf.cos(angles)], axis=1)
  return waves * hidden_size**-0.5


def _normalize(x: tf.Tensor, scale: tf.Tensor, offset: tf.Tensor) -> tf.Tensor:
  """Normalises rows, in float32; returns the dtype of x."""
  wide = tf.cast(x, tf.float32)
  mean, variance = tf.nn.moments(wide, [-1], keepdims=True)
  return tf.cast(
    tf.nn.batch_normalization(wide, mean, variance, offset, scale, _EPSILON),
    x.dtype,
  )


def _dense(x: tf.Tensor, kernel: tf.Tensor, bias: tf.Tensor) -> tf.Tensor:
  return tf.nn.bias_add(
    tf.matmul(x, tf.cast(kernel, x.dtype)), tf.cast(bias, x.dtype)
  )


def _attend(
  x: tf.Tensor,
  weights: list[tf.Tensor],
  shape: tf.Tensor,
  num_heads: int,
  hidden_future: tf.Tensor,
) -> tf.Tensor:
  """Returns the attention of each token to itself and those before it.

  Args:
    x: The tokens' vectors, [batch x length, hidden].
    weights: The kernels and biases for queries, keys and values, and for the
      output.
    shape: The shape of the tokens, [batch, length].
    num_heads: The number of heads.
    hidden_future: The mask of later tokens, float32 [length, length], which is
      added to the scores.
  """
  kernel, bias, last_kernel, last_bias = weights
  size = x.shape[-1] // num_heads
  inputs = tf.reshape(
    _dense(x, kernel, bias), [shape[0], shape[1], 3, num_heads, size]
  )
  queries, keys, values = tf.unstack(tf.transpose(inputs, [2, 0, 3, 1, 4]))
  scores = tf.matmul(queries * size**-0.5, keys, transpose_b=True)
  shares = tf.nn.softmax(tf.cast(scores, tf.float32) + hidden_future)
  mixed = tf.matmul(tf.cast(shares, x.dtype), values)
  joined = tf.reshape(tf.transpose(mixed, [0, 2, 1, 3]), [-1, x.shape[-1]])
  return _dense(joined, last_kernel, last_bias)


def _feed_forward(x: tf.Tensor, weights: list[tf.Tensor]) -> tf.Tensor:
  kernel, bias, last_kernel, last_bias = weights
  return _dense(tf.nn.gelu(_dense(x, kernel, bias)), last_kernel, last_bias)


def _shapes(
  vocabulary_size: int, num_layers: int, hidden_size: int
) -> Iterator[tuple[str, tuple[int, ...]]]:
  """Yields the name and shape of each weight, in order."""
  inner = _FEED_FORWARD_FACTOR * hidden_size
  parts = {'attention': (3 * hidden_size, hidden_size)}
  parts['feed_forward'] = inner, inner
  yield 'embedding/table', (vocabulary_size, hidden_size)
  for number in range(num_layers):
    for part, (width, height) in parts.items():
      name = f'layer_{number}/{part}'
      yield f'{name}_normalization/scale', (hidden_size,)
      yield f'{name}_normalization/offset', (hidden_size,)
      yield f'{name}_inputs/kernel', (hidden_size, width)
      yield f'{name}_inputs/bias', (width,)
      yield f'{name}_output/kernel', (height, hidden_size)
      yield f'{name}_output/bias', (hidden_size,)
  yield 'last_normalization/scale', (hidden_size,)
  yield 'last_normalization/offset', (hidden_size,)


def _initial_weights(
  vocabulary_size: int, num_layers: int, hidden_size: int, seed: int
) -> list[np.ndarray]:
  """Draws kernels of variance 1 / fan-in and an embedding of 1 / hidden.

  Logits then have variance one. The sum of the outputs of all 2 x layers parts
  is of order one, too, as in GPT-2. If it were much smaller than the embedding,
  each token would predict itself, since the embedding is tied.
  """
  weights = []
  for number, (name, shape) in enumerate(
    _shapes(vocabulary_size, num_layers, hidden_size)
  ):
    if len(shape) == 1:
      weight = np.full(shape, name.endswith('/scale'))
    else:
      deviation = (hidden_size if number == 0 else shape[0]) ** -0.5
      if name.endswith('_output/kernel'):
        # It is added to the residual stream.
        deviation /= math.sqrt(2 * num_layers)
      stream = random_streams.random_generator('initial weights', seed, number)
      weight = deviation * stream.standard_normal(shape, np.float32)
    weights.append(weight.astype(np.float32))
  return weights
