# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Fed3R on CIFAR-100 with SqueezeNet's features, and what is compared with it.

  python -m launch.train --config=launch/configs/fed3r_cifar100.py:fed3r \
    --workdir=runs/cifar100_fed3r --data_dir=path/to/folder

--data_dir holds the images and SqueezeNet's published weights (see the task's
module, tasks/features/cifar100_features.py); --config.task.images and
--config.task.weights name other files. Features are kept on the disk: the first
run computes them, for all others. launch/configs/base.py lists the variants.
What they reached is in docs/results.md, by

  python -m launch.sweep --config=launch/configs/fed3r_cifar100.py:tuning \
    --sweep_dir=runs/cifar100_fed3r_tuning --data_dir=path/to/folder

and the same with :results, :fine_tuning and :fine_tuning_tuned.
"""

from collections.abc import Sequence
import functools

from launch.configs import base
from launch.configs import features
from launch.configs import image_features
from launch.configs import sweeps


def get_config(variant: str = 'fed3r') -> base.ConfigDict:
  """Returns the config of a variant of the method."""
  return image_features.create_config(
    variant, 'cifar100_features', images='cifar100.sqlite'
  )


def sweep(name: str) -> Sequence[sweeps.Run]:
  """Returns the runs of a sweep: one of `image_features.feature_sweeps`."""
  return sweeps.select(
    name,
    get_config,
    functools.partial(
      image_features.feature_sweeps,
      # What tuning has chosen.
      random_feature_lambdas={1000: 0.1, 5000: 0.1},
      learning_rates={
        features.LINEAR_PROBE: 100.0,
        features.FT_LP: 0.0001,
        features.FT_FEAT: 0.0001,
        features.FT: 0.0001,
      },
    ),
  )
