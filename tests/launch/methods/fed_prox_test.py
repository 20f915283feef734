# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of FedProx as configs build it."""

from fedfish_tff import datasets
from launch.methods import building
from launch.runs import experiment
from tests import tolerance
from tests.launch import small_configs

from absl.testing import parameterized
import numpy as np


class FedProxTest(parameterized.TestCase):
  @parameterized.parameters('fed_prox', 'fed_prox,exchange=partial')
  def test_the_second_step_is_pulled_back(self, variant):
    """By rate * strength * (w1 - w0), whatever clients send."""
    task = experiment.create_task(small_configs.read_config())
    client_id = task.train.client_ids[0]
    x, y = task.train.load_client(client_id)
    rate, strength = 0.25, 0.5

    def build(strength):
      config = small_configs.read_config(
        variant,
        client_learning_rate=rate,
        **{'algorithm.proximal_strength': strength},
      )
      return building.build_method(config, task).process

    def train(process, steps):
      batches = datasets.sequential_batches(
        (np.tile(x[:8], (steps, 1)), np.tile(y[:8], steps)),
        client_id=client_id,
        batch_size=8,
      ).to_dataset()
      weights = process.get_model_weights(process.initialize())
      trained = process.local_training(weights, batches)
      return weights.trainable, trained.trainable

    process = build(strength)
    start, one = train(process, 1)
    _, two = train(process, 2)
    _, free = train(build(0.0), 2)
    for w0, w1, pulled, not_pulled in zip(start, one, two, free):
      w0, w1 = np.asarray(w0), np.asarray(w1)
      tolerance.assert_close(
        np.asarray(pulled) - np.asarray(not_pulled),
        -rate * strength * (w1 - w0),
        relative=tolerance.FLOAT32_SUMS,
        scale=1,
      )
