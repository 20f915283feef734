# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""SRPFL beside FedRep and FedAvg with fine-tuning, on digits; a minute or two.

  python -m launch.train --config=launch/configs/srpfl_digits.py \
    --workdir=runs/srpfl_digits

64 clients know three digits each, and a round waits for the slowest of those who
take part. FedRep has all of them in every round; SRPFL has FedRep begin with the
8 fastest and doubles their number every 10 rounds; FedAvg, with all of them, is
fine-tuned by each client. All train the heads, or the model, for 10 epochs on
the clients' own data before they are scored on test data of the same digits. The
last table says after how many simulated seconds each has reached what all have
reached, and plots/eval_own_accuracy_by_simulated_seconds.png shows the way.

Expect, with seed 0, that FedRep and SRPFL end alike, and SRPFL in half of the
time; it takes a quarter of FedRep's to 0.91. FedAvg with fine-tuning is ahead of
both: digits are easy enough for one model, which then sees all images.

A single run is a variant (launch/configs/base.py explains them):

  python -m launch.train --workdir=runs/digits_lg_srpfl \
    --config=launch/configs/srpfl_digits.py:lg_fed_avg,participation=srpfl

The fields are those of the experiments of Tziotis et al. (arXiv:2206.02078) for
CIFAR-10 where digits allow it: batches of 10, a body epoch after 10 head epochs,
speeds drawn once from Exp(1), 10 rounds a stage; they have 100 clients and begin
with 10. Rates are ours.
"""

from launch.configs import base

# By the name of its folder, the variant of a run.
_RUNS = {
  'fed_rep': 'fed_rep,participation=uniform',
  'srpfl': 'fed_rep,participation=srpfl',
  'fed_avg_ft': 'fed_avg,participation=uniform',
}


def get_config(variant: str = '') -> base.ConfigDict:
  """Returns the config of all runs, or of one variant."""
  if variant:
    return _create_config(variant)
  return base.create_runs(_RUNS, _create_config)


def _create_config(variant: str) -> base.ConfigDict:
  config = base.create_config(
    variant,
    server_optimizer='sgd',
    task={
      'name': 'digits_shards',
      'num_clients': 64,
      # Of those who never train, half are for validation.
      'num_held_out': 16,
      'classes_per_client': 3,
      'hidden_units': (32,),
    },
    rounds=60,
    cohort_size=64,
    # FedRep's head has 10 of them; FedAvg trains as long.
    local_epochs=11,
    batch_size=10,
    client_learning_rate=0.05,
    server_learning_rate=1.0,
    evaluate_every=2,
    checkpoint_every=20,
    evaluation={'personalization_epochs': 10, 'barrier': False},
  )
  if 'n0' in config.participation:
    config.participation.n0 = 8
  return config
