# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Federated EMNIST and CIFAR-100 as in the FedFish paper.

  python -m launch.train --config=launch/configs/fedfish_images.py:fed_fish \
    --workdir=runs/emnist_fed_fish --data_dir=path/to/tff_cache

has EMNIST: 62 classes, clients are writers. images=cifar100 has CIFAR-100: 500
clients of few classes. The fields are those of table 2 of Dhawan et al. (2024,
arXiv:2311.10291); the paper has 1, 8 and 16 local epochs
(--config.local_epochs=16). The CNN and ResNet-18 with group normalisation are our
choice, because the paper does not specify them. Its server rate, 1e-3, is that
of server=adam; plain steps have rate 1, because with 1e-3 they would barely move
the weights.
path/to/tff_cache holds emnist_all.sqlite and cifar100.sqlite, as TFF unpacks
them; --config.task.download=True downloads one if it is missing.

Variants: see launch/configs/base.py. A round takes up to 6,400 examples. A core
processes about 1,500 per second of EMNIST, so that 1,500 rounds of one local
epoch take one core two hours, those of 16 local epochs more than a day; and 60
per second of CIFAR-100, which needs a GPU. For a laptop, the axis size has the
values:

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

  results  compact with 32 rounds, or 512 local epochs in total: docs/results.md,
           with the commands. An adaptive server optimizer is erratic in so few
           rounds. Rates are tuned around a server's of 1 and the
           client's of compact, not around table 2, which is for 1,500 rounds.
           One tuning serves both comparisons, with a quarter of the local
           epochs of fixed_compute, because 8 rounds of one local epoch are too
           few
"""

from collections.abc import Mapping
from typing import Any

from launch.configs import base
from launch.configs import sweeps

from ml_collections import config_dict

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
    'task': {
      'name': 'emnist',
      # Or dropout_cnn, compact_cnn.
      'model': 'cnn',
      # True for the 10 digits alone.
      'only_digits': False,
      # For training writers; held-out writers have all of their examples.
      'train_part': 'train',
      'validation_fraction': 0.1,
      'test_fraction': 0.2,
      'download': False,
    },
    'batch_size': 10,
    'evaluation': {'personalization_epochs': 1},
  },
  'cifar100': {
    'task': {
      'name': 'cifar100',
      # Or compact_cnn.
      'model': 'resnet18',
      # 100 classes; coarse for 20.
      'label': 'fine',
      'validation_fraction': 0.5,
      'download': False,
    },
    'batch_size': 25,
    'evaluation': {'personalization_epochs': 4},
  },
}
# The server's rate with Adam of size=compact.
_ADAM_RATES = {'emnist': 0.01, 'cifar100': 0.005}
# The clients' rates that tuning chose at 16 local epochs.
_TUNED_RATES = {'emnist': 0.1, 'cifar100': 0.05}
# The coarse labels of CIFAR-100 tell more in few rounds.
_SURFACES = {'emnist': {}, 'cifar100': {'task.label': 'coarse'}}


def get_config(variant: str = 'fed_fish') -> base.ConfigDict:
  """Returns the config of a variant of the algorithm."""
  images = base.value_of('images', variant, _FIELDS)
  fields = _FIELDS[images]
  task = {
    **fields['task'],
    # 0.1 to deal training images anew, few classes to each client.
    'alpha': config_dict.placeholder(float),
  }
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
    adaptive_server_rate=1e-3 if size == 'published' else _ADAM_RATES[images],
    evaluate_every=50,
    checkpoint_every=50,
    **{**fields, 'task': task},
  )


def _create_results_sweeps(
  get_config: sweeps.GetConfig,
) -> dict[str, sweeps.MakeRuns]:
  """Returns the sweeps of size=results, by name.

  Beside `sweeps.ready_sweeps` and `sweeps.surfaces` there are

  `settings`: one setting of FedAvg and FedFish changed at a time, with the most
    local epochs. The changes from plain steps at the server and the tuned client
    rate are damping, a lower client rate, with which clients drift less, and
    Adam at the server.
  `claims`: FedAvg, FedFish and damped FedFish with as many local epochs, eight
    seeds that no other sweep has, and a rate of personalisation that validation
    clients choose.
  `claims_tuning`: rates for it, at full length, with two other seeds.
  `stability`: 512 rounds of one local epoch, with both kinds of damping, by the
    seeds of `claims`.

  Args:
    get_config: A function that returns the config of a variant.
  """
  images = get_config('fed_avg').task.name
  fed_avg, fed_fish, damped = claimed = ('fed_avg', 'fed_fish', 'damped')
  epochs = {'local_epochs': sweeps.LOCAL_EPOCHS[-1]}
  seeds = {'seed': tuple(range(10, 18))}
  only_global = {
    'evaluation.barrier': False,
    'evaluation.personalization_epochs': 0,
  }
  plain = {'server_learning_rate': 1.0}
  adam = {'server_learning_rate': _ADAM_RATES[images], **sweeps.TFF_ADAM}
  usual = {'client_learning_rate': _TUNED_RATES[images]}
  low = {'client_learning_rate': 0.01}
  settings = (
    (fed_avg, usual | plain),
    (fed_fish, usual | plain),
    (damped, usual | plain),
    (fed_avg, low | plain),
    (fed_fish, low | plain),
    ('fed_avg,server=adam', usual | adam),
    ('fed_fish,server=adam', usual | adam),
  )
  rates = (0.003, 0.01, 0.03, 0.1)
  tuning = {
    'client_learning_rate': (0.02, 0.05, 0.1, 0.2),
    'server_learning_rate': (0.3, 1.0),
    'seed': (100, 101),
  }
  many_rounds = {
    'rounds': 512,
    'local_epochs': 1,
    'evaluate_every': 32,
    'checkpoint_every': 128,
    **usual,
    **plain,
  }
  return {
    **sweeps.ready_sweeps(
      get_config, methods=sweeps.ESTIMATORS, tunes_plain_servers=True
    ),
    'settings': lambda: [
      run
      for variant, changes in settings
      for run in sweeps.grid(
        [variant], {'seed': sweeps.SEEDS}, fixed=changes | epochs
      )
    ],
    'claims': lambda: sweeps.grid(
      claimed,
      seeds,
      fixed={**epochs, 'evaluation.personalization_learning_rates': rates},
    ),
    'claims_tuning': lambda: sweeps.grid(
      claimed, tuning, fixed=epochs | only_global
    ),
    'stability': lambda: sweeps.grid(
      (*claimed, 'relatively_damped'),
      seeds,
      fixed=many_rounds | only_global,
    ),
    **sweeps.surfaces(
      (0.1, 100.0, None),
      fixed={
        'rounds': 20,
        'max_examples_per_client': 50,
        **_SURFACES[images],
      },
    ),
  }


sweep = sweeps.choice(
  get_config,
  sweeps.ready_sweeps,
  {'size=results': _create_results_sweeps},
)
