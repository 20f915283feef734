# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the classifiers of texts, against loops in NumPy."""

from fedfish_tff import errors
from tasks.networks import text_models
from tests import tolerance

from absl.testing import parameterized
import hypothesis
from hypothesis import strategies
import numpy as np
import tensorflow as tf

_CLASSES = ('one', 'two', 'three')
_CREATE = (
  text_models.create_bag_of_tokens_classifier,
  text_models.create_text_cnn,
)
_SIZES = dict(vocabulary_size=11, class_names=_CLASSES, embedding_size=5)


def _texts(seed, lengths):
  rng = np.random.default_rng(seed)
  return [rng.integers(1, 11, n).astype(np.int32) for n in lengths]


def _pad(texts, length):
  return np.array([np.pad(t, (0, length - len(t))) for t in texts], np.int32)


def _random_weights(model):
  rng = np.random.default_rng(5)
  return tuple(
    (w + 0.3 * rng.standard_normal(w.shape)).astype(np.float32)
    for w in model.initial_weights[0]
  )


def _predict(model, weights, x, training=False):
  return model.predict_on_batch((weights, ()), x, training=training).numpy()


def _bag_of_tokens(weights, text):
  table, kernel, bias = weights
  mean = table[text].mean(axis=0) if len(text) else np.zeros(table.shape[1])
  return mean @ kernel + bias


def _text_cnn(weights, text):
  """A window, a filter at a time."""
  table, *convolutions, kernel, bias = weights
  maxima = []
  for width, w, b in zip((3, 4, 5), convolutions[::2], convolutions[1::2]):
    rows = np.concatenate([table[text], np.zeros([width - 1, table.shape[1]])])
    outputs = [np.zeros(len(b))] + [
      np.tensordot(rows[t : t + width], w, axes=2) + b for t in range(len(text))
    ]
    maxima.append(np.max(outputs, axis=0))
  return np.concatenate(maxima) @ kernel + bias


class TextModelsTest(parameterized.TestCase):
  @parameterized.parameters(
    (text_models.create_bag_of_tokens_classifier, _bag_of_tokens, {}),
    (text_models.create_text_cnn, _text_cnn, dict(num_filters=6)),
  )
  def test_is_the_published_model(self, create, expected, sizes):
    model = create(**_SIZES, **sizes, seed=0)
    weights = _random_weights(model)

    @hypothesis.settings(max_examples=15)
    @hypothesis.given(
      seed=strategies.integers(0, 999),
      lengths=strategies.lists(
        strategies.integers(0, 9), min_size=1, max_size=4
      ),
      padding=strategies.integers(0, 6),
    )
    def check(seed, lengths, padding):
      texts = _texts(seed, lengths)
      x = _pad(texts, max(*lengths, 1) + padding)
      for training in (True, False):
        tolerance.assert_close(
          _predict(model, weights, x, training),
          [expected(weights, text) for text in texts],
        )

    check()

  @parameterized.parameters(*_CREATE)
  def test_padding_has_no_gradient(self, create):
    model = create(**_SIZES, seed=0)
    weights = tuple(map(tf.constant, _random_weights(model)))
    x = _pad(_texts(0, [4, 7]), 9)
    with tf.GradientTape() as tape:
      tape.watch(weights)
      loss = model.loss(model.predict_on_batch((weights, ()), x), [0, 2])
    table, *others = map(tf.convert_to_tensor, tape.gradient(loss, weights))
    np.testing.assert_array_equal(table[0], 0)
    for gradient in (table, *others):
      self.assertGreater(np.abs(gradient).max(), 0)

  def test_length_of_texts(self):
    for create in _CREATE:
      for length in (None, 6):
        model = create(**_SIZES, seed=0, sequence_length=length)
        self.assertEqual(
          model.input_spec,
          (
            tf.TensorSpec([None, length], tf.int32),
            tf.TensorSpec([None], tf.int32),
          ),
        )

  @parameterized.parameters(
    (dict(sequence_length=-1), 'sequence_length .*got -1'),
    (dict(class_names=('a',)), 'at least two'),
  )
  def test_bad_options(self, options, regex):
    for create in _CREATE:
      with self.assertRaisesRegex(errors.InputError, regex):
        create(**{**_SIZES, **options}, seed=0)
    with self.assertRaisesRegex(errors.InputError, 'num_filters .*got 0'):
      text_models.create_text_cnn(**_SIZES, seed=0, num_filters=0)
