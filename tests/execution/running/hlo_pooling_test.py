# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A gradient of max-pooling over some rows is that which NumPy adds up."""

from fedfish_tff import private_apis
from fedfish_tff.execution.pjrt import device_client
from fedfish_tff.execution.running import hlo_pooling
from tests.execution.pjrt import accelerator

import numpy as np
import tensorflow as tf


class HloPoolingTest(accelerator.TestCase):
  def test_gradient_for_some_rows(self):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(5, 7, 6, 2)).astype(np.float32)
    num_rows = 3

    @tf.function
    def gradient(x, num_rows):
      x = x[:num_rows]
      pooled = tf.nn.max_pool2d(x, 3, 2, 'VALID')
      (gradient,) = tf.gradients(pooled**2, x)
      # Rows beyond the batch would be counted if its size were lost.
      return tf.reduce_sum(gradient, axis=0)

    module = private_apis.compile_to_hlo(
      gradient.get_concrete_function(
        tf.TensorSpec(x.shape), tf.TensorSpec([], tf.int32)
      )
    )
    hlo_pooling.fix_sizes(module)
    (scatter,) = [
      i
      for c in module.computations
      for i in c.instructions
      if i.opcode == 'select-and-scatter'
    ]
    self.assertFalse(any(scatter.shape.is_dynamic_dimension))
    process = device_client.DeviceProcess('cpu', cache='')
    self.addCleanup(process.stop)
    device = process.device(0)
    program = device.compile(module.SerializeToString())
    results = device.run(program, device.put([x, np.int32(num_rows)]))
    (found,) = device.fetch(results, program.results)
    expected = np.zeros_like(x)
    for i, j in np.ndindex(3, 2):
      place = np.s_[:num_rows, 2 * i : 2 * i + 3, 2 * j : 2 * j + 3]
      largest = x[place].max(axis=(1, 2), keepdims=True)
      expected[place] += 2 * largest * (x[place] == largest)
    np.testing.assert_allclose(found, expected.sum(axis=0), rtol=1e-5)
