# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Federated EMNIST and CIFAR-100 as in the FedFish paper.

  python -m launch.train --config=launch/configs/fedfish_images.py:fed_fish \
    --workdir=runs/emnist_fed_fish --data_dir=path/to/tff_cache

has EMNIST: 62 classes, clients are writers. images=cifar100 has CIFAR-100: 500
clients of few classes. The fields are those of table 2 of Dhawan et al. (2024,
arXiv:2311.10291); the paper has 1, 8 and 16 local epochs
(--config.local_epochs=16). The CNN and ResNet-18 with group normalisation are
our choice, because the paper does not specify them. Its server rate, 1e-3, is
that of server=adam; plain steps have rate 1, because with 1e-3 they would
barely move the weights.

path/to/tff_cache holds emnist_all.sqlite and cifar100.sqlite, as TFF unpacks
them; --config.task.download=True downloads one if it is missing.

launch/configs/base.py explains the variants. A round takes up to 6,400
examples. A core processes about 1,500 per second of EMNIST, so that 1,500
rounds of one local epoch take one core two hours, those of 16 local epochs more
than a day; and 60 per second of CIFAR-100, which needs a GPU. For a laptop, the
axis size has the values:

  compact  a compact CNN and small cohorts, from the same batches and clients

    python -m launch.train --workdir=runs/emnist_compact_fed_fish \
      --config=fedfish_images:fed_fish,server=adam,size=compact \
      --config.algorithm.server_epsilon=1e-7 \
      --config.algorithm.server_beta_2=0.999 --data_dir=path/to/tff_cache

  A local epoch of a round takes a core 0.07 s; the run, half a minute. Expect
  of this command, with seed 0 and a sample of 300 of the 3,400 writers, an
  accuracy of 0.669 on the 60 test writers, and of 0.748 for FedAdam, which is
  fed_avg,server=adam. With CIFAR-100 and
  a sample of 20,000 of the 60,000 images (160 training and 40 held-out
  clients), expect 0.095 on the 20 test clients for fed_fish and 0.124 for
  FedAdam, and 0.253 and 0.287 after personalisation; the network is far from
  converged. The full data gives other values. The rates suit FedAdam: tune each
  method before a comparison (launch.sweep, sweep tuning).

  results  compact with 32 rounds, for research/fedfish/images.py, which has the
           sweeps of docs/results_fedfish.md
"""

from collections.abc import Mapping
from typing import Any

from launch.configs import base
from launch.configs import sweeps

_COMPACT = {
  # 46,110 weights with EMNIST, 49,828 with CIFAR-100.
  'task.model': 'compact_cnn',
  'rounds': 100,
  'cohort_size': 10,
  'client_learning_rate': 0.05,
  'evaluate_every': 10,
  'checkpoint_every': 20,
}
# The fields of each value of the axis images.
_FIELDS: Mapping[str, Mapping[str, Any]] = {
  'emnist': {
    'batch_size': 10,
    'evaluation': {'personalization_epochs': 1},
  },
  'cifar100': {
    'batch_size': 25,
    'evaluation': {'personalization_epochs': 4},
  },
}
# The server's rate with Adam of the small sizes.
ADAM_RATES = {'emnist': 0.01, 'cifar100': 0.005}


def get_config(variant: str = 'fed_fish') -> base.ConfigDict:
  """Returns the config of a variant of the algorithm."""
  images = base.value_of('images', variant, _FIELDS)
  size = base.value_of('size', variant, ('published', 'compact', 'results'))
  return base.create_config(
    variant,
    axes={
      'images': dict.fromkeys(_FIELDS, {}),
      'size': {'compact': _COMPACT, 'results': {**_COMPACT, **base.FEW_ROUNDS}},
    },
    rounds=1500,
    cohort_size=64,
    local_epochs=1,
    max_examples_per_client=100,
    client_learning_rate=1e-3,
    adaptive_server_rate=1e-3 if size == 'published' else ADAM_RATES[images],
    evaluate_every=50,
    checkpoint_every=50,
    task={'name': images},
    **_FIELDS[images],
  )


sweep = sweeps.choice(get_config, sweeps.ready_sweeps)
