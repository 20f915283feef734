# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of steps and updates of clients."""

from fedfish_tff import client_work
from fedfish_tff import parameters
from tests import client_updates
from tests import numpy_reference as ref
from tests import tolerance

from absl.testing import absltest
from absl.testing import parameterized
import hypothesis
from hypothesis import strategies as st
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff


class PlainSgdTest(absltest.TestCase):
  def test_the_rate_is_that_of_schedules_without_the_decay(self):
    optimizer = client_work.build_weight_decay_optimizer(
      client_work.build_rate_parameter_optimizer(
        tff.learning.optimizers.build_sgdm(7.0), 'rate', factor_name='factor'
      ),
      0.5,
    )

    @tff.tensorflow.computation
    def rate():
      return client_work.learning_rate(optimizer)

    self.assertEqual(rate(), 7.0)
    with parameters.replaced({'rate': 0.8, 'factor': 0.25}):
      self.assertAlmostEqual(rate(), 0.2)

  def test_the_distance_with_momentum_is_a_sum_of_powers(self):
    optimizer = tff.learning.optimizers.build_sgdm(0.1, momentum=0.6)
    for steps in (0, 1, 5):
      found = client_work.distance_of_unit_gradients(
        optimizer, tf.constant(steps, tf.int64)
      )
      # Step k has the momentum of k + 1 gradients of 1.
      expected = sum(0.6**i for k in range(steps) for i in range(k + 1))
      np.testing.assert_allclose(found, 0.1 * expected, rtol=1e-6)


class NesterovTest(absltest.TestCase):
  def test_steps_are_those_of_keras(self):
    keras = tf.keras.optimizers.SGD(0.3, momentum=0.9, nesterov=True)
    expected = tf.Variable(np.ones([2, 3], np.float32))
    optimizer = client_work.build_nesterov(0.3, 0.9)
    weights = (tf.ones([2, 3]), tf.ones([2]))
    state = optimizer.initialize(
      tf.nest.map_structure(tf.TensorSpec.from_tensor, weights)
    )
    rng = np.random.default_rng(0)
    for step in range(4):
      gradient = tf.constant(rng.normal(size=[2, 3]).astype(np.float32))
      keras.apply_gradients([(gradient, expected)])
      if step % 2:  # As that of an embedding is.
        gradient = tf.IndexedSlices(gradient, tf.range(2), tf.constant([2, 3]))
      # The loss does not depend on the second weight.
      state, weights = optimizer.next(state, weights, (gradient, None))
    np.testing.assert_allclose(weights[0], expected, rtol=1e-6)
    np.testing.assert_array_equal(weights[1], [1, 1])


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


_SGD = tff.learning.optimizers.build_sgdm(0.3)


class ModelDeltaTest(parameterized.TestCase):
  # TFF counts each epoch's examples.
  @parameterized.parameters(
    (tff.learning.ClientWeighting.NUM_EXAMPLES, 14),
    (tff.learning.ClientWeighting.UNIFORM, 1),
  )
  def test_equals_numpy(self, weighting, weight):
    batches = ref.make_batches(7, 0)
    update_fn = client_work.build_model_delta_update(
      _SGD, client_weighting=weighting
    )
    result = client_updates.run_update(update_fn, batches, epochs=2)
    start = ref.initial_weights()
    trained = ref.train(start, batches, rate=0.3, epochs=2)
    tolerance.assert_all_close(
      result.update['delta'],
      [s - e for s, e in zip(start, trained)],
      least_scale=max(np.abs(s).max() for s in start),
    )
    self.assertEqual(result.weight, weight)
