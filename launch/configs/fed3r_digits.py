# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Fed3R and fine-tuning from it on handwritten digits; under a minute.

  python -m launch.train --config=launch/configs/fed3r_digits.py \
    --workdir=runs/fed3r_digits

trains Fed3R, Fed3R-RF, FedNCM, FedAvg and the three strategies of fine-tuning,
one after the other, prints the bytes and accuracy of each, and plots accuracy
against rounds and bytes. It fails if Fed3R's classifier differs from that of
scikit-learn's Ridge on all examples together. The name of a run comes before
its fields: --config.runs.fed3r_rf.algorithm.bandwidth=2.

A single method is a variant (launch/configs/base.py explains them):

  python -m launch.train --workdir=runs/digits_ft_lp \
    --config=launch/configs/fed3r_digits.py:fed_avg,fine_tuning=ft_lp,start=fed3r

The feature extractor is a layer of 64 random features, the one with which the
model of launch/configs/digits.py begins: a stand-in for a pretrained network
that needs no file, and no measure of the methods. fed3r_cifar.py has a real one.
"""

from launch.configs import base
from launch.configs import features

# 24 training clients in cohorts of 5.
_VISITING_ROUNDS = 5
# The variant of each run, by the name of its folder.
_RUNS = {
  'fed3r': 'fed3r',
  'fed3r_rf': 'fed3r_rf',
  'fed_ncm': 'fed_ncm',
  'fed3r_ft': features.FT,
  'fed3r_ft_lp': features.FT_LP,
  'fed3r_ft_feat': features.FT_FEAT,
  'fed_avg': 'fed_avg',
}


def get_config(variant: str = '') -> base.ConfigDict:
  """Returns the config of all runs, or of one variant."""
  if variant:
    return _create_config(variant)
  return base.create_runs(_RUNS, _create_config, check_ridge='fed3r')


def _create_config(variant: str) -> base.ConfigDict:
  config = base.create_config(
    variant,
    visiting_rounds=_VISITING_ROUNDS,
    fine_tuning_learning_rate=0.01,
    task={
      'name': 'digits',
      'num_clients': 40,
      'alpha': 0.1,
      'hidden_units': (64,),
      'validation_fraction': 0.2,
      'test_fraction': 0.2,
    },
    server_optimizer='sgd',
    # For training by gradients, after the visiting rounds if it has a start.
    rounds=10,
    cohort_size=5,
    local_epochs=5,
    batch_size=16,
    client_learning_rate=0.1,
    server_learning_rate=1.0,
    evaluate_every=1,
    checkpoint_every=10,
  )
  # The runs are compared by the global model.
  config.evaluation.update(personalization_epochs=0, barrier=False)
  for block in (
    config.algorithm,
    config.get('fine_tuning', {}).get('start', {}),
  ):
    if 'accumulator' in block:
      block.accumulator = 'float64'
    if 'num_random_features' in block:
      block.num_random_features = 500
  return config
