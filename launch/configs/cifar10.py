# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""CIFAR-10 among 100 clients of 5 classes, as SRPFL was tried on it.

  python -m launch.train --config=launch/configs/cifar10.py:fed_rep \
    --workdir=runs/cifar10_fed_rep --data_dir=path/to/folder

path/to/folder holds cifar10.npz with the arrays images, labels and is_test
(tasks/images/cifar10.py). launch/configs/class_shards.py says where the fields
come from. Methods to compare are fed_rep, lg_fed_avg, fed_per, ditto, hf_maml
and fed_avg, which eval/own scores after fine-tuning; each with
participation=uniform, or srpfl for SRPFL and LG-SRPFL, or flanp:

  python -m launch.train --workdir=runs/cifar10_srpfl --data_dir=path/to/folder \
    --config=launch/configs/cifar10.py:fed_rep,participation=srpfl

With --config.participation.speeds.communication_seconds=10 a round costs that,
too; speeds=dynamic has speeds that change.

All of them, with a fifth of the clients and with all, both kinds of speeds and
five seeds, and SRPFL's figure 3 of them:

  python -m launch.sweep --config=launch/configs/cifar10.py:stragglers \
    --sweep_dir=runs/cifar10_stragglers --data_dir=path/to/folder
  python -m launch.plot --sweep_dir=runs/cifar10_stragglers \
    --layout=stragglers --output_dir=plots

A round of fed_rep takes two cores some minutes. For a laptop there is

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
    body_epochs=1,
    task={
      'name': 'cifar10',
      'images': 'cifar10.npz',
      # Or classic_lenet5.
      'model': 'lenet5',
      'num_clients': 100,
      # Of those who never train, half are for validation.
      'num_held_out': 20,
      'classes_per_client': 5,
      # True to crop and mirror images at random, as published.
      'augment': False,
    },
  )


def sweep(name: str) -> Sequence[sweeps.Run]:
  """Returns the runs of a sweep of `class_shards.create_sweeps`."""
  return sweeps.select(name, get_config, class_shards.create_sweeps)
