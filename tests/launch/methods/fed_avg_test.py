# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of FedAvg as configs build it."""

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
