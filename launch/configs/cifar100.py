# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Federated CIFAR-100 as in the FedFish paper: 500 clients of few classes.

  python -m launch.train --config=launch/configs/cifar100.py:fed_fish \
    --workdir=runs/cifar100_fed_fish --data_dir=path/to/tff_cache

The fields are those of table 2 of Dhawan et al. (2024, arXiv:2311.10291); the
paper names 1, 8 and 16 local epochs (--config.local_epochs=16), and ResNet-18
with group normalisation and Adam at the server are our choice where it names
none. path/to/tff_cache holds cifar100.sqlite, as TFF unpacks it;
--config.task.download=True fetches it if it is not there.

Variants: see launch/configs/base.py. A round takes 6,400 examples, of which a
core makes some 60 a second: 1,500 rounds of one local epoch would take one core
two days, so that a run is for a GPU. For a laptop there is
launch/configs/cifar100_compact.py.
"""

from collections.abc import Sequence

from launch.configs import base
from launch.configs import sweeps


def get_config(variant: str = 'fed_fish') -> base.ConfigDict:
  """Returns the config of a variant of the algorithm."""
  return base.create_config(
    variant,
    task={
      'name': 'cifar100',
      # Or compact_cnn.
      'model': 'resnet18',
      # 100 classes; coarse for 20.
      'label': 'fine',
      'validation_fraction': 0.5,
      'download': False,
    },
    rounds=1500,
    cohort_size=64,
    local_epochs=1,
    batch_size=25,
    max_examples_per_client=100,
    client_learning_rate=1e-3,
    server_learning_rate=1e-3,
    evaluate_every=50,
    checkpoint_every=50,
    evaluation={'personalization_epochs': 4},
  )


def sweep(name: str) -> Sequence[sweeps.Run]:
  """Returns the runs of a sweep: one of `sweeps.ready_sweeps`."""
  return sweeps.select(name, sweeps.ready_sweeps(get_config))
