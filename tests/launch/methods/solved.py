# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Methods with a closed form, solved on all clients of a task."""

from fedfish_tff import datasets
from launch.methods import building
from launch.methods import config_checks
from tests.launch import small_configs

import numpy as np
import tensorflow as tf


def pool(clients):
  """Returns the examples of all clients."""
  examples = [clients.load_client(c) for c in clients.client_ids]
  return tuple(np.concatenate(arrays) for arrays in zip(*examples))


def features(task, x):
  """Returns the features of the digits' hidden layer, by NumPy."""
  kernel, bias = task.feature_map.initial_weights
  return np.maximum(x @ kernel + bias, 0)


def predict(model, weights, x):
  """Returns the model's logits."""
  logits = model.predict_on_batch(
    (weights.trainable, weights.non_trainable), tf.constant(x), training=False
  )
  return logits.numpy()


def solve(variant, task, **fields):
  """Returns what is built, and state and weights after all clients came once.

  Args:
    variant: Of a method with a closed form.
    task: The task.
    **fields: Of the config's block `algorithm`.
  """
  config = small_configs.make_config(variant)
  config['algorithm'].update(fields)
  built = building.build_method(config_checks.read(config), task)
  process, train = built.process, task.train
  state = process.next(
    process.initialize(),
    [
      datasets.sequential_batches(
        train.load_client(c), client_id=c, batch_size=16
      ).to_dataset()
      for c in train.client_ids
    ],
  ).state
  return built, state, process.get_model_weights(state)
