# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the checks of labels."""

from fedfish_tff import errors
from tasks import class_labels

from absl.testing import absltest
import numpy as np


class ClassLabelsTest(absltest.TestCase):
  def test_labels(self):
    class_labels.check_labels('y', np.array([0, 4]), 5)
    with self.assertRaisesRegex(
      errors.InputError, r"'y' .*2 label\(s\) such as -1"
    ):
      class_labels.check_labels('y', np.array([0, -1, 5]), 5)
    with self.assertRaisesRegex(
      errors.InputError, r"'y' .*1 label\(s\) such as nan"
    ):
      class_labels.check_labels('y', np.array([0, np.nan]), 5)
