# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of FedDyn as configs build it."""

from launch.methods import config_checks
from launch.methods import registry
from launch.runs import experiment
from tests.launch import small_configs

from absl.testing import absltest
import numpy as np


class FedDynTest(absltest.TestCase):
  def test_clients_begin_without_a_linear_term(self):
    config = small_configs.make_config('fed_dyn')
    task = experiment.create_task(config_checks.read(config))
    process = registry.build_method(config_checks.read(config), task).process
    new = process.initialize_client(process.initialize())
    self.assertNotEmpty(new)
    for tensor in new:
      self.assertFalse(np.any(tensor))
