# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of FedFish as configs build it."""

import dataclasses

from fedfish_tff import errors
from launch.configs import digits
from launch.methods import building
from launch.methods import config_checks
from launch.runs import experiment

from absl.testing import absltest


class FedFishTest(absltest.TestCase):
  def test_rejects_sampled_labels_of_a_model_without_a_distribution(self):
    config = digits.get_config('sampled_label').to_dict()
    task = dataclasses.replace(
      experiment.create_task(config_checks.read(config)), label_sampler=None
    )
    with self.assertRaisesRegex(
      errors.InputError, "model of task 'digits' defines"
    ):
      building.build_method(config_checks.read(config), task)
