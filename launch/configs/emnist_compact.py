# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Federated EMNIST of a size for a laptop: a compact CNN and small cohorts.

python -m launch.train --config=launch/configs/emnist_compact.py:fed_fish \
    --workdir=runs/emnist_compact_fed_fish --data_dir=path/to/tff_cache

Batches, cap and personalisation are those of launch/configs/emnist.py, where
it also says what path/to/tff_cache holds; model, cohorts, rounds and learning
rates are smaller or quicker. Variants: see launch/configs/base.py.

A local epoch of a round takes a core 0.07 s; the run, half a minute. Expect,
with seed 0 and a sample of 300 of the 3,400 writers, an accuracy of 0.669 on
the 60 test writers for fed_fish and of 0.748 for fed_avg; all writers give
others. The rates are those that suited fed_avg: tune each method before
comparing (launch.sweep, sweep tuning).
"""

from collections.abc import Sequence

from launch.configs import base
from launch.configs import sweeps


def get_config(variant: str = 'fed_fish') -> base.ConfigDict:
  """Returns the config of a variant of the algorithm."""
  return base.create_config(
    variant,
    task={
      'name': 'emnist',
      # 46,110 weights.
      'model': 'compact_cnn',
      'only_digits': False,
      'train_part': 'train',
      'validation_fraction': 0.1,
      'test_fraction': 0.2,
      'download': False,
    },
    rounds=100,
    cohort_size=10,
    local_epochs=1,
    batch_size=10,
    max_examples_per_client=100,
    client_learning_rate=0.05,
    server_learning_rate=0.01,
    evaluate_every=10,
    checkpoint_every=20,
  )


def sweep(name: str) -> Sequence[sweeps.Run]:
  """Returns the runs of a sweep: one of `sweeps.ready_sweeps`."""
  return sweeps.select(name, sweeps.ready_sweeps(get_config))
