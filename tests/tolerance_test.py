# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0

from tests import tolerance

from absl.testing import parameterized
import numpy as np


class AssertCloseTest(parameterized.TestCase):
  @parameterized.named_parameters(
    ('small_beside_large', [1e-4, 100.0], [2e-4, 100.0], None),
    ('infinite', [np.inf, 1.0], [np.inf, 1.000001], None),
    ('cancelled', [1e-7, -1e-7], [0.0, 0.0], 0.5),
    ('exactly_zero', [0.0], [0.0], None),
    ('empty', [], [], None),
  )
  def test_close(self, actual, expected, scale):
    tolerance.assert_close(actual, expected, relative=1e-5, scale=scale)

  @parameterized.named_parameters(
    ('off', [1e-4, 100.0], [2e-3, 100.0], None),
    ('beside_infinity', [np.inf, 1.0], [np.inf, 1.1], None),
    ('not_a_number', [np.nan, 1.0], [0.0, 1.0], None),
    # Nothing tells how large zero's rounding may be.
    ('no_scale', [1e-30], [0.0], None),
    ('shape', [1.0, 1.0], [1.0, 1.0, 1.0], None),
  )
  def test_not_close(self, actual, expected, scale):
    with self.assertRaisesRegex(AssertionError, 'the third'):
      tolerance.assert_close(
        actual, expected, relative=1e-5, scale=scale, err_msg='the third'
      )
