# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of FLANP's criterion, against NumPy."""

import math

from fedfish_tff.datasets import batches
from fedfish_tff.evaluation import gradient_norm
from fedfish_tff.evaluation import metric_names
from tests.evaluation import softmax_regression as sr

from absl.testing import parameterized
import numpy as np
import tensorflow_federated as tff

_SIZES = (3, 9, 1, 0)


def _squared_norm(weights, examples):
  """|grad L|^2 by a step of gradient descent on all examples at once."""
  after = sr.numpy_train(weights, [examples])
  return sum(
    np.sum(((np.float64(w) - a) / sr.LEARNING_RATE) ** 2)
    for w, a in zip(weights, after, strict=True)
  )


class GradientNormTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.clients = [sr.draw_examples(n, seed=n) for n in _SIZES]
    together = tuple(np.concatenate(part) for part in zip(*cls.clients))
    cls.expected = _squared_norm(sr.initial_weights(), together)

  @parameterized.parameters(*sr.MODELS)
  def test_is_of_the_mean_over_all_examples(self, name):
    model = sr.MODELS[name]
    compute = gradient_norm.build_gradient_norm(model)
    result = compute(
      sr.start_weights(model), [sr.to_dataset(c) for c in self.clients]
    )
    self.assertEqual(result['num_examples'], sum(_SIZES))
    np.testing.assert_allclose(result['squared'], self.expected, rtol=1e-5)

  def test_criterion_counts_each_example_of_a_round_once(self):
    model = sr.MODELS['functional']
    criterion = gradient_norm.AccuracyCriterion(
      gradient_norm.build_gradient_norm(model), constant=2.5
    )
    weights = tff.learning.models.ModelWeights(sr.initial_weights(), ())
    cohort = [
      batches.plan_batches(
        examples,
        batches.BatchSpec(batch_size=4, epochs=3, max_examples=5),
        client_id=str(index),
        seed=7,
        round_number=2,
      )
      for index, examples in enumerate(self.clients)
    ]
    # Those of the epochs are the same, in another order.
    used = [
      tuple(part[np.unique(client.indices)] for part in client.examples)
      for client in cohort
    ]
    together = tuple(np.concatenate(part) for part in zip(*used))
    columns = criterion(weights, cohort)
    np.testing.assert_allclose(
      columns[metric_names.GRADIENT],
      _squared_norm(sr.initial_weights(), together),
      rtol=1e-5,
    )
    self.assertEqual(
      columns[metric_names.ALLOWED_GRADIENT], 2.5 / (3 + 5 + 1 + 0)
    )
    # Nobody is accurate about nothing.
    for value in criterion(weights, []).values():
      self.assertTrue(math.isnan(value))
