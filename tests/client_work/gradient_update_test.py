# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""One client's mean gradient, eagerly, against NumPy."""

from fedfish_tff import client_work
from fedfish_tff import models
from tests import numpy_reference as ref

from absl.testing import absltest
import hypothesis
from hypothesis import strategies as st
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff


def _update(batches, *, model=None, **kwargs):
  update_fn = client_work.build_gradient_update(**kwargs)
  bound = models.bind_model(model or ref.create_functional_model())
  flat = models.FlatWeights(
    tuple(tf.constant(w) for w in ref.initial_weights()), ()
  )
  run = tf.function(lambda d: update_fn(bound, flat, d, tf.constant(1)))
  return run(ref.to_dataset(batches))


class GradientUpdateTest(absltest.TestCase):
  @hypothesis.settings(max_examples=6, deadline=None)
  @hypothesis.given(n=st.integers(1, 12), batch_size=st.integers(1, 5))
  def test_is_the_full_batch_gradient_whatever_the_batches(self, n, batch_size):
    result = _update(ref.make_batches(n, 0, batch_size=batch_size))
    ((x, y),) = ref.make_batches(n, 0, batch_size=n)
    expected = ref.gradients(ref.initial_weights(), x, y)
    for a, e in zip(result.update['delta'], expected):
      np.testing.assert_allclose(a, e, rtol=1e-4, atol=1e-6)
    self.assertEqual(result.weight, n)

  def test_empty_client_weighs_nothing(self):
    for weighting in tff.learning.ClientWeighting:
      result = _update([], client_weighting=weighting)
      self.assertEqual(result.weight, 0)
      self.assertTrue(client_work.all_finite(result.update))

  def test_what_would_overflow_in_the_sum_leaves_the_client_out(self):
    # A mean gradient of finite length, which times 100 examples is not.
    result = _update(
      ref.make_batches(100, 0),
      model=ref.create_functional_model(loss_scale=1e38),
    )
    _, _, excluded, _ = client_work.leave_out_non_finite(result, result.metrics)
    self.assertEqual(excluded, 1)
