# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what policies are built from."""

import types

from launch.methods import config_checks
from launch.methods import policy
from tests.launch import small_configs

from absl.testing import absltest


class IngredientsTest(absltest.TestCase):
  def test_a_tenth_more_is_a_tenth_more(self):
    config = small_configs.make_timed_config(
      'uniform', over_selection=0.1, cohort_size=70
    )
    clients = types.SimpleNamespace(client_ids=range(1000))
    parts = policy.Ingredients(
      config=config_checks.read(config),
      task=types.SimpleNamespace(train=clients),
      speeds=None,
      accuracy_stages=None,
    )
    self.assertEqual(parts.count_over_selected(), 77)
