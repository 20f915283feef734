# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""SRPFL, FedRep and FedAvg with fine-tuning on digits; a minute or two.

  python -m launch.sweep --config=launch/configs/srpfl_digits.py:methods \
    --sweep_dir=runs/srpfl_digits

Each of 64 clients has three digits, and a round waits for the slowest client of
its cohort. FedRep has all clients in every round; SRPFL runs FedRep with the 8
fastest clients first and doubles their number every 10 rounds; FedAvg has all
clients, and each fine-tunes the model. For evaluation, clients train the heads,
or the model, for 10 epochs on their own data, and are scored on test data of
the same digits. The last table gives the simulated seconds after which each
method reaches an accuracy that all methods reach;
plots/eval_new_fine_tuned_accuracy_by_simulated_seconds.png shows the curves of
held-out clients, which judge, and launch.plot with
--metric=eval/own_fine_tuned/accuracy those of training clients.

Expect, with seed 0, that FedRep and SRPFL reach similar accuracies, SRPFL in
half of the time; it takes a quarter of FedRep's time to 0.91. FedAvg with
fine-tuning is ahead of both: digits are easy enough for one model, which then
sees all images.

A single run is a variant (launch/configs/base.py explains them):

  python -m launch.train --workdir=runs/digits_lg_srpfl \
    --config=launch/configs/srpfl_digits.py:lg_fed_avg,participation=srpfl

The fields are those of the experiments of Tziotis et al. (arXiv:2206.02078) for
CIFAR-10 where digits allow it: batches of 10, a body epoch after 10 head
epochs, speeds drawn once from Exp(1), 10 rounds per stage; the paper has 100
clients and starts with 10. Rates are our choice.
"""

from launch.configs import base
from launch.configs import sweeps

_METHODS = (
  'fed_rep,participation=uniform',
  'fed_rep,participation=srpfl',
  'fed_avg,participation=uniform',
)


def get_config(variant: str = _METHODS[1]) -> base.ConfigDict:
  """Returns the config of a variant of the method."""
  return base.create_config(
    variant,
    task={'name': 'digits_shards'},
    rounds=60,
    cohort_size=64,
    # In FedRep, 10 of these train the head; FedAvg trains as long.
    local_epochs=11,
    batch_size=10,
    client_learning_rate=0.05,
    evaluate_every=2,
    checkpoint_every=20,
    evaluation={
      'personalization_epochs': 10,
      'judged_by': 'fine_tuned',
      'barrier': False,
    },
    fields={'participation.n0': 8},
  )


sweep = sweeps.choice(
  get_config, lambda _: {'methods': lambda: sweeps.grid(_METHODS, {})}
)
