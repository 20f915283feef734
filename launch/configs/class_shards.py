# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""CIFAR and EMNIST images among 100 clients of a few classes, as for SRPFL.

  python -m launch.train --config=launch/configs/class_shards.py:fed_rep \
    --workdir=runs/cifar10_fed_rep --data_dir=path/to/folder

has CIFAR-10. path/to/folder holds cifar10.npz with the arrays images, labels
and is_test (tasks/images/cifar_shards.py). The axis images has the data sets of
the experiments of Tziotis et al. (2022, arXiv:2206.02078):

  cifar10   5 classes per client
  cifar100  20 classes per client; path/to/tff_cache holds cifar100.sqlite, as
            TFF unpacks it, or --config.task.images names a file like
            cifar10.npz
  digits    5 of EMNIST's digits per client; path/to/tff_cache holds
            emnist_all.sqlite; --config.task.download=True downloads it if it
            is missing
  letters   FEMNIST: 3 of the letters a to j per client, and 15,000 of their
            images, 13,500 of them for training

The fields are those of the experiments and their code: 150 rounds of 100
clients, batches of 10, SGD with rate 0.01 and momentum 0.5, the plain mean at
the server; FedRep trains the head for 10 epochs before the body's. Scored
clients tune for 10 epochs. HF-MAML takes plain steps with a rate of 0.1, and
clients adapt with a rate of 0.01. Methods are fed_rep, lg_fed_avg, fed_per,
ditto, hf_maml and fed_avg, each with participation=uniform, or srpfl for SRPFL
and LG-SRPFL, or flanp: the pool starts with 10 clients and doubles every 10
rounds, a fifteenth of all rounds.

  python -m launch.train --workdir=runs/femnist_srpfl \
    --config=class_shards:fed_rep,participation=srpfl,images=letters \
    --data_dir=path/to/tff_cache

In evaluation, FedAvg is FedAvg+FT and FLANP is FLANP+FT: clients tune the whole
model. A rate that suits training need not suit a single client, so each
evaluation tunes with the rate of 0.001, 0.01 and 0.1 that is best on validation
clients (eval/personalization_learning_rate). The three rates are our choice;
--config.evaluation.personalization_learning_rates="()" uses that of training.

--config.participation.speeds.communication_seconds=10 adds 10 seconds to each
round; speeds=dynamic draws new speeds in each round. fed_buff and fed_async come
with participation=asynchronous: 20 clients work at the same time, the server
steps at every 5 answers or at each, and a run takes as many answers as one of 20
clients per round. participation=deadline waits for 20 of 30 clients, for a time
that about two thirds of them meet. research/srpfl/class_shards.py has the sweeps
over all methods, for SRPFL's figure 3.

A round of fed_rep takes two cores some minutes. For a laptop, there are

  size=compact  LeNet-5 with the widths of 1998, or 128 and 64 hidden units for
                EMNIST; 60 rounds
  size=results  the same with 30 rounds and at most 60 examples per client, for
                docs/results_srpfl.md
"""

from collections.abc import Mapping
from typing import Any

from launch.configs import base

# The task of each value of the axis images.
_TASKS: Mapping[str, Mapping[str, Any]] = {
  'cifar10': {'name': 'cifar10'},
  'cifar100': {'name': 'cifar100_shards'},
  'digits': {'name': 'emnist_shards'},
  'letters': {
    'name': 'emnist_shards',
    'characters': 'letters',
    'classes_per_client': 3,
    # 135 of the 150 images of each client, held-out clients included.
    'max_images': 16_200,
  },
}
# The number of answers of a server step of asynchronous methods.
_ANSWERS = {'fed_buff': 5, 'fed_async': 1}
# The number of clients that work at the same time.
AT_WORK = 20
_MAX_STALENESS = 200
# By the kind of speeds, a deadline that two thirds of the clients meet.
_DEADLINES = {'exponential': 1.0, 'dynamic': 50.0}
_HEAD_EPOCHS = 10
_STAGES_OF_A_RUN = 15
_FIRST_CLIENTS = 10
# A tenth of the rate of training, this rate, and ten times this rate.
_TUNING_LEARNING_RATES = (0.001, 0.01, 0.1)


def get_config(variant: str = 'fed_rep') -> base.ConfigDict:
  """Returns the config of a variant of the algorithm."""
  images = base.value_of('images', variant, _TASKS)
  body_epochs = 1 if images == 'cifar10' else 5
  if images in ('digits', 'letters'):
    compact = {'task.hidden_units': (128, 64), 'rounds': 60}
  else:
    compact = {'task.model': 'classic_lenet5', 'rounds': 60}
  few = {'rounds': 30, 'evaluate_every': 3, 'max_examples_per_client': 60}
  config = base.create_config(
    variant,
    axes={
      'images': dict.fromkeys(_TASKS, {}),
      'size': {'compact': compact, 'results': {**compact, **few}},
    },
    task=_TASKS[images],
    rounds=150,
    cohort_size=100,
    local_epochs=body_epochs,
    batch_size=10,
    client_learning_rate=0.01,
    evaluate_every=10,
    checkpoint_every=50,
    evaluation={
      'personalization_epochs': 10,
      'judged_by': 'fine_tuned',
      'barrier': False,
    },
    fields={
      'algorithm.body_epochs': body_epochs,
      'algorithm.client_weighting': 'uniform',
      'participation.concurrency': AT_WORK,
      'participation.max_staleness': _MAX_STALENESS,
      'participation.n0': _FIRST_CLIENTS,
    },
  )
  algorithm, participation = config.algorithm, config.participation
  if 'personal_learning_rate' in algorithm:
    config.client_learning_rate = 0.1
  elif 'client_optimizer' in algorithm:
    algorithm.client_optimizer = 'sgdm_half'
  if algorithm.name in ('fed_avg', *_ANSWERS):
    config.evaluation.personalization_learning_rates = _TUNING_LEARNING_RATES
  if 'body_epochs' in algorithm:
    config.local_epochs = _HEAD_EPOCHS + body_epochs
  if 'order' in algorithm and images == 'cifar100':
    if config.task.model == 'lenet5':
      # This network has dropout, which has no differences of gradients.
      algorithm.order = 'exact'
  if 'rounds_per_stage' in participation:
    participation.rounds_per_stage = config.rounds // _STAGES_OF_A_RUN
  if 'deadline' in participation:
    participation.deadline = _DEADLINES[participation.speeds.kind]
    participation.over_selection = 0.5
  if 'concurrency' in participation:
    config.cohort_size = _ANSWERS[algorithm.name]
    for field in ('rounds', 'evaluate_every', 'checkpoint_every'):
      config[field] *= AT_WORK // config.cohort_size
  return config
