# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of FedSGD as configs build it."""

from fedfish_tff import datasets
from launch.methods import building
from launch.runs import experiment
from tests import tolerance
from tests.launch import small_configs

from absl.testing import absltest
import numpy as np


class FedSgdTest(absltest.TestCase):
  def test_a_round_is_a_step_down_the_mean_gradient_and_the_decay(self):
    """The decay of a fine-tuning is the server's: rate * decay * w."""
    task = experiment.create_task(small_configs.read_config())
    clients = task.train.client_ids[:2]
    rate, after = 0.5, {}
    for decay in (0.0, 0.25):
      config = small_configs.read_config(
        'fed_sgd,fine_tuning=ft',
        server_learning_rate=rate,
        **{'fine_tuning.weight_decay': decay},
      )
      process = building.build_method(config, task).process
      state = process.initialize()
      before = process.get_model_weights(state).trainable
      batches = [
        datasets.sequential_batches(
          task.train.load_client(c), client_id=c, batch_size=16
        ).to_dataset()
        for c in clients
      ]
      state = process.next(state, batches).state
      after[decay] = process.get_model_weights(state).trainable
    for start, free, decayed in zip(before, after[0.0], after[0.25]):
      start = np.asarray(start)
      tolerance.assert_close(
        np.asarray(decayed) - np.asarray(free),
        -rate * 0.25 * start,
        relative=tolerance.FLOAT32_SUMS,
        scale=1,
      )
