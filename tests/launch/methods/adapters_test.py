# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the block `adapters`."""

from fedfish_tff import errors
from launch.methods import adapters
from launch.methods import building
from launch.methods import config_checks
from tests import tolerance
from tests.launch import small_configs

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff


def _config(**changes):
  config = small_configs.make_config('fed_avg')
  block = adapters.BLOCK.defaults('lora')
  return {**config, 'adapters': {**block, 'rank': 2, 'trained': '', **changes}}


class AdaptersTest(small_configs.TaskTestCase):
  def test_the_merged_model_is_the_task_s_and_computes_the_same(self):
    plain = self.task.create_model()
    first = self.task.tensor_names[0].rpartition('/')[0]
    config = _config(targets=first)
    adapted = building.prepare(config_checks.read(config), self.task).task
    model = adapted.create_model()
    self.assertEqual(
      adapted.tensor_names, (f'{first}/lora_a', f'{first}/lora_b')
    )
    weights = tff.learning.models.ModelWeights(
      tuple(w + np.float32(0.1) for w in model.initial_weights[0]), ()
    )
    found, merged = adapters.BLOCK.merge(
      config_checks.read(config), self.task, model, weights
    )
    x, _ = self.task.train.load_client(self.task.train.client_ids[0])
    self.assertEqual(
      [w.shape for w in merged.trainable],
      [w.shape for w in plain.initial_weights[0]],
    )
    tolerance.assert_close(
      found.predict_on_batch((merged.trainable, ()), tf.constant(x), False),
      model.predict_on_batch((weights.trainable, ()), tf.constant(x), False),
      relative=tolerance.FLOAT32_SUMS,
    )

  def test_what_is_not_there_is_named(self):
    with self.assertRaisesRegex(
      errors.InputError, "block adapters.*layer.*'query'"
    ):
      building.prepare(config_checks.read(_config()), self.task)
