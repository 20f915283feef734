# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the recurrent models, against TFF's baseline and NumPy."""

import functools

from tasks.networks import recurrent_language_model
from tests import tolerance
from tests.models import model_checks

from absl.testing import parameterized
import numpy as np
from scipy import special
from scipy import stats
import tensorflow as tf
import tensorflow_federated as tff

# 20 words, padding, oov, bos and eos.
_SIZE = 24


def _create(**kwargs):
  return recurrent_language_model.create_stackoverflow_rnn(
    **{
      **dict(vocabulary_size=_SIZE, embedding_size=6, lstm_size=5, seed=0),
      **kwargs,
    }
  )


def _create_character_lstm():
  return recurrent_language_model.create_character_lstm(
    vocabulary_size=_SIZE, embedding_size=6, lstm_size=5, seed=0
  )


def _create_cifg(**kwargs):
  return recurrent_language_model.create_cifg_lstm(
    **{
      **dict(vocabulary_size=_SIZE, embedding_size=6, lstm_size=5, seed=0),
      **kwargs,
    }
  )


def _cifg_logits(weights, tokens, recurrent_projection):
  """Computes the logits of one sequence, a gate at a time."""
  embedding, kernel, recurrent, bias, projection = weights
  units = len(projection)
  gates = [slice(i * units, (i + 1) * units) for i in range(3)]
  cell = np.zeros(units)
  fed_back = np.zeros(len(recurrent))
  rows = []
  for token in tokens:
    let_in, new, let_out = (
      embedding[token] @ kernel[:, g] + fed_back @ recurrent[:, g] + bias[g]
      for g in gates
    )
    let_in = special.expit(let_in)
    cell = (1 - let_in) * cell + let_in * np.tanh(new)
    output = special.expit(let_out) * np.tanh(cell)
    fed_back = output @ projection if recurrent_projection else output
    rows.append(embedding @ (output @ projection))
  return np.stack(rows)


def _cifg_loss(weights, x, y, recurrent_projection):
  """Returns the mean over labels that are no padding, which comes last."""
  losses = []
  for tokens, labels in zip(x, y):
    labels = labels[labels > 0]
    logits = _cifg_logits(weights, tokens[: len(labels)], recurrent_projection)
    log_shares = special.log_softmax(logits, axis=1)
    losses += [-row[label] for row, label in zip(log_shares, labels)]
  return np.mean(losses)


def _keras_model():
  """Returns the Keras model of TFF's task on Stack Overflow."""
  task = tff.simulation.baselines.stackoverflow.create_word_prediction_task(
    tff.simulation.baselines.ClientSpec(num_epochs=1, batch_size=2),
    vocab_size=_SIZE - 4,
    use_synthetic_data=True,
  )
  return task.model_fn()._keras_model


def _random_weights(model):
  rng = np.random.default_rng(4)
  return [
    (w + 0.1 * rng.standard_normal(w.shape)).astype(np.float32)
    for w in model.initial_weights[0]
  ]


_tokens = functools.partial(model_checks.draw_tokens, _SIZE)


def _predict(model, weights, x):
  return model.predict_on_batch((weights, ()), x, training=True).numpy()


