# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Fed3R and fine-tuning from it on handwritten digits; under a minute.

  python -m launch.sweep --config=launch/configs/fed3r_digits.py:methods \
    --sweep_dir=runs/fed3r_digits

trains Fed3R, Fed3R-RF, FedNCM, FedAvg and three strategies of fine-tuning,
which start from Fed3R's run, prints the bytes and accuracy of each, and plots
accuracy against rounds and bytes.

A single method is a variant (launch/configs/base.py explains them):

  python -m launch.train --workdir=runs/digits_ft_lp \
    --config=launch/configs/fed3r_digits.py:fed_avg,fine_tuning=ft_lp,start=fed3r

The feature extractor is a layer of 64 random features, the one with which the
model of launch/configs/digits.py begins: a stand-in for a pretrained network
that needs no file, and no measure of the methods. fed3r_cifar.py has a real one.
"""

from launch.configs import base
from launch.configs import features
from launch.configs import sweeps

# 24 training clients in cohorts of 5.
_VISITING_ROUNDS = 5
_METHODS = (
  'fed3r',
  'fed3r_rf',
  'fed_ncm',
  features.FT,
  features.FT_LP,
  features.FT_FEAT,
  'fed_avg',
)


def get_config(variant: str = 'fed3r') -> base.ConfigDict:
  """Returns the config of a variant of the method."""
  return base.create_config(
    variant,
    visiting_rounds=_VISITING_ROUNDS,
    task={'name': 'digits'},
    # For training by gradients, after the visiting rounds if it has a start.
    rounds=10,
    cohort_size=5,
    local_epochs=5,
    batch_size=16,
    client_learning_rate=0.1,
    evaluate_every=1,
    checkpoint_every=10,
    # The runs are compared by the global model.
    evaluation={'personalization_epochs': 0, 'barrier': False},
    fields={
      'algorithm.accumulator': 'float64',
      'algorithm.num_random_features': 500,
      'fine_tuning.start.accumulator': 'float64',
      'fine_tuning.start.num_random_features': 500,
    },
  )


sweep = sweeps.choice(
  get_config, lambda _: {'methods': lambda: sweeps.grid(_METHODS, {})}
)
