# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Both kinds of a network's model compute the same."""

from fedfish_tff.models import model_functions
from launch.benchmarks import models

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf


class ModelsTest(parameterized.TestCase):
  @parameterized.named_parameters(
    ('softmax_regression', models.SOFTMAX_REGRESSION, 48_670),
    ('cnn', models.CNN, 1_690_046),
  )
  def test_kinds_agree(self, network, num_parameters):
    functional = network.create_functional()
    weights = functional.initial_weights[0]
    self.assertEqual(sum(w.size for w in weights), num_parameters)
    variable = network.create_variable_model()
    self.assertEqual(functional.input_spec, variable.input_spec)
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(3, *network.example_shape)).astype(np.float32)
    y = np.array([0, 5, 61], np.int32)
    flat = model_functions.FlatWeights(tuple(map(tf.constant, weights)), ())
    ours, keras = (
      model_functions.bind_model(model).loss_gradients(flat, x, y)
      for model in (functional, lambda: variable)
    )
    for a, b in zip(ours, keras, strict=True):
      np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)

  @parameterized.named_parameters(
    ('tiny', models.TINY_TRANSFORMER, 362_240),
    ('6x384', models.TRANSFORMER_6X384, 22_935_552),
  )
  def test_transformers(self, network, num_parameters):
    weights = network.create_functional().initial_weights[0]
    self.assertEqual(sum(w.size for w in weights), num_parameters)


if __name__ == '__main__':
  absltest.main()
