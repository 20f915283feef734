# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Recurrent models: TFF's of Stack Overflow, FedMA's of letters, a keyboard's.

All are one layer that starts at zero; what a step does is the cell's.
"""

from collections.abc import Callable
import itertools

from fedfish_tff.datasets import random_streams
from fedfish_tff.datasets import vocabulary as vocabulary_lib
from fedfish_tff.models import language_model
from fedfish_tff.models import layers

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

# Names of the trainable tensors, in the model's order.
STACKOVERFLOW_RNN_TENSORS = (
  'embedding/table',
  'lstm/kernel',
  'lstm/recurrent',
  'lstm/bias',
  *layers.kernel_and_bias_names(('projection', 'output')),
)
CHARACTER_LSTM_TENSORS = (
  'embedding/table',
  'lstm/kernel',
  'lstm/recurrent',
  'lstm/bias',
  *layers.kernel_and_bias_names(('output',)),
)
CIFG_LSTM_TENSORS = (
  'embedding/table',
  'cifg/kernel',
  'cifg/recurrent',
  'cifg/bias',
  'projection/kernel',
)

# Of Keras's embeddings.
_EMBEDDING_LIMIT = 0.05
# How many words a keyboard has room to suggest: one, or three in a row.
_NUM_SUGGESTIONS = (1, 3)

# (inputs of all gates, the cell's state) -> (output, new state), of a batch.
_Cell = Callable[[tf.Tensor, tf.Tensor], tuple[tf.Tensor, tf.Tensor]]


def create_stackoverflow_rnn(
  *,
  vocabulary_size: int,
  seed: int,
  embedding_size: int = 96,
  lstm_size: int = 670,
  special_tokens: vocabulary_lib.SpecialTokens = (
    vocabulary_lib.DEFAULT_SPECIAL_TOKENS
  ),
) -> tff.learning.models.FunctionalModel:
  """Creates an LSTM between an embedding and two dense layers.

  The model of Reddi et al. (2021, arXiv:2003.00295) and of
  `tff.simulation.baselines.stackoverflow`'s word prediction, with weights drawn
  as Keras draws them. Where padding comes last, as in `token_chunks`, outputs
  for all tokens are those of TFF's model, which stands still at padding.

  Args:
    vocabulary_size: Number of token ids.
    seed: The initial weights are a function of it alone.
    embedding_size: Width of the embedding and of the layer after the LSTM.
    lstm_size: Units of the LSTM.
    special_tokens: The ids of padding, end and what is out of vocabulary.

  Returns:
    A model as of `language_model.create_language_model`: 4,050,748 weights for
    10,004 tokens.

  Raises:
    errors.InputError: If a size is not a positive integer.
  """
  return _create_lstm(
    (vocabulary_size, embedding_size, lstm_size, embedding_size),
    seed,
    special_tokens,
  )


def create_character_lstm(
  *,
  vocabulary_size: int,
  seed: int,
  embedding_size: int = 8,
  lstm_size: int = 256,
  special_tokens: vocabulary_lib.SpecialTokens = (
    vocabulary_lib.DEFAULT_SPECIAL_TOKENS
  ),
) -> tff.learning.models.FunctionalModel:
  """Creates an LSTM between an embedding and a dense layer.

  The model of Wang et al. (2020, arXiv:2002.06440) for Shakespeare's characters,
  with weights drawn as Keras draws them. Theirs predicts the one character after
  a window of 80; this one, as the other models here, the one after each.

  Args:
    vocabulary_size: Number of token ids.
    seed: The initial weights are a function of it alone.
    embedding_size: Width of the embedding.
    lstm_size: Units of the LSTM.
    special_tokens: The ids of padding, end and what is out of vocabulary.

  Returns:
    A model as of `language_model.create_language_model`: 292,560 weights for 80
    tokens.

  Raises:
    errors.InputError: If a size is not a positive integer.
  """
  return _create_lstm(
    (vocabulary_size, embedding_size, lstm_size), seed, special_tokens
  )


def create_cifg_lstm(
  *,
  vocabulary_size: int,
  seed: int,
  embedding_size: int = 96,
  lstm_size: int = 670,
  recurrent_projection: bool = True,
  special_tokens: vocabulary_lib.SpecialTokens = (
    vocabulary_lib.DEFAULT_SPECIAL_TOKENS
  ),
) -> tff.learning.models.FunctionalModel:
  """Creates a keyboard's model: an LSTM that forgets what it lets in.

  The model of Hard et al. (2018, arXiv:1811.03604): coupled gates, f = 1 - i
  (CIFG), and one embedding E for the words that go in and those that come out,
  without a bias: logits = (output P) E^T, P being [lstm_size, embedding_size].

  What the layer feeds back is output P, as Sak et al. (2014, arXiv:1402.1128)
  project it. The paper does not say so; its 1.4 M weights do. With its 10,000
  words they are 960,000 + 3 ((96 + 96) 670 + 670) + 670 x 96 = 1,412,250; a
  layer that feeds back its output has 960,000 + 3 ((96 + 670) 670 + 670) +
  670 x 96 = 2,565,990. (A bias of the logits would add 10,000 to either.)

  Args:
    vocabulary_size: Number of token ids.
    seed: The initial weights are a function of it alone.
    embedding_size: Width of the embedding and of P.
    lstm_size: Units of the LSTM.
    recurrent_projection: Whether output P is fed back; else the output is, and
      P only leads to the logits.
    special_tokens: The ids of padding, begin, end and what is out of
      vocabulary.

  Returns:
    A model as of `language_model.create_language_model`, with top_1_recall and
    top_3_recall; its tensors are `CIFG_LSTM_TENSORS`.

  Raises:
    errors.InputError: If a size is not a positive integer.
  """
  layers.check_sizes(
    vocabulary_size=[vocabulary_size],
    embedding_size=[embedding_size],
    lstm_size=[lstm_size],
  )

  def predict(
    weights: tuple[tf.Tensor, ...], tokens: tf.Tensor, training: bool
  ) -> tf.Tensor:
    del training  # The same pass in training and evaluation.
    embedding, kernel, recurrent, bias, projection = weights

    def projected_cell(
      gates: tf.Tensor, state: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
      output, state = _cifg(gates, state)
      return tf.matmul(output, projection), state

    shape = tf.shape(tokens)
    x = _run(
      tf.gather(embedding, tf.transpose(tokens)),
      kernel,
      recurrent,
      bias,
      cell=projected_cell if recurrent_projection else _cifg,
      units=lstm_size,
    )
    if not recurrent_projection:
      x = tf.matmul(x, projection)
    x = tf.matmul(x, embedding, transpose_b=True)
    return tf.reshape(x, [shape[0], shape[1], vocabulary_size])

  kernel, bias, projection, _ = layers.glorot_weights(
    [(embedding_size, 3 * lstm_size), (lstm_size, embedding_size)], seed
  )
  bias[:lstm_size] = -1  # It keeps at first.
  fed_back = embedding_size if recurrent_projection else lstm_size
  return language_model.create_language_model(
    predict,
    [
      layers.draw_embedding(vocabulary_size, embedding_size, seed),
      kernel,
      _orthogonal(fed_back, 3 * lstm_size, seed),
      bias,
      projection,
    ],
    special_tokens=special_tokens,
    recall_at=_NUM_SUGGESTIONS,
  )


def _create_lstm(
  sizes: tuple[int, ...],
  seed: int,
  special_tokens: vocabulary_lib.SpecialTokens,
) -> tff.learning.models.FunctionalModel:
  """Creates an LSTM between an embedding and dense layers.

  Args:
    sizes: Of the vocabulary, the embedding, the LSTM, and of dense layers
      before the last one.
    seed: Of the initial weights.
    special_tokens: Of the vocabulary.
  """
  vocabulary_size, embedding_size, lstm_size, *_ = sizes
  layers.check_sizes(
    vocabulary_size=[vocabulary_size],
    embedding_size=[embedding_size],
    lstm_size=[lstm_size],
  )

  def predict(
    weights: tuple[tf.Tensor, ...], tokens: tf.Tensor, training: bool
  ) -> tf.Tensor:
    del training  # The same pass in training and evaluation.
    embedding, kernel, recurrent, bias, *dense = weights
    shape = tf.shape(tokens)
    # Time comes first: a step of the LSTM is a row.
    x = tf.gather(embedding, tf.transpose(tokens))
    x = _run(x, kernel, recurrent, bias, cell=_lstm, units=lstm_size)
    for dense_kernel, dense_bias in layers.kernels_and_biases(tuple(dense)):
      x = tf.nn.bias_add(tf.matmul(x, dense_kernel), dense_bias)
    return tf.reshape(x, [shape[0], shape[1], vocabulary_size])

  return language_model.create_language_model(
    predict, _initial_weights(sizes, seed), special_tokens=special_tokens
  )


def _lstm(gates: tf.Tensor, state: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
  """Gates that let in, that keep, what comes in, and the gate that lets out."""
  let_in, keep, new, let_out = tf.split(gates, 4, axis=1)
  state = tf.sigmoid(keep) * state + tf.sigmoid(let_in) * tf.tanh(new)
  return tf.sigmoid(let_out) * tf.tanh(state), state


def _cifg(gates: tf.Tensor, state: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
  """As `_lstm`, but that the gate that keeps is one less that which lets in."""
  let_in, new, let_out = tf.split(gates, 3, axis=1)
  state += tf.sigmoid(let_in) * (tf.tanh(new) - state)
  return tf.sigmoid(let_out) * tf.tanh(state), state


def _run(
  x: tf.Tensor,
  kernel: tf.Tensor,
  recurrent: tf.Tensor,
  bias: tf.Tensor,
  *,
  cell: _Cell,
  units: int,
) -> tf.Tensor:
  """Returns the outputs of a layer that starts at zero.

  Args:
    x: [length, batch, features].
    kernel: [features, gates x units], of the gates in the cell's order; an
      LSTM's is that of Keras.
    recurrent: [outputs, gates x units].
    bias: [gates x units].
    cell: What a step does.
    units: Width of the cell's state.

  Returns:
    [batch x length, outputs].
  """
  length, batch = tf.unstack(tf.shape(x)[:2])
  # All steps' inputs in one product; only the recurrent one needs the loop.
  rows = tf.matmul(tf.reshape(x, [-1, kernel.shape[0]]), kernel)
  inputs = tf.reshape(
    tf.nn.bias_add(rows, bias), [length, batch, kernel.shape[1]]
  )

  def step(
    last: tuple[tf.Tensor, tf.Tensor], row: tf.Tensor
  ) -> tuple[tf.Tensor, tf.Tensor]:
    output, state = last
    return cell(row + tf.matmul(output, recurrent), state)

  outputs = recurrent.shape[0]
  start = tf.zeros([batch, outputs]), tf.zeros([batch, units])
  x, _ = tf.scan(step, inputs, start)
  return tf.reshape(tf.transpose(x, [1, 0, 2]), [-1, outputs])


def _initial_weights(sizes: tuple[int, ...], seed: int) -> list[np.ndarray]:
  """Draws the weights: embedding, LSTM, kernels and biases; see `_create_lstm`.

  The LSTM keeps at first: the bias of the gate that does is one.
  """
  vocabulary_size, embedding_size, lstm_size, *_ = sizes
  stream = random_streams.random_generator('initial weights', seed, 'embedding')
  embedding = stream.uniform(
    -_EMBEDDING_LIMIT, _EMBEDDING_LIMIT, [vocabulary_size, embedding_size]
  )
  kernel, bias, *dense = layers.glorot_weights(
    [
      (embedding_size, 4 * lstm_size),
      *itertools.pairwise((*sizes[2:], vocabulary_size)),
    ],
    seed,
  )
  bias[lstm_size : 2 * lstm_size] = 1
  return [
    embedding.astype(np.float32),
    kernel,
    _orthogonal(lstm_size, 4 * lstm_size, seed),
    bias,
    *dense,
  ]


def _orthogonal(rows: int, columns: int, seed: int) -> np.ndarray:
  """Returns orthonormal rows (or columns, if fewer), of no preferred direction.

  Args:
    rows: How many.
    columns: How many.
    seed: The matrix is a function of it and its shape.
  """
  stream = random_streams.random_generator('initial weights', seed, 'recurrent')
  shape = max(rows, columns), min(rows, columns)
  q, r = np.linalg.qr(stream.standard_normal(shape))
  q = (q * np.sign(np.diag(r))).astype(np.float32)
  return q.T if rows < columns else q
