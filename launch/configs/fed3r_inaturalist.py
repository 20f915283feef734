# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Fed3R on iNaturalist's users, 9,275 clients and 1,203 species.

  python -m launch.train --config=launch/configs/fed3r_inaturalist.py:fed3r \
    --workdir=runs/inaturalist_fed3r --data_dir=path/to/inaturalist

--data_dir is the folder that TFF's loader makes as its cache_dir
(tasks/inaturalist.py). Features of MobileNetV2 are computed once, by the first
run, and kept: of 120,000 photographs, a matter of hours on a CPU. Published,
after the 928 rounds in which all clients come once, is an accuracy of 0.451,
and of 0.466 and 0.476 for `fed3r_rf` with 5,000 and 10,000 random features.
Without the photographs, fed3r_generated.py has as many clients and classes.
"""

from collections.abc import Sequence

from launch.configs import base
from launch.configs import features
from launch.configs import sweeps

from ml_collections import config_dict

# 9,275 clients in cohorts of 10.
_VISITING_ROUNDS = 928


def get_config(variant: str = 'fed3r') -> base.ConfigDict:
  """Returns the config of a variant of the method."""
  return features.create_config(
    variant,
    visiting_rounds=_VISITING_ROUNDS,
    task={
      'name': 'inaturalist',
      'split': 'user_120k',
      # features; or images, where the extractor is trained, too.
      'inputs': (
        'images' if variant in features.TRAINS_EXTRACTOR else 'features'
      ),
      'extractor': 'mobilenet_v2',
      # The extractor's file, below --data_dir; None for Keras' own.
      'weights': config_dict.placeholder(str),
      'image_size': 224,
      'unit_features': True,
      # Where features are kept for other runs.
      'feature_dir': '~/.cache/fedfish_tff/features',
      'validation_fraction': 0.5,
    },
    server_optimizer='sgd',
    rounds=928,
    cohort_size=10,
    local_epochs=5,
    batch_size=64,
    client_learning_rate=0.01,
    server_learning_rate=1.0,
    evaluate_every=100,
    checkpoint_every=100,
  )


def sweep(name: str) -> Sequence[sweeps.Run]:
  """Returns the runs of a sweep: one of `features.ready_sweeps`."""
  return sweeps.select(name, features.ready_sweeps(get_config))
