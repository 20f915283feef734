# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what every partition asks of its arguments."""

import re

from fedfish_tff import errors
from fedfish_tff.datasets import partition_checks

from absl.testing import parameterized
import numpy as np


class PartitionChecksTest(parameterized.TestCase):
  def test_labels_may_be_any_vector(self):
    for labels in ([1, 2], ['a'], np.zeros(3)):
      np.testing.assert_array_equal(
        partition_checks.check_labels(labels), labels
      )

  @parameterized.parameters(([],), (5,), (np.zeros([2, 2]),))
  def test_labels_that_are_no_vector(self, labels):
    with self.assertRaisesRegex(errors.InputError, 'coarse labels to'):
      partition_checks.check_labels(labels, 'coarse labels')

  def test_vectors_are_not_called_labels(self):
    with self.assertRaisesRegex(
      errors.InputError, r'keys .*vector with one entry per .*\[0\]'
    ):
      partition_checks.check_vector([], 'keys')

  @parameterized.parameters(([None, 'a'],), ([1, 'a'],), ([None, 1.5],))
  def test_labels_without_an_order(self, labels):
    with self.assertRaisesRegex(
      errors.InputError, 'labels to partition by .*cannot be put in order'
    ):
      partition_checks.check_labels(np.array(labels, object))

  def test_numbers_in_range(self):
    partition_checks.check_concentration('alpha', 1e-300)
    partition_checks.check_concentration('alpha', 1e100)
    partition_checks.check_enough_examples(6, num_clients=2, min_examples=3)

  @parameterized.parameters(0, -0.1, 1e308, np.inf, np.nan)
  def test_not_a_concentration(self, value):
    with self.assertRaisesRegex(
      errors.InputError, rf'beta must be .*got {re.escape(str(value))}'
    ):
      partition_checks.check_concentration('beta', value)

  def test_too_few_examples(self):
    with self.assertRaisesRegex(
      errors.InputError, '5 examples cannot give 2 clients at least 3 each'
    ):
      partition_checks.check_enough_examples(5, num_clients=2, min_examples=3)
