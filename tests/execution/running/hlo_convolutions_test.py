# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A kernel's gradient in another order of axes is that which NumPy adds up."""

from fedfish_tff import private_apis
from fedfish_tff.execution.pjrt import device_client
from fedfish_tff.execution.running import hlo_convolutions
from tests.execution.pjrt import accelerator

import numpy as np
import tensorflow as tf


class HloConvolutionsTest(accelerator.TestCase):
  def test_gradient_of_a_kernel(self):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, 7, 5, 2)).astype(np.float32)
    upstream = rng.normal(size=(3, 3, 2, 4)).astype(np.float32)

    @tf.function
    def gradient(x, upstream):
      return tf.raw_ops.Conv2DBackpropFilter(
        input=x,
        filter_sizes=[3, 3, 2, 4],
        out_backprop=upstream,
        strides=[1, 2, 2, 1],
        padding='VALID',
      )

    module = private_apis.compile_to_hlo(
      gradient.get_concrete_function(
        tf.TensorSpec(x.shape), tf.TensorSpec(upstream.shape)
      )
    )
    hlo_convolutions.order_axes(module)
    (axes,) = [
      i.convolution_dimension_numbers
      for c in module.computations
      for i in c.instructions
      if i.opcode == 'convolution'
    ]
    self.assertEqual(
      (axes.input_batch_dimension, axes.input_feature_dimension), (0, 3)
    )
    process = device_client.DeviceProcess('cpu', cache='')
    self.addCleanup(process.stop)
    device = process.device(0)
    program = device.compile(module.SerializeToString())
    results = device.run(program, device.put([x, upstream]))
    (found,) = device.fetch(results, program.results)
    expected = np.zeros([3, 3, 2, 4])
    for row in range(3):
      for column in range(3):
        seen = x[:, row : row + 5 : 2, column : column + 3 : 2]
        expected[row, column] = np.einsum('bhwi,bhwo->io', seen, upstream)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
