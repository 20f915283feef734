# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for local_functions."""

from fedfish_tff.execution.reading import local_functions

from absl.testing import absltest
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff


class SequencesTest(absltest.TestCase):
  def test_select_of_named_slices(self):
    # A type as compilation leaves it: names, but no Python container.
    element_type = tff.StructType([('id', np.int32), ('name', np.str_)])

    class Slice(local_functions.LocalFunction):
      def trace(self, arg, tracer):
        raise NotImplementedError

      def __call__(self, arg=None):
        return arg[1], tf.strings.as_string(arg[1])

    select = local_functions.Select(
      tff.FunctionType(
        [tff.TensorType(np.int32, [2]), np.float32],
        tff.SequenceType(element_type),
      ),
      Slice(tff.FunctionType([np.float32, np.int32], element_type)),
    )
    for keys in ([3, 1], []):
      elements = list(select((tf.constant(keys, tf.int32), tf.constant(0.0))))
      self.assertEqual(
        [(int(e['id']), e['name'].numpy()) for e in elements],
        [(key, str(key).encode()) for key in keys],
      )
