# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for finite_checks."""

from fedfish_tff import finite_checks

from absl.testing import absltest
import numpy as np
import tensorflow as tf


class AllFiniteTest(absltest.TestCase):
  def test_finds_a_single_bad_element(self):
    good = [tf.zeros([3]), (tf.ones([2, 2]), tf.constant(1))]
    self.assertTrue(finite_checks.all_finite(good))
    for bad in (np.nan, np.inf, -np.inf):
      self.assertFalse(
        finite_checks.all_finite([good, tf.constant([0.0, bad])])
      )
    self.assertTrue(finite_checks.all_finite([tf.constant(1)]))
