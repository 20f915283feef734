# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Federated EMNIST as in the FedFish paper: 62 classes, a client is a writer.

  python -m launch.train --config=launch/configs/emnist.py:fed_fish \
    --workdir=runs/emnist_fed_fish --data_dir=path/to/tff_cache

The fields are those of table 2 of Dhawan et al. (2024, arXiv:2311.10291); the
paper names 1, 8 and 16 local epochs (--config.local_epochs=16), and the CNN and
Adam at the server are our choice where it names none. path/to/tff_cache holds
emnist_all.sqlite, as TFF unpacks it; --config.task.download=True fetches it if
it is not there.

Variants: see launch/configs/base.py. A round takes up to 6,400 examples, of
which a core makes some 1,500 a second: 1,500 rounds of one local epoch take one
core two hours, of 16 local epochs more than a day. For a laptop there are the
values of the axis size:

  compact  a compact CNN and small cohorts, from the same batches and clients

    python -m launch.train \
      --config=launch/configs/emnist.py:fed_fish,size=compact \
      --workdir=runs/emnist_compact_fed_fish --data_dir=path/to/tff_cache

  A local epoch of a round takes a core 0.07 s; the run, half a minute. Expect,
  with seed 0 and a sample of 300 of the 3,400 writers, an accuracy of 0.669 on
  the 60 test writers for fed_fish and of 0.748 for fed_avg; all writers give
  others. The rates are those that suited fed_avg: tune each method before
  comparing (launch.sweep, sweep tuning).

  results  compact with 32 rounds, or 512 local epochs in total: docs/results.md,
           by

    python -m launch.sweep --sweep_dir=runs/emnist_tuning \
      --config=launch/configs/emnist.py:fixed_compute_tuning,size=results \
      --data_dir=path/to/tff_cache --config.evaluation.barrier=False \
      --config.evaluation.personalization_epochs=0
    python -m launch.sweep --sweep_dir=runs/emnist_fixed_rounds \
      --config=launch/configs/emnist.py:fixed_rounds,size=results \
      --tuned_by=runs/emnist_tuning --data_dir=path/to/tff_cache

  and :fixed_compute,size=results likewise, and :settings,size=results without
  --tuned_by. All have plain steps at the server, as the paper's Algorithm 2: an
  adaptive server optimizer is erratic in so few rounds. Rates are tuned around a
  server's of 1 and the client's of compact, not around table 2, which is for
  1,500 rounds; once for both comparisons, on a quarter of the local epochs of
  fixed_compute, since 8 rounds of one local epoch tell nothing yet.
"""

from collections.abc import Sequence
import functools

from launch.configs import base
from launch.configs import sweeps

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
      # Of training writers; held-out writers have all of their examples.
      'train_part': 'train',
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


def sweep(name: str) -> Sequence[sweeps.Run]:
  """Returns the runs of a sweep: one of `sweeps.ready_sweeps`.

  With size=results, of `sweeps.comparison_sweeps`.
  """
  if 'size=results' not in name:
    return sweeps.select(name, get_config, sweeps.ready_sweeps)
  compared = functools.partial(
    sweeps.comparison_sweeps,
    # What tuning has chosen at 16 local epochs.
    client_learning_rate=0.1,
    low_client_learning_rate=0.01,
    adam_learning_rate=0.01,
  )
  return sweeps.select(name, get_config, compared)
