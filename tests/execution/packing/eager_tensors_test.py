# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for eager_tensors."""

from fedfish_tff.execution.packing import eager_tensors

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf


class ShareMemoryTest(parameterized.TestCase):
  @parameterized.parameters(
    np.float32, np.float64, np.int32, np.int64, np.uint8, np.bool_, np.float16
  )
  def test_holds_the_array(self, dtype):
    array = np.arange(12).reshape(3, 4).astype(dtype)
    tensor = eager_tensors.share_memory(array)
    self.assertEqual(tensor.dtype, tf.as_dtype(dtype))
    np.testing.assert_array_equal(tensor.numpy(), array)

  def test_strings(self):
    array = np.array([b'a', b'', b'nul\0'], object)
    tensor = eager_tensors.share_memory(array)
    self.assertEqual(tensor.dtype, tf.string)
    self.assertEqual(list(tensor.numpy()), [b'a', b'', b'nul\0'])

  def test_views_that_are_not_contiguous(self):
    array = np.arange(20.0).reshape(4, 5)[::2, 1:4]
    np.testing.assert_array_equal(
      eager_tensors.share_memory(array).numpy(), [[1, 2, 3], [11, 12, 13]]
    )

  def test_the_memory_lives_as_long_as_the_tensor(self):
    tensors = [
      eager_tensors.share_memory(np.full([1000, 100], i, np.float32))
      for i in range(20)
    ]
    for i, tensor in enumerate(tensors):
      self.assertEqual(float(tf.reduce_sum(tensor)), i * 100_000.0)

  def test_empty_and_scalar(self):
    self.assertEqual(eager_tensors.share_memory(np.zeros([0, 3])).shape, [0, 3])
    self.assertEqual(eager_tensors.share_memory(np.array(7)).numpy(), 7)


if __name__ == '__main__':
  absltest.main()
