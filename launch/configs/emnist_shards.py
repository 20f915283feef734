# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Ten classes of EMNIST among 100 clients, as in SRPFL's experiments.

  python -m launch.train --config=launch/configs/emnist_shards.py:fed_rep \
    --workdir=runs/emnist_shards_fed_rep --data_dir=path/to/tff_cache

has the digits, 5 per client. The experiments on FEMNIST have the letters a to
j, 3 per client, and 15,000 of their images, 13,500 of them for training:
characters=letters.

  python -m launch.train --workdir=runs/femnist_srpfl \
    --config=emnist_shards:fed_rep,participation=srpfl,characters=letters \
    --data_dir=path/to/tff_cache

path/to/tff_cache holds emnist_all.sqlite, as TFF unpacks it;
--config.task.download=True downloads it if it is missing.
launch/configs/cifar10.py lists methods to compare,
launch/configs/class_shards.py the sources of the fields. For a laptop, there
are

  size=compact  128 and 64 hidden units, 60 rounds
  size=results  the same with 30 rounds and at most 60 examples per client, for
                docs/results.md
"""

from collections.abc import Sequence

from launch.configs import base
from launch.configs import class_shards
from launch.configs import sweeps

_CHARACTERS = {
  'digits': {},
  'letters': {
    'task.characters': 'letters',
    'task.classes_per_client': 3,
    # 135 of the 150 images of each client, held-out clients included.
    'task.max_images': 16_200,
  },
}


def get_config(variant: str = 'fed_rep') -> base.ConfigDict:
  """Returns the config of a variant of the algorithm."""
  return class_shards.create_config(
    variant,
    axes={
      'characters': _CHARACTERS,
      'size': class_shards.sizes('task.hidden_units', (128, 64)),
    },
    body_epochs=5,
    task={
      'name': 'emnist_shards',
      'characters': 'digits',
      'num_clients': 100,
      # Half of the held-out clients are for validation.
      'num_held_out': 20,
      'classes_per_client': 5,
      # The largest number of training images; 0 for all.
      'max_images': 0,
      'hidden_units': (512, 256, 64),
      'download': False,
    },
  )


def sweep(name: str) -> Sequence[sweeps.Run]:
  """Returns the runs of a sweep of `class_shards.create_sweeps`."""
  return sweeps.select(name, get_config, class_shards.create_sweeps)
