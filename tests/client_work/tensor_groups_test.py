# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Groups of tensors by the names of their layers."""

from fedfish_tff import client_work
from fedfish_tff import errors
from fedfish_tff.client_work import tensor_groups

from absl.testing import parameterized


class TensorGroupsTest(parameterized.TestCase):
  def test_tensors_of_a_layer_are_one_group(self):
    self.assertEqual(
      client_work.group_by_layer(
        ['a/dense/kernel', 'a/dense/bias', 'scale', 'b/kernel', 'a/dense/x']
      ),
      (0, 0, 1, 2, 0),
    )

  def test_names_without_layers_are_for_themselves(self):
    self.assertEqual(client_work.group_by_layer(['w', 'b', 'w']), (0, 1, 2))

  @parameterized.parameters(
    ([], 'a name for each tensor'),
    (['one/kernel', 'one/bias'], 'of several layers, got one'),
  )
  def test_bad_names(self, names, message):
    with self.assertRaisesRegex(errors.InputError, message):
      client_work.group_by_layer(names)

  @parameterized.parameters(((),), ((0, 2),), ((1, 2),), ((-1, 0),))
  def test_bad_groups(self, groups):
    with self.assertRaisesRegex(errors.InputError, 'without a gap'):
      tensor_groups.check_groups(groups)
