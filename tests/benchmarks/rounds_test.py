# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""All rows of the table compute the same round."""

import dataclasses

from benchmarks import rounds as rounds_lib
from benchmarks import workloads
from fedfish_tff.models import model_functions

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf


class NetworksTest(parameterized.TestCase):
  @parameterized.named_parameters(
    ('softmax_regression', 'softmax', 48_670), ('cnn', 'cnn', 1_690_046)
  )
  def test_functional_and_keras_models_agree(self, name, num_parameters):
    network = rounds_lib.NETWORKS[name]
    functional = network.create_functional()
    weights = functional.initial_weights[0]
    self.assertEqual(sum(w.size for w in weights), num_parameters)
    variable = network.create_variable_model()
    self.assertEqual(functional.input_spec, variable.input_spec)
    (x, y), (other, _) = network.generate_clients(2)
    self.assertFalse(np.array_equal(x, other))
    flat = model_functions.FlatWeights(tuple(map(tf.constant, weights)), ())
    ours, keras = (
      model_functions.bind_model(model).loss_gradients(flat, x, y)
      for model in (functional, lambda: variable)
    )
    for a, b in zip(ours, keras, strict=True):
      np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


class RoundsTest(absltest.TestCase):
  # The CNN's rows differ from these by the network only.
  def test_rows_of_fed_fish_agree(self):
    self._check_rows_agree(fed_fish=True)

  @pytest.mark.slow
  def test_rows_of_fed_avg_agree(self):
    self._check_rows_agree(fed_fish=False)

  def _check_rows_agree(self, *, fed_fish):
    clients = [
      (x[:25], y[:25])
      for x, y in rounds_lib.NETWORKS['softmax'].generate_clients(2)
    ]
    workload = dataclasses.replace(
      workloads.WORKLOADS['softmax'], fed_fish=fed_fish
    )
    rounds = rounds_lib.Rounds(workload, clients)
    self.addCleanup(rounds.close)
    results = {}
    for name in workloads.ROWS:
      run = rounds.build(name)()
      run()
      results[name] = run()
    expected = results.pop(workloads.YARDSTICK)
    for name, weights in results.items():
      with self.subTest(name):
        for a, b in zip(weights, expected, strict=True):
          np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)
    self.assertEmpty(rounds.general_path_reasons)
