# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what the functional models share."""

import collections

from fedfish_tff.models import supervised
from tests.models import model_checks

from absl.testing import absltest
import numpy as np
import tensorflow as tf


class SupervisedTest(absltest.TestCase):
  def test_classifier(self):
    rng = np.random.default_rng(0)
    kernel = rng.normal(size=[6, 4]).astype(np.float32)
    model = supervised.create_classifier(
      lambda weights, x, training: tf.reshape(x, [-1, 6]) @ weights[0],
      [kernel],
      input_shape=[2, 3],
    )
    self.assertEqual(
      model.input_spec,
      (
        tf.TensorSpec([None, 2, 3], tf.float32),
        tf.TensorSpec([None], tf.int32),
      ),
    )
    x = rng.normal(size=[7, 2, 3]).astype(np.float32)
    y = rng.integers(0, 4, 7).astype(np.int32)
    metrics = model_checks.measure(model, [(x[:5], y[:5]), (x[5:], y[5:])])
    logits = (x.reshape(7, 6) @ kernel).astype(np.float64)
    losses = np.log(np.exp(logits).sum(axis=1)) - logits[np.arange(7), y]
    np.testing.assert_allclose(metrics['loss'], losses.mean(), rtol=1e-5)
    np.testing.assert_allclose(
      metrics['accuracy'], np.mean(logits.argmax(axis=1) == y), rtol=1e-6
    )
    self.assertEqual(metrics['num_examples'], 7)
    sample_weight = rng.random(7)
    np.testing.assert_allclose(
      model.loss(logits.astype(np.float32), y, sample_weight),
      (losses * sample_weight).sum() / 7,
      rtol=1e-5,
    )

  def test_training_is_passed_on(self):
    model = supervised.create_supervised_model(
      lambda weights, x, training: x * (2.0 if training else 1.0) + weights[0],
      [np.zeros([1], np.float32)],
      example_loss=lambda output, label: tf.abs(output - label)[:, 0],
      metrics=collections.OrderedDict(),
      input_spec=(tf.TensorSpec([None, 1]), tf.TensorSpec([None, 1])),
    )
    x = np.array([[1.0], [3.0]], np.float32)
    for training, expected in ((True, 2 * x), (False, x)):
      output = model.predict_on_batch(
        model.initial_weights, x, training=training
      )
      np.testing.assert_array_equal(output, expected)
    self.assertEqual(model.loss(x, 0 * x).numpy(), 2)
    self.assertEqual(model_checks.measure(model, [(x, x)]), {'num_examples': 2})
