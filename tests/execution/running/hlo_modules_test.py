# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Gradients in changed modules are those which NumPy adds up."""

from fedfish_tff import private_apis
from fedfish_tff.execution.pjrt import device_client
from fedfish_tff.execution.running import hlo_modules
from tests.execution.pjrt import accelerator

import numpy as np
import tensorflow as tf


class HloModulesTest(accelerator.TestCase):
  def _run(self, change, function, *arrays):
    """Returns a function's result, and its changed module's instructions."""
    specs = [tf.TensorSpec(a.shape, a.dtype) for a in arrays]
    module = private_apis.compile_to_hlo(
      tf.function(function).get_concrete_function(*specs)
    )
    change(module)
    process = device_client.DeviceProcess('cpu', cache='')
    self.addCleanup(process.stop)
    device = process.device(0)
    program = device.compile(module.SerializeToString())
    results = device.run(program, device.put(arrays))
    (found,) = device.fetch(results, program.results)
    return found, [i for c in module.computations for i in c.instructions]

  def test_gradient_of_a_kernel(self):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, 7, 5, 2)).astype(np.float32)
    upstream = rng.normal(size=(3, 3, 2, 4)).astype(np.float32)

    def gradient(x, upstream):
      return tf.raw_ops.Conv2DBackpropFilter(
        input=x,
        filter_sizes=[3, 3, 2, 4],
        out_backprop=upstream,
        strides=[1, 2, 2, 1],
        padding='VALID',
      )

    found, instructions = self._run(
      hlo_modules.order_convolutions, gradient, x, upstream
    )
    (axes,) = [
      i.convolution_dimension_numbers
      for i in instructions
      if i.opcode == 'convolution'
    ]
    self.assertEqual(
      (axes.input_batch_dimension, axes.input_feature_dimension), (0, 3)
    )
    expected = np.zeros([3, 3, 2, 4])
    for row in range(3):
      for column in range(3):
        seen = x[:, row : row + 5 : 2, column : column + 3 : 2]
        expected[row, column] = np.einsum('bhwi,bhwo->io', seen, upstream)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)

  def test_gradient_of_pooling_for_some_rows(self):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(5, 7, 6, 2)).astype(np.float32)
    num_rows = 3

    def gradient(x, num_rows):
      x = x[:num_rows]
      pooled = tf.nn.max_pool2d(x, 3, 2, 'VALID')
      (gradient,) = tf.gradients(pooled**2, x)
      # Rows beyond the batch would be counted if its size were lost.
      return tf.reduce_sum(gradient, axis=0)

    found, instructions = self._run(
      hlo_modules.fix_pooling, gradient, x, np.int32(num_rows)
    )
    (scatter,) = [i for i in instructions if i.opcode == 'select-and-scatter']
    self.assertFalse(any(scatter.shape.is_dynamic_dimension))
    expected = np.zeros_like(x)
    for i, j in np.ndindex(3, 2):
      place = np.s_[:num_rows, 2 * i : 2 * i + 3, 2 * j : 2 * j + 3]
      largest = x[place].max(axis=(1, 2), keepdims=True)
      expected[place] += 2 * largest * (x[place] == largest)
    np.testing.assert_allclose(found, expected.sum(axis=0), rtol=1e-5)
