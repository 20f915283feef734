# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tensors of NumPy arrays without a copy."""

import numpy as np
import tensorflow as tf
from tensorflow.python.eager import context as eager_context
from tensorflow.python.framework import ops


def share_memory(array: np.ndarray) -> tf.Tensor:
  """Returns a tensor that shares an array's memory where TensorFlow can.

  `tf.constant` copies an array twice, in case it changes later.

  Args:
    array: Must not change as long as the tensor, or what shares its memory, is
      in use. Strings are objects of type bytes.
  """
  context = eager_context.context()
  context.ensure_initialized()
  dtype = tf.string if array.dtype == object else tf.as_dtype(array.dtype)
  number = dtype.as_datatype_enum
  return ops.EagerTensor(
    array, '/job:localhost/replica:0/task:0/device:CPU:0', number
  )
