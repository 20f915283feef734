# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of FedMA as configs build it."""

import dataclasses
from unittest import mock

from fedfish_tff import algorithms
from fedfish_tff import errors
from launch.methods import building
from launch.runs import experiment
from tests.launch import small_configs

from absl.testing import absltest
import numpy as np
import tensorflow as tf


class FedMaTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.config = small_configs.read_config('fed_ma', **{'algorithm.growth': 3})
    self.task = experiment.create_task(self.config)

  def test_the_server_s_model_is_as_wide_as_it_may_become(self):
    built = building.build_method(self.config, self.task)
    state = built.process.initialize()
    width = 3 * small_configs.NUM_FEATURES
    self.assertEqual(state['counts'][0].shape, (width,))
    self.assertEqual(
      [w.shape for w in built.model.initial_weights[0]],
      [(64, width), (width,), (width, 10), (10,)],
    )
    self.assertEqual(built.process.extra_passes, 1)

  def test_the_last_layer_has_a_rate_and_a_decay_of_its_own(self):
    with mock.patch.object(algorithms, 'build_fed_ma') as build:
      building.build_method(self.config, self.task)
    optimizer = build.call_args.kwargs['last_layer_optimizer_fn']
    weights, gradients = tf.constant([3.0]), tf.constant([2.0])
    state = optimizer.initialize(tf.TensorSpec([1]))
    _, after = optimizer.next(state, weights, gradients)
    rate = 0.1 * self.config.client_learning_rate
    np.testing.assert_allclose(after, 3 - rate * (2 + 1e-4 * 3), rtol=1e-6)

  def test_tasks_without_models_of_other_widths(self):
    task = dataclasses.replace(self.task, create_sized_model=None)
    with self.assertRaisesRegex(errors.InputError, 'task .*digits'):
      building.build_method(self.config, task)
