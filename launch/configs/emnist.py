# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Federated EMNIST as in the FedFish paper: 62 classes, clients are writers.

  python -m launch.train --config=launch/configs/emnist.py:fed_fish \
    --workdir=runs/emnist_fed_fish --data_dir=path/to/tff_cache

The fields are those of table 2 of Dhawan et al. (2024, arXiv:2311.10291); the
paper has 1, 8 and 16 local epochs (--config.local_epochs=16). The CNN and Adam
at the server are our choice, because the paper does not specify them.
path/to/tff_cache holds emnist_all.sqlite, as TFF unpacks it;
--config.task.download=True downloads it if it is missing.

Variants: see launch/configs/base.py. A round takes up to 6,400 examples, and a
core processes about 1,500 per second: 1,500 rounds of one local epoch take one
core two hours, those of 16 local epochs more than a day. For a laptop, the axis
size has the values:

  compact  a compact CNN and small cohorts, from the same batches and clients

    python -m launch.train \
      --config=launch/configs/emnist.py:fed_fish,size=compact \
      --workdir=runs/emnist_compact_fed_fish --data_dir=path/to/tff_cache

  A local epoch of a round takes a core 0.07 s; the run, half a minute. Expect,
  with seed 0 and a sample of 300 of the 3,400 writers, an accuracy of 0.669 on
  the 60 test writers for fed_fish and of 0.748 for fed_avg; the full data gives
  other values. The rates suit fed_avg: tune each method before a comparison
  (launch.sweep, sweep tuning).

  results  compact with 32 rounds, or 512 local epochs in total: docs/results.md,
           with the commands. All sweeps have plain steps at the server, as in
           the paper's Algorithm 2: an adaptive server optimizer is erratic in
           so few rounds. Rates are tuned around a server's of 1 and the
           client's of compact, not around table 2, which is for 1,500 rounds.
           One tuning serves both comparisons, with a quarter of the local
           epochs of fixed_compute, because 8 rounds of one local epoch are too
           few
"""

from launch.configs import base
from launch.configs import sweeps

from ml_collections import config_dict

_COMPACT = {
  # 46,110 weights.
  'task.model': 'compact_cnn',
  'rounds': 100,
  'cohort_size': 10,
  'client_learning_rate': 0.05,
  'server_learning_rate': 0.01,
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
      'name': 'emnist',
      # Or dropout_cnn, compact_cnn.
      'model': 'cnn',
      # True for the 10 digits alone.
      'only_digits': False,
      # For training writers; held-out writers have all of their examples.
      'train_part': 'train',
      # 0.1 to deal training images anew, few classes to each client.
      'alpha': config_dict.placeholder(float),
      'validation_fraction': 0.1,
      'test_fraction': 0.2,
      'download': False,
    },
    rounds=1500,
    cohort_size=64,
    local_epochs=1,
    batch_size=10,
    max_examples_per_client=100,
    client_learning_rate=1e-3,
    server_learning_rate=1e-3,
    evaluate_every=50,
    checkpoint_every=50,
    evaluation={'personalization_epochs': 1},
  )


def _create_results_sweeps(
  get_config: sweeps.GetConfig,
) -> dict[str, sweeps.MakeRuns]:
  """Returns the sweeps of size=results, by name."""
  return {
    **sweeps.comparison_sweeps(
      get_config,
      # The rates that tuning chose at 16 local epochs.
      client_learning_rate=0.1,
      low_client_learning_rate=0.01,
      adam_learning_rate=0.01,
    ),
    **sweeps.surfaces(
      (0.1, 100.0, None),
      fixed={'rounds': 20, 'max_examples_per_client': 50},
    ),
  }


sweep = sweeps.choice(
  get_config,
  sweeps.ready_sweeps,
  {'size=results': _create_results_sweeps},
)
