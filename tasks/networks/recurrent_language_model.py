# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Recurrent language models.

They are TFF's for Stack Overflow, FedMA's for characters and a keyboard's. Each
has one recurrent layer that starts at zero; its cell computes a step.
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

_LSTM = ('embedding/table', 'lstm/kernel', 'lstm/recurrent', 'lstm/bias')
# The names of the trainable tensors, in the model's order.
STACKOVERFLOW_RNN_TENSORS = (
  *_LSTM,
  *layers.kernel_and_bias_names(('projection', 'output')),
)
CHARACTER_LSTM_TENSORS = (*_LSTM, *layers.kernel_and_bias_names(('output',)))
CIFG_LSTM_TENSORS = (
  'embedding/table',
  'cifg/kernel',
  'cifg/recurrent',
  'cifg/bias',
  'projection/kernel',
)

# The limit of Keras' uniform initial embeddings.
_EMBEDDING_LIMIT = 0.05
# The numbers of words that a keyboard suggests: one, or three in a row.
_NUM_SUGGESTIONS = (1, 3)

# Maps (inputs of all gates, the cell's state) to (output, new state), for a
# batch.
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

  It is the model of Reddi et al. (2021, arXiv:2003.00295) and of
  `tff.simulation.baselines.stackoverflow`'s word prediction, with initial
  weights drawn as in Keras. TFF's model skips padding. If padding comes last,
  as in `token_chunks`, both models' outputs for all tokens are equal.

  Args:
    vocabulary_size: The number of token ids.
    seed: The seed, which alone decides the initial weights.
    embedding_size: The width of the embedding and of the layer after the LSTM.
    lstm_size: The number of units of the LSTM.
    special_tokens: The ids of padding, eos and oov.

  Returns:
    A model of `language_model.create_language_model`: 4,050,748 weights for
    10,004 tokens.
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

  It is the model of Wang et al. (2020, arXiv:2002.06440) for Shakespeare's
  characters, with initial weights drawn as in Keras. Theirs predicts the
  character after a window of 80; this one predicts the next character at each
  place, like the other models here.

  Args:
    vocabulary_size: The number of token ids.
    seed: The seed, which alone decides the initial weights.
    embedding_size: The width of the embedding, the input of the LSTM.
    lstm_size: The number of units of the LSTM.
    special_tokens: The ids of padding, eos and oov.

  Returns:
    A model of `language_model.create_language_model`: 292,560 weights for 80
    tokens.
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
  """Creates a keyboard's model: an LSTM with coupled gates.

  It is the model of Hard et al. (2018, arXiv:1811.03604): coupled input and
  forget gates, f = 1 - i (CIFG), and one embedding E for input and output
  words, without a bias: logits = (output P) E^T, with P [lstm_size,
  embedding_size].

  The layer feeds back output P, the projection of Sak et al. (2014,
  arXiv:1402.1128). This follows from the paper's 1.4 M weights, not from its
  text. With its 10,000 words there are 960,000 + 3 ((96 + 96) 670 + 670) +
  670 x 96 = 1,412,250 weights; a layer that feeds back its output has 960,000 +
  3 ((96 + 670) 670 + 670) + 670 x 96 = 2,565,990. (A bias of the logits would
  add 10,000 to either.)

  Args:
    vocabulary_size: The number of token ids.
    seed: The seed, which alone decides the initial weights.
    embedding_size: The width of the embedding and of P.
    lstm_size: The number of units of the LSTM.
    recurrent_projection: Whether output P is fed back; otherwise the output is,
      and P only leads to the logits.
    special_tokens: The ids of padding, bos, eos and oov.

  Returns:
    A model of `language_model.create_language_model`, with top_1_recall and
    top_3_recall; its tensors are `CIFG_LSTM_TENSORS`.
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
  bias[:lstm_size] = -1  # The cell keeps its state at first.
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
    sizes: The sizes of the vocabulary, the embedding, the LSTM, and the dense
      layers before the last one.
    seed: The seed of the initial weights.
    special_tokens: The ids of padding, bos, eos and oov.
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
    # Time is the first axis: a step of the LSTM takes a row.
    x = tf.gather(embedding, tf.transpose(tokens))
    x = _run(x, kernel, recurrent, bias, cell=_lstm, units=lstm_size)
    for dense_kernel, dense_bias in layers.kernels_and_biases(tuple(dense)):
      x = tf.nn.bias_add(tf.matmul(x, dense_kernel), dense_bias)
    return tf.reshape(x, [shape[0], shape[1], vocabulary_size])

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
  bias[lstm_size : 2 * lstm_size] = 1  # The LSTM keeps its state at first.
  return language_model.create_language_model(
    predict,
    [
      embedding.astype(np.float32),
      kernel,
      _orthogonal(lstm_size, 4 * lstm_size, seed),
      bias,
      *dense,
    ],
    special_tokens=special_tokens,
  )


def _lstm(gates: tf.Tensor, state: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
  """Computes an LSTM's step; its gates are input, forget, cell and output."""
  let_in, keep, new, let_out = tf.split(gates, 4, axis=1)
  state = tf.sigmoid(keep) * state + tf.sigmoid(let_in) * tf.tanh(new)
  return tf.sigmoid(let_out) * tf.tanh(state), state


def _cifg(gates: tf.Tensor, state: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
  """Computes a step like `_lstm` with the forget gate 1 - the input gate."""
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
    x: The inputs, [length, batch, features].
    kernel: The inputs' kernel, [features, gates x units], with the gates in the
      cell's order; an LSTM's order is that of Keras.
    recurrent: The recurrent kernel, [outputs, gates x units].
    bias: The gates' bias, [gates x units].
    cell: The function that computes a step.
    units: The width of the cell's state.

  Returns:
    [batch x length, outputs].
  """
  length, batch = tf.unstack(tf.shape(x)[:2])
  # One product serves the inputs of all steps; the recurrent one needs a loop.
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


def _orthogonal(rows: int, columns: int, seed: int) -> np.ndarray:
  """Returns orthonormal rows (or columns, if fewer) of uniform direction.

  The seed and the shape decide the matrix.
  """
  stream = random_streams.random_generator('initial weights', seed, 'recurrent')
  shape = max(rows, columns), min(rows, columns)
  q, r = np.linalg.qr(stream.standard_normal(shape))
  q = (q * np.sign(np.diag(r))).astype(np.float32)
  return q.T if rows < columns else q
