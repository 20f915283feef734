# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for federated_operations."""

from fedfish_tff.execution.reading import expressions
from fedfish_tff.execution.reading import federated_operations

from absl.testing import absltest
import tensorflow_federated as tff

_A = expressions.Value(0)


class ToExpressionTest(absltest.TestCase):
  def test_refuses_other_placements(self):
    for placed, wanted in (
      (tff.CLIENTS, None),
      (tff.SERVER, tff.CLIENTS),
      (None, tff.CLIENTS),
    ):
      with self.subTest(f'{placed} {wanted}'):
        with self.assertRaisesRegex(ValueError, 'Cannot'):
          federated_operations.to_expression(
            (federated_operations.Placed(placed, _A),), wanted
          )
