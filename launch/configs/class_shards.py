# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Common parts of configs with a few classes per client.

The fields are those of the experiments of Tziotis et al. (2022,
arXiv:2206.02078) and their code: 150 rounds of 100 clients, batches of 10, SGD
with rate 0.01 and momentum 0.5, the plain mean at the server; FedRep trains
the head for 10 epochs before the body's; scored clients tune for 10 epochs.
With participation=srpfl or flanp, the pool starts with 10 clients and doubles
every 10 rounds, a fifteenth of all rounds. HF-MAML takes plain steps with a
rate of 0.1, and clients adapt with a rate of 0.01.

In evaluation, FedAvg is FedAvg+FT and FLANP is FLANP+FT: clients tune the whole
model. A rate that suits training need not suit a single client, so each
evaluation tunes with the rate of 0.001, 0.01 and 0.1 that is best on validation
clients (eval/personalization_learning_rate). The three rates are our choice;
--config.evaluation.personalization_learning_rates="()" uses that of training.
"""

from collections.abc import Mapping
from typing import Any

from launch.configs import base
from launch.configs import sweeps

# The compared methods: SRPFL's baselines, FedPer and Ditto; FLANP, SRPFL and
# LG-SRPFL. FedAvg and FLANP without fine-tuning are the scores before it.
METHODS = ('fed_avg', 'fed_per', 'fed_rep', 'lg_fed_avg', 'hf_maml', 'ditto')
_UNIFORM = tuple(f'{method},participation=uniform' for method in METHODS)
_FLANP = ('fed_avg,participation=flanp',)
_SRPFL = ('fed_rep,participation=srpfl', 'lg_fed_avg,participation=srpfl')
# A fifth of the clients, and all clients.
_COHORT_SIZES = (20, 100)
_SEEDS = (0, 1, 2, 3, 4)
_HEAD_EPOCHS = 10
_STAGES_OF_A_RUN = 15
_FIRST_CLIENTS = 10
# A tenth of the rate of training, this rate, and ten times this rate.
_TUNING_LEARNING_RATES = (0.001, 0.01, 0.1)


def sizes(field: str, value: Any) -> Mapping[str, Mapping[str, Any]]:
  """Returns the axis `size`: `compact` for a laptop, `results` for many runs.

  Args:
    field: The field for the size of the task's model.
    value: Its value for a small model.
  """
  return {
    'compact': {field: value, 'rounds': 60},
    'results': {
      field: value,
      'rounds': 30,
      'evaluate_every': 3,
      'max_examples_per_client': 60,
    },
  }


def create_config(
  variant: str, *, body_epochs: int, **values: Any
) -> base.ConfigDict:
  """Returns a config.

  Args:
    variant: See `base.create_config`.
    body_epochs: The number of local epochs, after those of FedRep's head.
    **values: The task's values of fields.
  """
  config = base.create_config(
    variant,
    server_optimizer='sgd',
    **{
      'rounds': 150,
      'cohort_size': 100,
      'local_epochs': body_epochs,
      'batch_size': 10,
      'client_learning_rate': 0.01,
      'server_learning_rate': 1.0,
      'evaluate_every': 10,
      'checkpoint_every': 50,
      'evaluation': {'personalization_epochs': 10, 'barrier': False},
      **values,
    },
  )
  algorithm = config.algorithm
  if 'personal_learning_rate' in algorithm:
    config.client_learning_rate = 0.1
  elif 'client_optimizer' in algorithm:
    algorithm.client_optimizer = 'sgdm_half'
  if algorithm.name == 'fed_avg':
    config.evaluation.personalization_learning_rates = _TUNING_LEARNING_RATES
  if 'body_epochs' in algorithm:
    algorithm.body_epochs = body_epochs
    config.local_epochs = _HEAD_EPOCHS + body_epochs
  if 'client_weighting' in algorithm:
    algorithm.client_weighting = 'uniform'
  if 'n0' in config.participation:
    config.participation.n0 = _FIRST_CLIENTS
    config.participation.rounds_a_stage = config.rounds // _STAGES_OF_A_RUN
  return config


def create_sweeps(
  get_config: sweeps.GetConfig,
) -> Mapping[str, sweeps.MakeRuns]:
  """Returns the sweep `stragglers` and ready sweeps of METHODS.

  The ready sweeps over local epochs are left out, because those of FedRep are
  the epochs of head and body together.

  `stragglers` has every method and participation, with a fifth of the clients
  and with all, and five seeds. Speeds are drawn once; SRPFL, LG-SRPFL and
  uniform FedAvg also run with speeds that change in every round.
  `launch.plot --layout=stragglers` uses one run's clock for all runs with the
  same clients, and adds the time of messages.

  Args:
    get_config: The config of a variant.
  """

  def stragglers() -> tuple[sweeps.Run, ...]:
    return tuple(
      run
      for variants, speeds in (
        ((*_UNIFORM, *_FLANP, *_SRPFL), 'exponential'),
        ((_UNIFORM[0], *_SRPFL), 'dynamic'),
      )
      for run in sweeps.grid(
        [f'{variant},speeds={speeds}' for variant in variants],
        {'cohort_size': _COHORT_SIZES, 'seed': _SEEDS},
      )
    )

  ready = sweeps.ready_sweeps(get_config, methods=METHODS, variants=METHODS)
  names = ('seeds', 'variants', 'learning_rates')
  return {name: ready[name] for name in names} | {'stragglers': stragglers}
