# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""The runs behind the tables of docs/results.md on CIFAR-100.

  python -m launch.sweep --config=launch/configs/cifar100_results.py:tuning \
    --sweep_dir=runs/cifar100_tuning --data_dir=path/to/tff_cache \
    --config.evaluation.barrier=False --noevaluate
  python -m launch.sweep --config=launch/configs/cifar100_results.py:fixed_rounds \
    --sweep_dir=runs/cifar100_fixed_rounds --tuned_by=runs/cifar100_tuning \
    --data_dir=path/to/tff_cache
  python -m launch.sweep --config=launch/configs/cifar100_results.py:fixed_compute \
    --sweep_dir=runs/cifar100_fixed_compute --tuned_by=runs/cifar100_tuning \
    --data_dir=path/to/tff_cache

It is cifar100_compact.py with so few rounds that all of this takes an hour on two
cores: 32 rounds, or 512 local epochs in total. See docs/results.md for what
comes out, and cifar100.py for the size of the paper.
"""

from collections.abc import Sequence

from launch.configs import base
from launch.configs import cifar100_compact
from launch.configs import sweeps

# FedAvg, and FedFish with each Fisher estimator; the first is the paper's.
_METHODS = ('fed_avg', 'fed_fish', 'per_example', 'sampled_label')


def get_config(variant: str = 'fed_fish') -> base.ConfigDict:
  """Returns the config of a variant of the algorithm."""
  config = cifar100_compact.get_config(variant)
  config.rounds = 32
  config.evaluate_every = 4
  config.checkpoint_every = 16
  if 'diagnostics' in config.algorithm:
    # A sum of the model's size and a column that nothing here needs.
    config.algorithm.diagnostics = False
  return config


def sweep(name: str) -> Sequence[sweeps.Run]:
  """Returns the runs of a sweep: one of `sweeps.ready_sweeps`."""
  return sweeps.select(name, sweeps.ready_sweeps(get_config, methods=_METHODS))
