# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""FedMA on CIFAR-10 as published, with FedAvg and FedProx for comparison.

  python -m launch.train --config=launch/configs/fed_ma_cifar10.py:fed_ma \
    --workdir=runs/cifar10_fed_ma --data_dir=path/to/folder

path/to/folder holds cifar10.npz (tasks/images/cifar10_dirichlet.py). The fields
are those of Wang et al. (2020) and their code: VGG-9, 16 clients by Dir(0.5),
all of them in each of 10 rounds, 20 epochs of SGD with rate 0.01, momentum 0.9
and batches of 64, gamma 7, and FedProx with a strength of 0.001.
--config.task.augment=True crops and mirrors images at random, as they do.

Three seeds of fed_ma, fed_avg and fed_prox:

  python -m launch.sweep --config=launch/configs/fed_ma_cifar10.py:seeds \
    --sweep_dir=runs/cifar10_matched --data_dir=path/to/folder

The paper's fourth method, the ensemble of the clients' own models, is a row in
evaluation/summary.csv of a run of fed_ma:

  python -m launch.evaluate --workdir=runs/cifar10_fed_ma \
    --data_dir=path/to/folder

A round of fed_ma takes two cores days. For a laptop, append to a variant or to
seeds

  size=compact  LeNet, 3 rounds of 4 epochs with batches of 16; with a sample of
                8,000 training images the nine runs take about 25 CPU minutes
"""

from launch.configs import base
from launch.configs import sweeps

_METHODS = ('fed_ma', 'fed_avg', 'fed_prox')
_SIZES = {
  'compact': {
    'task.model': 'lenet',
    'rounds': 3,
    'local_epochs': 4,
    'batch_size': 16,
  }
}


def get_config(variant: str = 'fed_ma') -> base.ConfigDict:
  """Returns the config of a variant of the method."""
  return base.create_config(
    variant,
    axes={'size': _SIZES},
    task={'name': 'cifar10_dirichlet'},
    rounds=10,
    cohort_size=16,
    local_epochs=20,
    batch_size=64,
    client_learning_rate=0.01,
    evaluate_every=1,
    checkpoint_every=1,
    evaluation={'personalization_epochs': 0, 'barrier': False},
    fields={
      'algorithm.client_optimizer': 'sgdm',
      # The best of the strengths in the paper.
      'algorithm.proximal_strength': 0.001,
    },
  )


sweep = sweeps.choice(
  get_config,
  lambda _: {'seeds': lambda: sweeps.grid(_METHODS, {'seed': sweeps.SEEDS})},
)
