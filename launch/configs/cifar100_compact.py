# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Federated CIFAR-100 of a size for a laptop: a compact CNN, small cohorts.

python -m launch.train --config=launch/configs/cifar100_compact.py:fed_fish \
    --workdir=runs/cifar100_compact_fed_fish --data_dir=path/to/tff_cache

Batches, cap and personalisation are those of launch/configs/cifar100.py, where
it also says what path/to/tff_cache holds; model, cohorts, rounds and learning
rates are smaller or quicker. Variants: see launch/configs/base.py.

A local epoch of a round takes a core 0.06 s; the run, half a minute. Expect,
with seed 0 and a sample of 20,000 of the 60,000 images (160 training and 40
held-out clients), an accuracy of 0.095 on the 20 test clients for fed_fish and
of 0.124 for fed_avg, and of 0.253 and 0.287 after personalisation; all images
give others. The network has far from converged. The rates are those that suited
fed_avg: tune each method before comparing (launch.sweep, sweep tuning).
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
      # 49,828 weights.
      'model': 'compact_cnn',
      'label': 'fine',
      'validation_fraction': 0.5,
      'download': False,
    },
    rounds=100,
    cohort_size=10,
    local_epochs=1,
    batch_size=25,
    max_examples_per_client=100,
    client_learning_rate=0.05,
    server_learning_rate=0.005,
    evaluate_every=10,
    checkpoint_every=20,
    evaluation={'personalization_epochs': 4},
  )


def sweep(name: str) -> Sequence[sweeps.Run]:
  """Returns the runs of a sweep: one of `sweeps.ready_sweeps`."""
  return sweeps.select(name, sweeps.ready_sweeps(get_config))
