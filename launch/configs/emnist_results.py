# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""FedAvg and FedFish compared on EMNIST, of a size for a laptop.

  python -m launch.sweep \
    --config=launch/configs/emnist_results.py:fixed_compute_tuning \
    --sweep_dir=runs/emnist_tuning --data_dir=path/to/tff_cache \
    --config.evaluation.barrier=False \
    --config.evaluation.personalization_epochs=0
  python -m launch.sweep --config=launch/configs/emnist_results.py:fixed_rounds \
    --sweep_dir=runs/emnist_fixed_rounds --tuned_by=runs/emnist_tuning \
    --data_dir=path/to/tff_cache
  python -m launch.sweep --config=launch/configs/emnist_results.py:fixed_compute \
    --sweep_dir=runs/emnist_fixed_compute --tuned_by=runs/emnist_tuning \
    --data_dir=path/to/tff_cache
  python -m launch.sweep --config=launch/configs/emnist_results.py:settings \
    --sweep_dir=runs/emnist_settings --data_dir=path/to/tff_cache

It is emnist_compact.py with few rounds: 32, or 512 local epochs in total.
The sweeps have plain steps at the server, as the paper's Algorithm 2: an
adaptive server optimizer is erratic in so few rounds. Rates are tuned around a
server's of 1 and the client's of emnist_compact.py, not around table 2, which
is for 1,500 rounds; once for both comparisons, on a quarter of the local epochs
of fixed_compute, since 8 rounds of one local epoch tell nothing yet. What came
out is in docs/results.md. See emnist.py for the size of the paper.
"""

from collections.abc import Sequence

from launch.configs import base
from launch.configs import emnist_compact
from launch.configs import sweeps


def get_config(variant: str = 'fed_fish') -> base.ConfigDict:
  """Returns the config of a variant of the algorithm."""
  return base.shorten(emnist_compact.get_config(variant))


def sweep(name: str) -> Sequence[sweeps.Run]:
  """Returns the runs of a sweep: one of `sweeps.comparison_sweeps`."""
  return sweeps.select(
    name,
    sweeps.comparison_sweeps(
      get_config,
      # What tuning has chosen at 16 local epochs.
      client_learning_rate=0.1,
      low_client_learning_rate=0.01,
      adam_learning_rate=0.01,
    ),
  )
