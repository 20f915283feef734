# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Fed3R on photographs of iNaturalist's or Landmarks' users, by MobileNetV2.

  python -m launch.train --config=launch/configs/fed3r_photographs.py:fed3r \
    --workdir=runs/inaturalist_fed3r --data_dir=path/to/inaturalist

and with fed3r,images=landmarks for Landmarks. --data_dir is the folder that
TFF's loader fills as its cache_dir (tasks/features/photographs.py). The
first run computes and keeps the features, which takes hours on a CPU. The
published accuracies, after all clients have come once, are

  iNaturalist  9,275 clients, 1,203 species, 120,000 photographs: 0.451 after
               928 rounds, and 0.466 and 0.476 for `fed3r_rf` with 5,000 and
               10,000 random features
  Landmarks    1,262 clients, 2,028 landmarks, 160,000 photographs: 0.496 after
               127 rounds, and 0.541 and 0.564

fed3r_generated.py has iNaturalist's numbers of clients and classes, without the
photographs.
"""

from launch.configs import base
from launch.configs import features
from launch.configs import sweeps

_TASKS = ('inaturalist', 'landmarks')
# 9,275 and 1,262 clients in cohorts of 10.
_VISITING_ROUNDS = {'inaturalist': 928, 'landmarks': 127}
# The rounds between two evaluations, and between two checkpoints.
_EVERY = {'inaturalist': 100, 'landmarks': 10}


def get_config(variant: str = 'fed3r') -> base.ConfigDict:
  """Returns the config of a variant of the method."""
  images = base.value_of('images', variant, _TASKS)
  inputs = 'images' if features.trains_extractor(variant) else 'features'
  return base.create_config(
    variant,
    axes={'images': dict.fromkeys(_TASKS, {})},
    task={'name': images, 'inputs': inputs},
    **features.PUBLISHED,
    visiting_rounds=_VISITING_ROUNDS[images],
    rounds=_VISITING_ROUNDS[images],
    evaluate_every=_EVERY[images],
    checkpoint_every=_EVERY[images],
  )


sweep = sweeps.choice(get_config, features.ready_sweeps)
