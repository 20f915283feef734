# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Names of tensors in measurements."""

from fedfish_tff import errors
from fedfish_tff.aggregators import tensor_names

from absl.testing import parameterized
import numpy as np
import tensorflow_federated as tff

_TYPES = [tff.TensorType(np.float32, s) for s in ((2, 3), (), (4,))]


class TensorNamesTest(parameterized.TestCase):
  def test_by_position_and_shape(self):
    self.assertEqual(
      tensor_names.name_tensors(_TYPES), ['0_2x3', '1_scalar', '2_4']
    )

  def test_given(self):
    names = ('a/kernel', 'a/bias', 'b')
    self.assertEqual(tensor_names.name_tensors(_TYPES, names), list(names))

  @parameterized.parameters((('a', 'b'),), (('a', 'b', 'a'),), ((),))
  def test_too_few_different_names(self, names):
    with self.assertRaisesRegex(errors.InputError, 'trainable tensors'):
      tensor_names.name_tensors(_TYPES, names)
