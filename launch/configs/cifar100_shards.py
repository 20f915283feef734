# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""CIFAR-100 among 100 clients of 20 classes, as SRPFL was tried on it.

  python -m launch.train --config=launch/configs/cifar100_shards.py:fed_rep \
    --workdir=runs/cifar100_shards_fed_rep --data_dir=path/to/tff_cache

path/to/tff_cache holds cifar100.sqlite, as TFF unpacks it; with
--config.task.images=cifar100.npz it is a file as launch/configs/cifar10.py has,
which also says what to compare. launch/configs/class_shards.py says where the
fields come from. For a laptop there is

  size=compact  LeNet-5 with the widths of 1998, 60 rounds
  size=results  the same with 30 rounds and at most 60 examples a client, for
                docs/results.md
"""

from collections.abc import Sequence

from launch.configs import base
from launch.configs import class_shards
from launch.configs import sweeps


def get_config(variant: str = 'fed_rep') -> base.ConfigDict:
  """Returns the config of a variant of the algorithm."""
  return class_shards.create_config(
    variant,
    axes={'size': class_shards.sizes('task.model', 'classic_lenet5')},
    body_epochs=5,
    task={
      'name': 'cifar100_shards',
      'images': 'cifar100.sqlite',
      # Or classic_lenet5.
      'model': 'lenet5',
      'num_clients': 100,
      # Of those who never train, half are for validation.
      'num_held_out': 20,
      'classes_per_client': 20,
      # True to crop and mirror images at random, as published.
      'augment': False,
    },
  )


def sweep(name: str) -> Sequence[sweeps.Run]:
  """Returns the runs of a sweep of `class_shards.create_sweeps`."""
  return sweeps.select(name, get_config, class_shards.create_sweeps)
