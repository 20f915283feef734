# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The check that updates, weights and sums are finite, for every room."""

from typing import Any

import tensorflow as tf


def all_finite(tensors: Any) -> tf.Tensor:
  """Returns a bool scalar: whether all elements of all tensors are finite.

  Args:
    tensors: A nest of tensors; those that are not floating are finite.
  """
  checks = [
    tf.reduce_all(tf.math.is_finite(tensor))
    for tensor in map(tf.convert_to_tensor, tf.nest.flatten(tensors))
    if tensor.dtype.is_floating
  ]
  return tf.reduce_all(tf.stack(checks)) if checks else tf.constant(True)
