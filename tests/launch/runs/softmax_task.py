# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A task of softmax regression with clients' own test data, and its configs."""

import functools

from fedfish_tff import datasets
from launch.configs import base
from tasks import task as task_lib
from tests.evaluation import softmax_regression

# How many examples clients tune on, and how many test examples they have.
SIZES = {
  'train': {'a': (9, 5), 'b': (4, 8), 'c': (6, 3)},
  'validation': {'d': (6, 3), 'e': (12, 7), 'f': (3, 10)},
  'test': {'g': (8, 4), 'h': (5, 9)},
}
CLIENT_RATE = 0.3
EPOCHS = 3


@functools.cache
def clients():
  """Returns what each client tunes on, and its test examples."""
  sizes = {c: size for split in SIZES.values() for c, size in split.items()}
  found = {}
  for seed, (client_id, (train, test)) in enumerate(sizes.items()):
    examples = softmax_regression.draw_examples(train + test, seed=seed)
    found[client_id] = (
      tuple(part[:train] for part in examples),
      tuple(part[train:] for part in examples),
    )
  return found


def make_task(**changes):
  def examples_of(client_ids, part):
    return datasets.InMemoryClientData(
      {c: clients()[c][part] for c in client_ids}
    )

  return task_lib.Task(
    name='softmax',
    create_model=softmax_regression.create_functional_model,
    tensor_names=('body/kernel', 'head/bias'),
    metric='loss',
    **{
      'higher_is_better': False,
      'own_test': examples_of(clients(), 1),
      **{split: examples_of(ids, 0) for split, ids in SIZES.items()},
      **changes,
    },
  )


def make_config(variant, rates):
  return base.create_config(
    variant,
    server_optimizer='sgd',
    task={'name': 'softmax'},
    rounds=1,
    cohort_size=2,
    local_epochs=1,
    # All of a client's examples: no order.
    batch_size=20,
    client_learning_rate=CLIENT_RATE,
    server_learning_rate=1.0,
    evaluation={
      'personalization_epochs': EPOCHS,
      'personalization_learning_rates': rates,
      'barrier': False,
    },
  ).to_dict()