class RecurrentLanguageModelTest(parameterized.TestCase):
  def test_is_tffs_model(self):
    model = _create(embedding_size=96, lstm_size=670)
    weights = _random_weights(model)
    keras_model = _keras_model()
    keras_model.set_weights(weights)
    x, y = _tokens(3, 9)
    x[1, 5:] = y[1, 5:] = 0
    logits = _predict(model, weights, x)
    expected = keras_model(x).numpy()
    tolerance.assert_close(logits[y > 0], expected[y > 0])

    tensors = list(map(tf.constant, weights))
    with tf.GradientTape(persistent=True) as tape:
      tape.watch(tensors)
      loss = model.loss(model.predict_on_batch((tensors, ()), x), y)
      losses = tf.keras.losses.sparse_categorical_crossentropy(
        y, keras_model(x), from_logits=True
      )
      keras_loss = tf.reduce_mean(losses[y > 0])
    tolerance.assert_close(loss.numpy(), keras_loss.numpy())
    for found, wanted in zip(
      tape.gradient(loss, tensors),
      tape.gradient(keras_loss, keras_model.trainable_weights),
      strict=True,
    ):
      tolerance.assert_close(
        tf.convert_to_tensor(found), tf.convert_to_tensor(wanted)
      )

  @parameterized.parameters(_create, _create_character_lstm)
  def test_is_the_same_in_numpy(self, create):
    model = create()
    weights = _random_weights(model)
    x, _ = _tokens(2, 6)
    embedding, kernel, recurrent, bias, *dense = (
      w.astype(np.float64) for w in weights
    )
    for tokens, logits in zip(x, _predict(model, weights, x)):
      output = cell = np.zeros(5)
      for token, row in zip(tokens, logits):
        gates = embedding[token] @ kernel + output @ recurrent + bias
        let_in, keep, new, let_out = np.split(gates, 4)
        cell = special.expit(keep) * cell + special.expit(let_in) * np.tanh(new)
        output = special.expit(let_out) * np.tanh(cell)
        expected = output
        for k, b in zip(dense[::2], dense[1::2]):
          expected = expected @ k + b
        tolerance.assert_close(row, expected)

  def test_number_of_weights(self):
    """As Reddi et al. publish it."""
    model = recurrent_language_model.create_stackoverflow_rnn(
      vocabulary_size=10_004, seed=0
    )
    count = sum(w.size for w in model.initial_weights[0])
    self.assertEqual(count, 4_050_748)

  def test_initial_weights(self):
    model = _create(vocabulary_size=300, embedding_size=40, lstm_size=32)
    weights = model.initial_weights[0]
    embedding, _, recurrent, bias, _, b1, _, b2 = weights
    test = stats.kstest(embedding.ravel() / 0.05, 'uniform', (-1, 2))
    self.assertGreater(test.pvalue, 1e-3)
    tolerance.assert_close(recurrent @ recurrent.T, np.eye(32))
    np.testing.assert_array_equal(bias, np.repeat([0, 1, 0, 0], 32))
    self.assertFalse(np.any(b1) or np.any(b2))


class CifgLstmTest(parameterized.TestCase):
  @parameterized.parameters(
    (True, 6, 5), (False, 6, 5), (True, 7, 2), (False, 7, 2)
  )
  def test_is_the_same_in_numpy(self, projected, embedding_size, lstm_size):
    """The same holds where sequences have different lengths."""
    model = _create_cifg(
      recurrent_projection=projected,
      embedding_size=embedding_size,
      lstm_size=lstm_size,
    )
    weights = _random_weights(model)
    x, y = _tokens(3, 8)
    y[1, 5:] = 0
    y[2, 1:] = 0
    logits = _predict(model, weights, x)
    doubles = [w.astype(np.float64) for w in weights]
    for row, tokens, labels in zip(logits, x, y):
      length = np.sum(labels > 0)
      tolerance.assert_close(
        row[:length], _cifg_logits(doubles, tokens[:length], projected)
      )
    tolerance.assert_close(
      model.loss(logits, y).numpy(), _cifg_loss(doubles, x, y, projected)
    )

  @parameterized.parameters(True, False)
  def test_gradient_is_that_of_the_reference(self, projected):
    model = _create_cifg(recurrent_projection=projected)
    weights = [w.astype(np.float64) for w in _random_weights(model)]
    x, y = _tokens(3, 6)
    y[1, 3:] = 0
    model_checks.check_gradient(
      self,
      model,
      weights,
      (x, y),
      lambda weights: _cifg_loss(weights, x, y, projected),
      delta=1e-5,
    )

  @parameterized.parameters((True, 1_412_250), (False, 2_565_990))
  def test_number_of_weights(self, projected, expected):
    """Hard et al. publish 1.4 M."""
    model = recurrent_language_model.create_cifg_lstm(
      vocabulary_size=10_000, seed=0, recurrent_projection=projected
    )
    count = sum(w.size for w in model.initial_weights[0])
    self.assertEqual(count, expected)

  @parameterized.parameters((True, 40), (False, 40), (True, 100))
  def test_initial_weights(self, projected, embedding_size):
    sizes = dict(
      embedding_size=embedding_size, lstm_size=32, vocabulary_size=99
    )
    model = _create_cifg(**sizes, recurrent_projection=projected)
    weights = model.initial_weights[0]
    _, _, recurrent, bias, _ = weights
    fed_back = embedding_size if projected else 32
    self.assertEqual(recurrent.shape, (fed_back, 96))
    values = np.linalg.svd(recurrent, compute_uv=False)
    tolerance.assert_close(values, np.ones(min(fed_back, 96)))
    np.testing.assert_array_equal(bias, np.repeat([-1, 0, 0], 32))
