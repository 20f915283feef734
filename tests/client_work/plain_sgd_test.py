# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Rates and distances of SGD; scaffold_test and fed_nova_test have refusals."""

from fedfish_tff import client_work
from fedfish_tff import parameters

from absl.testing import absltest
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
