# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of a method that stands outside of the package."""

from examples import wine
from fedfish_tff import datasets
from fedfish_tff.execution import contexts
from launch.methods import building
from launch.methods import config_checks
from launch.runs import experiment

from absl.testing import absltest
import numpy as np

_METHOD = 'examples.clipped_fed_avg:METHOD'


class ClippedFedAvgTest(absltest.TestCase):
  def test_no_round_moves_the_model_further_than_the_norm(self):
    contexts.set_default_context()
    for norm in (0.01, 100.0):
      config = wine.get_config(f'{_METHOD}').to_dict()
      config['algorithm']['clipping_norm'] = norm
      config = config_checks.read(config)
      task = experiment.create_task(config)
      process = building.build_method(config, task).process
      state = process.initialize()
      batches = [
        datasets.sequential_batches(
          task.train.load_client(c), client_id=c, batch_size=8
        ).to_dataset()
        for c in task.train.client_ids[:3]
      ]
      before = process.get_model_weights(state).trainable
      state = process.next(state, batches).state
      after = process.get_model_weights(state).trainable
      moved = np.sqrt(
        sum(np.sum(np.square(a - b)) for a, b in zip(after, before))
      )
      if norm < 1:
        # The mean of deltas of that norm, but for rounding.
        self.assertLess(moved, norm * (1 + 1e-5))
        self.assertGreater(moved, norm / 10)
      else:
        self.assertGreater(moved, 0.01)
