# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Your own data: a folder with one .npz file of arrays x and y per client.

  python -m launch.train --config=launch/configs/arrays.py:fed_fish \
    --workdir=runs/mine --data_dir=path/to/folder

x is [examples, ...], y is [examples]: integers make it classification, floats
regression, unless task.kind says otherwise. The file's name is the client's id.
Plain server steps are the default; server=adam has a server rate of 0.01. Some
clients are held out for validation and test. With x_test and y_test in the
files, or files in folders train and test, each client's model is scored on the
client's own test data (docs/own_clients.md). The run describes the data and
warns of possible mistakes: features that need task.scale or task.standardize,
classes that no client has. Results depend on the data.
"""

import functools

from launch.configs import base
from launch.configs import sweeps

# Without sampled_label, because labels can be sampled only if y is integer.
_METHODS = ('fed_avg', 'fed_fish', 'per_example', 'damped')


def get_config(variant: str = 'fed_fish') -> base.ConfigDict:
  """Returns the config of a variant of the algorithm."""
  return base.create_config(
    variant,
    task={'name': 'arrays'},
    rounds=100,
    cohort_size=10,
    local_epochs=1,
    batch_size=10,
    client_learning_rate=0.05,
    evaluate_every=10,
  )


sweep = sweeps.choice(
  get_config,
  functools.partial(
    sweeps.ready_sweeps,
    methods=_METHODS,
    variants=[v for v in sweeps.VARIANTS if 'sampled_label' not in v],
  ),
)
