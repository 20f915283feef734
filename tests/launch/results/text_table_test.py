# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of numbers and tables as text."""

from launch.results import text_table

from absl.testing import parameterized


class QuantityTest(parameterized.TestCase):
  @parameterized.parameters(
    (12, '0.012 k'),
    (999, '0.999 k'),
    (1_234, '1.23 k'),
    (45_600, '45.6 k'),
    (999_499, '999 k'),
    (999_600, '1 M'),
    (2.5e6, '2.5 M'),
    (999.6e6, '1 G'),
    (139e9, '139 G'),
    (1e12, '1 T'),
    (3.21e15, '3.21 P'),
  )
  def test_three_digits_are_below_a_thousand(self, number, expected):
    self.assertEqual(text_table.quantity(number), expected)
