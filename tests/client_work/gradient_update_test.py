# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""One client's mean gradient, against NumPy."""

from fedfish_tff import client_work
from tests import client_updates
from tests import numpy_reference as ref

from absl.testing import absltest
import hypothesis
from hypothesis import strategies as st
import numpy as np


class GradientUpdateTest(absltest.TestCase):
  @hypothesis.settings(max_examples=6)
  @hypothesis.given(n=st.integers(1, 12), batch_size=st.integers(1, 5))
  def test_is_the_full_batch_gradient_whatever_the_batches(self, n, batch_size):
    batches = ref.make_batches(n, 0, batch_size=batch_size)
    result = client_updates.run_update(
      client_work.build_gradient_update(), batches
    )
    expected = ref.full_gradient(ref.initial_weights(), batches)
    for a, e in zip(result.update['delta'], expected, strict=True):
      np.testing.assert_allclose(a, e, rtol=1e-4, atol=1e-6)
    self.assertEqual(result.weight, n)

  def test_what_would_overflow_in_the_sum_leaves_the_client_out(self):
    # A mean gradient of finite length, which times 100 examples is not.
    result = client_updates.run_update(
      client_work.build_gradient_update(),
      ref.make_batches(100, 0),
      model=ref.create_functional_model(loss_scale=1e38),
    )
    _, _, excluded, _ = client_work.leave_out_non_finite(result, result.metrics)
    self.assertEqual(excluded, 1)
