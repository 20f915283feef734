# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Next words on Stack Overflow as in the FedFish paper; clients are authors.

  python -m launch.train --config=launch/configs/stackoverflow.py:fed_fish \
    --workdir=runs/stackoverflow_fed_fish --data_dir=path/to/tff_cache

The fields are those of table 2 of Dhawan et al. (2024, arXiv:2311.10291). The
paper gives only the kind of its model; here it is TFF's recurrent baseline for
this data. path/to/tff_cache holds stackoverflow.sqlite, as TFF unpacks it
(--config.task.download=True downloads it if it is missing).

launch/configs/base.py explains the variants. size=tiny is a transformer of two
layers with few rounds.
"""

from launch.configs import base
from launch.configs import language
from launch.configs import sweeps


def get_config(variant: str = 'fed_fish') -> base.ConfigDict:
  """Returns the config of a variant of the algorithm."""
  return base.create_config(
    variant,
    axes={'size': {'tiny': language.TINY}},
    task={'name': 'stackoverflow'},
    rounds=1500,
    cohort_size=16,
    local_epochs=1,
    batch_size=4,
    max_examples_per_client=16,
    client_learning_rate=1e-3,
    evaluate_every=50,
    checkpoint_every=50,
    evaluation=language.evaluation_fields(),
  )


sweep = sweeps.choice(get_config, sweeps.ready_sweeps)
