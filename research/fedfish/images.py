# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""FedFish and FedAvg on EMNIST and CIFAR-100, for docs/results_fedfish.md.

  python -m launch.sweep --data_dir=path/to/tff_cache \
    --config=research/fedfish/images.py:settings,images=emnist,size=results \
    --sweep_dir=runs/emnist_settings

Configs are those of launch/configs/fedfish_images.py, with size=results. Rates
are tuned around a server's of 1 and the client's of size=compact, not around
table 2's, which are for 1,500 rounds, because an adaptive server optimizer is
erratic in so few rounds. One tuning, fixed_compute_tuning, serves both
fixed_rounds and fixed_compute, with a quarter of the local epochs of the latter,
because 8 rounds of one local epoch are too few.
"""

from launch.configs import fedfish_images
from launch.configs import sweeps
from research.fedfish import digits

# Adam at the server with TFF's values instead of the published ones.
TFF_ADAM = {'algorithm.server_epsilon': 1e-7, 'algorithm.server_beta_2': 0.999}
# The clients' rates that tuning chose at 16 local epochs.
_TUNED_RATES = {'emnist': 0.1, 'cifar100': 0.05}
# The coarse labels of CIFAR-100 tell more in few rounds.
_SURFACES = {'emnist': {}, 'cifar100': {'task.label': 'coarse'}}

get_config = fedfish_images.get_config


def create_sweeps(
  get_config: sweeps.GetConfig,
) -> dict[str, sweeps.MakeRuns]:
  """Returns the sweeps by name.

  Beside `sweeps.ready_sweeps` and `digits.surfaces` there are

  `settings`: one setting of FedAvg and FedFish changed at a time, with the most
    local epochs. The changes from plain steps at the server and the tuned client
    rate are damping, a lower client rate, with which clients drift less, and
    Adam at the server.
  `claims`: FedAvg, FedFish and damped FedFish with as many local epochs, eight
    seeds that no other sweep has, and a rate of personalisation that validation
    clients choose.
  `claims_tuning`: rates for it, at full length, with two other seeds.
  `stability`: 512 rounds of one local epoch, with both kinds of damping, by the
    seeds of `claims`.

  Args:
    get_config: A function that returns the config of a variant.
  """
  images = get_config('fed_avg').task.name
  fed_avg, fed_fish, damped = claimed = ('fed_avg', 'fed_fish', 'damped')
  epochs = {'local_epochs': sweeps.LOCAL_EPOCHS[-1]}
  seeds = {'seed': tuple(range(10, 18))}
  only_global = {
    'evaluation.barrier': False,
    'evaluation.personalization_epochs': 0,
  }
  plain = {'server_learning_rate': 1.0}
  adam = {'server_learning_rate': fedfish_images.ADAM_RATES[images], **TFF_ADAM}
  usual = {'client_learning_rate': _TUNED_RATES[images]}
  low = {'client_learning_rate': 0.01}
  settings = (
    (fed_avg, usual | plain),
    (fed_fish, usual | plain),
    (damped, usual | plain),
    (fed_avg, low | plain),
    (fed_fish, low | plain),
    ('fed_avg,server=adam', usual | adam),
    ('fed_fish,server=adam', usual | adam),
  )
  rates = (0.003, 0.01, 0.03, 0.1)
  tuning = {
    'client_learning_rate': (0.02, 0.05, 0.1, 0.2),
    'server_learning_rate': (0.3, 1.0),
    'seed': (100, 101),
  }
  many_rounds = {
    'rounds': 512,
    'local_epochs': 1,
    'evaluate_every': 32,
    'checkpoint_every': 128,
    **usual,
    **plain,
  }
  return {
    **sweeps.ready_sweeps(
      get_config, methods=sweeps.ESTIMATORS, tunes_plain_servers=True
    ),
    'settings': lambda: [
      run
      for variant, changes in settings
      for run in sweeps.grid(
        [variant], {'seed': sweeps.SEEDS}, fixed=changes | epochs
      )
    ],
    'claims': lambda: sweeps.grid(
      claimed,
      seeds,
      fixed={**epochs, 'evaluation.personalization_learning_rates': rates},
    ),
    'claims_tuning': lambda: sweeps.grid(
      claimed, tuning, fixed=epochs | only_global
    ),
    'stability': lambda: sweeps.grid(
      (*claimed, 'relatively_damped'),
      seeds,
      fixed=many_rounds | only_global,
    ),
    **digits.surfaces(
      (0.1, 100.0, None),
      fixed={
        'rounds': 20,
        'max_examples_per_client': 50,
        **_SURFACES[images],
      },
    ),
  }


sweep = sweeps.choice(get_config, create_sweeps)
