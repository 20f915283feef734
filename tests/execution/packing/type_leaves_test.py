# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for structures."""

from fedfish_tff.execution.packing import type_leaves

from absl.testing import absltest
import numpy as np
import tensorflow_federated as tff

_FLOAT = tff.TensorType(np.float32)
_TEXTS = tff.TensorType(np.str_, [None])
_SEQUENCE = tff.SequenceType(np.int32)
_B = tff.StructType([_TEXTS, tff.StructType([])])
_C = tff.StructType([('d', _SEQUENCE)])
_NESTED = tff.StructType([('a', _FLOAT), ('b', _B), ('c', _C)])


class StructuresTest(absltest.TestCase):
  def test_leaves_in_order_and_back(self):
    value = (1.0, ('x', ()), ('s',))
    leaves = type_leaves.flatten(value)
    self.assertEqual(leaves, [1.0, 'x', 's'])
    # Only as many as are needed are taken.
    rest = iter([*leaves, 'more'])
    self.assertEqual(type_leaves.unflatten(rest, _NESTED), value)
    self.assertEqual(list(rest), ['more'])
    self.assertEqual(type_leaves.flatten(2), [2])
