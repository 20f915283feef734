# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Federated CIFAR-100 as in the FedFish paper: 500 clients of few classes.

  python -m launch.train --config=launch/configs/cifar100.py:fed_fish \
    --workdir=runs/cifar100_fed_fish --data_dir=path/to/tff_cache

The fields are those of table 2 of Dhawan et al. (2024, arXiv:2311.10291); the
paper has 1, 8 and 16 local epochs (--config.local_epochs=16). ResNet-18 with
group normalisation and Adam at the server are our choice, because the paper
does not specify them. path/to/tff_cache holds cifar100.sqlite, as TFF unpacks
it; --config.task.download=True downloads it if it is missing.

Variants: see launch/configs/base.py. A round takes 6,400 examples, and a core
processes about 60 per second: 1,500 rounds of one local epoch would take one
core two days, so it needs a GPU. For a laptop, the axis size has the values:

  compact  a compact CNN and small cohorts, from the same batches and clients

    python -m launch.train \
      --config=launch/configs/cifar100.py:fed_fish,size=compact \
      --workdir=runs/cifar100_compact_fed_fish --data_dir=path/to/tff_cache

  A local epoch of a round takes a core 0.06 s; the run, half a minute. Expect,
  with seed 0 and a sample of 20,000 of the 60,000 images (160 training and 40
  held-out clients), an accuracy of 0.095 on the 20 test clients for fed_fish
  and of 0.124 for fed_avg, and of 0.253 and 0.287 after personalisation; the
  full data gives other values. The network is far from converged. The rates
  suit fed_avg: tune each method before a comparison (launch.sweep, sweep
  tuning).

  results  compact with 32 rounds, or 512 local epochs in total: docs/results.md,
           with the commands; launch/configs/emnist.py describes the sweeps
"""

from launch.configs import base
from launch.configs import sweeps

from ml_collections import config_dict

_COMPACT = {
  # 49,828 weights.
  'task.model': 'compact_cnn',
  'rounds': 100,
  'cohort_size': 10,
  'client_learning_rate': 0.05,
  'server_learning_rate': 0.005,
  'evaluate_every': 10,
  'checkpoint_every': 20,
}
_SIZES = {'compact': _COMPACT, 'results': {**_COMPACT, **base.FEW_ROUNDS}}


def get_config(variant: str = 'fed_fish') -> base.ConfigDict:
  """Returns the config of a variant of the algorithm."""
  return base.create_config(
    variant,
    axes={'size': _SIZES},
    task={
      'name': 'cifar100',
      # Or compact_cnn.
      'model': 'resnet18',
      # 100 classes; coarse for 20.
      'label': 'fine',
      # 0.1 to deal training images anew, few classes to each client.
      'alpha': config_dict.placeholder(float),
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


def _create_results_sweeps(
  get_config: sweeps.GetConfig,
) -> dict[str, sweeps.MakeRuns]:
  """Returns the sweeps of size=results, by name."""
  return {
    **sweeps.comparison_sweeps(
      get_config,
      # The rates that tuning chose at 16 local epochs.
      client_learning_rate=0.05,
      low_client_learning_rate=0.01,
      adam_learning_rate=0.005,
    ),
    **sweeps.surfaces(
      (0.1, 100.0, None),
      fixed={
        'rounds': 20,
        'max_examples_per_client': 50,
        'task.label': 'coarse',
      },
    ),
  }


sweep = sweeps.choice(
  get_config,
  sweeps.ready_sweeps,
  {'size=results': _create_results_sweeps},
)
