# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of FedAvg and FedProx as configs build them, in NumPy."""

from fedfish_tff import datasets
from launch.methods import building
from launch.runs import experiment
from tests import tolerance
from tests.launch import small_configs

from absl.testing import parameterized
import numpy as np


class FedAvgTest(parameterized.TestCase):
  @parameterized.parameters(
    ('num_examples', ''),
    ('uniform', ''),
    ('num_examples', ',exchange=partial'),
  )
  def test_a_round_is_the_weighted_mean_of_local_trainings(
    self, weighting, axes
  ):
    task = experiment.create_task(small_configs.read_config())
    all_sent = {'exchange.share': 1.0} if axes else {}
    config = small_configs.read_config(
      f'fed_avg{axes}', **{'algorithm.client_weighting': weighting}, **all_sent
    )
    process = building.build_method(config, task).process
    state = process.initialize()
    weights = process.get_model_weights(state)
    data, sizes = [], []
    for client_id in task.train.client_ids[:3]:
      x, y = task.train.load_client(client_id)
      sizes.append(len(y))
      data.append(
        datasets.sequential_batches(
          (x, y), client_id=client_id, batch_size=16
        ).to_dataset()
      )
    models = [process.local_training(weights, d).trainable for d in data]
    found = process.get_model_weights(process.next(state, data).state)
    for tensors, after in zip(zip(*models), found.trainable, strict=True):
      expected = np.average(
        np.stack([np.asarray(t, np.float64) for t in tensors]),
        axis=0,
        weights=sizes if weighting == 'num_examples' else None,
      )
      tolerance.assert_close(after, expected, relative=tolerance.FLOAT32_SUMS)


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
