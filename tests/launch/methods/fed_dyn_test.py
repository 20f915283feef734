# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of FedDyn as configs build it."""

from tests.launch import small_configs

from absl.testing import absltest
import numpy as np


class FedDynTest(absltest.TestCase):
  def test_clients_begin_without_a_linear_term(self):
    process = small_configs.build('fed_dyn').process
    new = process.initialize_client(process.initialize())
    self.assertNotEmpty(new)
    for tensor in new:
      self.assertFalse(np.any(tensor))
