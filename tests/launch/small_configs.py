# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs of closed-form methods and fine-tuning that take a second or two."""

from collections.abc import Iterator
import contextlib
import json
from unittest import mock

from fedfish_tff import simulation
from launch import experiment as experiment_lib
from launch.configs import fed3r_digits

import numpy as np

NUM_FEATURES, NUM_RANDOM_FEATURES, NUM_CLASSES = 8, 16, 10
# 8 training clients, 2 validation clients and 2 test clients.
NUM_TRAINING_CLIENTS = 8
VISITING_ROUNDS = 3
FINE_TUNING_ROUNDS = 2


def make_config(variant='fed3r', **changes):
  """Returns a config of a variant, on the digits of few clients.

  Args:
    variant: Of launch/configs/fed3r_digits.py.
    **changes: Values of fields by their dotted names.
  """
  config = fed3r_digits.get_config(variant)
  closed_form = config.participation.name == 'visit_once'
  started = config.get('fine_tuning', {}).get('start', {}).get('name', 'none')
  config.rounds = VISITING_ROUNDS * (
    closed_form or started != 'none'
  ) + FINE_TUNING_ROUNDS * (not closed_form)
  config.update(
    cohort_size=3, local_epochs=1, evaluate_every=2, checkpoint_every=2
  )
  config.task.update(num_clients=12, hidden_units=(NUM_FEATURES,))
  if 'num_random_features' in config.algorithm:
    config.algorithm.num_random_features = NUM_RANDOM_FEATURES
  config = config.to_dict()
  for name, value in changes.items():
    *blocks, field = name.split('.')
    block = config
    for inner in blocks:
      block = block[inner]
    block[field] = value
  return config


@contextlib.contextmanager
def built_once() -> Iterator[None]:
  """Lets runs of one config and task share what is built, and so traced."""
  build = experiment_lib.build_experiment_of
  measure = simulation.measure_wire_bytes
  experiments, wire_bytes = {}, {}

  def build_once(config, task, *, start=None):
    key = (
      json.dumps(config, sort_keys=True),
      id(task),
      start and tuple(np.asarray(w).tobytes() for w in start.weights.trainable),
    )
    if key not in experiments:
      experiments[key] = build(config, task, start=start)
    return experiments[key]

  def measure_once(process):
    if process not in wire_bytes:
      wire_bytes[process] = measure(process)
    return wire_bytes[process]

  with (
    mock.patch.object(experiment_lib, 'build_experiment_of', build_once),
    mock.patch.object(simulation, 'measure_wire_bytes', measure_once),
  ):
    yield
