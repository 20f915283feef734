# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Sampled labels follow the distribution that the model's output stands for."""

from fedfish_tff import models
from tests import tolerance

from absl.testing import parameterized
import numpy as np
from scipy import stats
import tensorflow as tf

_SEED = tf.constant([1, 2])


class LabelSamplersTest(parameterized.TestCase):
  def test_categorical_frequencies(self):
    p = np.float32([0.1, 0.2, 0.7])
    n = 5000
    labels = models.categorical_label_sampler()(
      tf.constant(np.tile(np.log(p) + 3.0, (n, 1))),
      tf.zeros([n], tf.int32),
      _SEED,
    )
    self.assertEqual(labels.dtype, tf.int32)
    counts = np.bincount(labels.numpy(), minlength=3)
    self.assertGreater(stats.chisquare(counts, p * n).pvalue, 1e-3)

  def test_categorical_takes_the_labels_shape_and_dtype(self):
    sampler = models.categorical_label_sampler()
    for shape, dtype in (([4, 1], tf.int64), ([2, 2], tf.int32)):
      logits = tf.zeros([4, 3]) if shape == [4, 1] else tf.zeros([2, 2, 3])
      drawn = sampler(logits, tf.zeros(shape, dtype), _SEED)
      self.assertEqual(drawn.shape, shape)
      self.assertEqual(drawn.dtype, dtype)

  def test_tokens_without_padding(self):
    p = np.float32([0.4, 0.1, 0.2, 0.3])
    rows, length, padding = 50, 100, 2
    labels = np.zeros([rows, length], np.int64)
    labels[:, 90:] = padding
    drawn = models.token_label_sampler(padding=padding)(
      tf.constant(np.tile(np.log(p), (rows, length, 1))),
      tf.constant(labels),
      _SEED,
    )
    self.assertEqual(drawn.dtype, tf.int64)
    np.testing.assert_array_equal(drawn[:, 90:], padding)
    counts = np.bincount(drawn.numpy()[:, :90].ravel(), minlength=4)
    self.assertEqual(counts[padding], 0)
    p[padding] = 0
    kept = np.delete(p / p.sum(), padding)
    test = stats.chisquare(np.delete(counts, padding), kept * counts.sum())
    self.assertGreater(test.pvalue, 1e-3)

  @parameterized.parameters(np.nan, np.inf, -np.inf)
  def test_diverged_predictions_give_labels_that_a_loss_takes(self, value):
    drawn = models.categorical_label_sampler()(
      tf.fill([20, 3], np.float32(value)), tf.zeros([20], tf.int32), _SEED
    )
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
      labels=drawn, logits=tf.zeros([20, 3])
    )
    tolerance.assert_close(losses, np.log(3), relative=tolerance.FLOAT32)

  def test_gaussian_moments(self):
    predictions = tf.fill([5000, 1], 3.0)
    drawn = models.gaussian_label_sampler()(
      predictions, tf.zeros([5000, 1]), _SEED
    )
    expected = stats.norm(loc=3.0, scale=np.sqrt(0.5))
    result = stats.kstest(drawn.numpy().ravel(), expected.cdf)
    self.assertGreater(result.pvalue, 1e-3)

  def test_seed_decides(self):
    sampler = models.gaussian_label_sampler()
    one, again, other = (
      sampler(tf.zeros([8]), tf.zeros([8]), tf.constant([0, s])).numpy()
      for s in (1, 1, 2)
    )
    np.testing.assert_array_equal(one, again)
    self.assertGreater(np.abs(one - other).min(), 0)
