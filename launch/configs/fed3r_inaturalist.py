# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Fed3R on iNaturalist's users, 9,275 clients and 1,203 species.

  python -m launch.train --config=launch/configs/fed3r_inaturalist.py:fed3r \
    --workdir=runs/inaturalist_fed3r --data_dir=path/to/inaturalist

--data_dir is the folder that TFF's loader makes as its cache_dir (see
tasks/features/inaturalist.py). Features of MobileNetV2 are computed once, by
the first run, and kept: of 120,000 photographs, a matter of hours on a CPU.
Published, after the 928 rounds in which all clients come once, is an accuracy
of 0.451, and of 0.466 and 0.476 for `fed3r_rf` with 5,000 and 10,000 random
features.
Without the photographs, fed3r_generated.py has as many clients and classes.
"""

from collections.abc import Sequence

from launch.configs import base
from launch.configs import features
from launch.configs import sweeps

# 9,275 clients in cohorts of 10.
_VISITING_ROUNDS = 928


def get_config(variant: str = 'fed3r') -> base.ConfigDict:
  """Returns the config of a variant of the method."""
  return features.create_network_config(
    variant,
    task={
      'name': 'inaturalist',
      'split': 'user_120k',
      'extractor': 'mobilenet_v2',
      'image_size': 224,
    },
    trained_from='images',
    visiting_rounds=_VISITING_ROUNDS,
    rounds=928,
    evaluate_every=100,
    checkpoint_every=100,
  )


def sweep(name: str) -> Sequence[sweeps.Run]:
  """Returns the runs of a sweep: one of `features.ready_sweeps`."""
  return sweeps.select(name, get_config, features.ready_sweeps)
