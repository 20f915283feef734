# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A model that begins with given weights."""

from fedfish_tff import errors
from launch.methods import building
from launch.methods import registry
from launch.runs import experiment
from tests.launch import small_configs

from absl.testing import absltest
import numpy as np
import tensorflow_federated as tff


class WarmStartTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.config = small_configs.read_config('fed_avg,warm_start=model')
    self.task = experiment.create_task(self.config)

  def test_the_model_has_the_weights(self):
    initial = self.task.create_model().initial_weights[0]
    weights = tuple(np.asarray(w) + 1 for w in initial)
    model = building.prepare(
      self.config,
      self.task,
      start_weights=tff.learning.models.ModelWeights(weights, ()),
    ).model
    for found, expected in zip(model.initial_weights[0], weights, strict=True):
      np.testing.assert_array_equal(found, expected)

  def test_without_weights_nothing_is_built(self):
    with self.assertRaisesRegex(errors.InputError, 'only launch.train reads'):
      building.prepare(self.config, self.task)

  def test_runs_share_nothing(self):
    self.assertIsNone(registry.sharing_key(self.config))
