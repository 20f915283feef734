# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Fisher estimators against NumPy: hand-derived gradients, exact expectation."""

from fedfish_tff import client_work
from fedfish_tff import models
from fedfish_tff.models import augmentation
from tests import client_updates
from tests import numpy_reference as ref
from tests import tolerance

from absl.testing import absltest
from absl.testing import parameterized
import hypothesis
from hypothesis import strategies as st
import numpy as np
import tensorflow as tf

_Estimator = client_work.FisherEstimator
_Normalization = client_work.FisherNormalization


def _fisher(batches, weights, **kwargs):
  kwargs.setdefault('normalization', _Normalization.SUM)
  diagonal, num_examples = client_updates.run(
    lambda *args: client_work.fisher_diagonal(*args, **kwargs),
    batches,
    weights=weights,
  )
  return [d.numpy() for d in diagonal], int(num_examples)


class FisherTest(parameterized.TestCase):
  @hypothesis.settings(max_examples=8)
  @hypothesis.given(
    sizes=st.integers(1, 13),
    batch_size=st.integers(1, 5),
    per_example=st.booleans(),
    mean=st.booleans(),
    seed=st.integers(0, 1000),
  )
  def test_equals_numpy(self, sizes, batch_size, per_example, mean, seed):
    batches = ref.make_batches(sizes, seed, batch_size=batch_size)
    weights = ref.initial_weights(seed)
    actual, num_examples = _fisher(
      batches,
      weights,
      estimator=_Estimator.PER_EXAMPLE
      if per_example
      else _Estimator.BATCH_GRADIENT,
      normalization=_Normalization.MEAN if mean else _Normalization.SUM,
    )
    expected = ref.fisher(weights, batches, per_example=per_example)
    terms = sizes if per_example else len(batches)
    self.assertEqual(num_examples, sizes)
    for a, e in zip(actual, expected):
      np.testing.assert_allclose(
        a, e / (terms if mean else 1), rtol=1e-4, atol=1e-7
      )

  def test_batches_of_one_make_the_paper_estimator_per_example(self):
    batches = ref.make_batches(6, 0, batch_size=1)
    weights = ref.initial_weights()
    batch, _ = _fisher(batches, weights, estimator=_Estimator.BATCH_GRADIENT)
    example, _ = _fisher(batches, weights, estimator=_Estimator.PER_EXAMPLE)
    tolerance.assert_all_close(batch, example)

  def test_without_data_it_is_zero(self):
    for normalization in _Normalization:
      actual, num_examples = _fisher(
        [],
        ref.initial_weights(),
        estimator=_Estimator.BATCH_GRADIENT,
        normalization=normalization,
      )
      self.assertEqual(num_examples, 0)
      for a in actual:
        np.testing.assert_array_equal(a, np.zeros_like(a))

  def test_sampled_labels_estimate_the_true_fisher(self):
    # Two distinct inputs, many draws: the mean tends to the exact expectation
    # over the model's own labels, which NumPy sums over all classes.
    weights = ref.initial_weights(1)
    x = np.random.default_rng(0).normal(size=(2, ref.NUM_FEATURES))
    x = x.astype(np.float32)
    repeats = 2000
    stacked = np.repeat(x, repeats, axis=0)
    order = np.random.default_rng(1).permutation(len(stacked))
    wrong_labels = np.zeros(len(stacked), np.int32)
    batches = [(stacked[i], wrong_labels[i]) for i in np.split(order, 8)]
    actual, _ = _fisher(
      batches,
      weights,
      estimator=_Estimator.SAMPLED_LABEL,
      normalization=_Normalization.MEAN,
      label_sampler=models.categorical_label_sampler(),
      seed=3,
    )
    p = ref.probabilities(weights, x)
    expected = [np.zeros(w.shape) for w in weights]
    for i in range(len(x)):
      for label in range(ref.NUM_CLASSES):
        gradient = ref.gradients(
          weights, x[i : i + 1], np.array([label], np.int32)
        )
        for e, g in zip(expected, gradient):
          e += p[i, label] * g**2 / len(x)
    for a, e in zip(actual, expected):
      # 4,000 draws: a standard error of a few per cent of the largest entry.
      np.testing.assert_allclose(a, e, rtol=0.15, atol=0.03 * e.max())
    empirical = ref.fisher(weights, batches, per_example=True)
    self.assertGreater(
      np.abs(empirical[3] / len(stacked) - expected[3]).max(),
      0.2 * expected[3].max(),
    )


class FingerprintTest(absltest.TestCase):
  def test_depends_on_the_content_and_not_on_the_order(self):
    x = np.random.default_rng(0).normal(size=(64, 4)).astype(np.float32)
    other = x.copy()
    other[3, 1] += 1e-3
    words = tf.constant(['a', 'b'])
    for a, same, different in (
      (x, x[::-1].copy(), other),
      (np.arange(5), np.arange(5)[::-1].copy(), np.arange(6)),
      (words, words[::-1], tf.constant(['a', 'c'])),
    ):
      first, again, changed = (
        int(augmentation.fingerprint(tf.constant(v)))
        for v in (a, same, different)
      )
      self.assertEqual(first, again)
      self.assertNotEqual(first, changed)
