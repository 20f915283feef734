# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""SRPFL and its baselines beside slow clients, for docs/results_srpfl.md.

  python -m launch.sweep --sweep_dir=runs/cifar10_stragglers \
    --config=research/srpfl/class_shards.py:stragglers --data_dir=path/to/folder
  python -m launch.plot --sweep_dir=runs/cifar10_stragglers \
    --layout=research.srpfl.stragglers:draw --output_dir=plots

The second command draws SRPFL's figure 3. Configs are those of
launch/configs/class_shards.py, whose axes may follow the name of the sweep.
"""

from collections.abc import Mapping

from launch.configs import class_shards
from launch.configs import sweeps

# The compared methods: SRPFL's baselines, FedPer and Ditto; FLANP, SRPFL and
# LG-SRPFL. FedAvg and FLANP without fine-tuning are the scores before it.
METHODS = ('fed_avg', 'fed_per', 'fed_rep', 'lg_fed_avg', 'hf_maml', 'ditto')
_UNIFORM = tuple(f'{method},participation=uniform' for method in METHODS)
_FLANP = ('fed_avg,participation=flanp',)
_SRPFL = ('fed_rep,participation=srpfl', 'lg_fed_avg,participation=srpfl')
_COMMUNICATION_SECONDS = (0.0, 10.0, 100.0)
# A fifth of the clients, and all clients.
_COHORT_SIZES = (20, 100)
_SEEDS = (0, 1, 2, 3, 4)

get_config = class_shards.get_config


def create_sweeps(
  get_config: sweeps.GetConfig,
) -> Mapping[str, sweeps.MakeRuns]:
  """Returns the sweep `stragglers` and ready sweeps of METHODS.

  The ready sweeps over local epochs are left out, because those of FedRep are
  the epochs of head and body together.

  `stragglers` has every method and participation, with a fifth of the clients
  and with all, and five seeds. Speeds are drawn once; SRPFL, LG-SRPFL and
  uniform FedAvg also run with speeds that change in every round.
  `research.srpfl.stragglers` uses one run's clock for all runs with the
  same clients, and adds the time of messages.

  `asynchronous` has FedAvg, deadlines, FLANP, SRPFL, FedBuff and FedAsync with
  20 clients at work, both kinds of speeds and five seeds. The time of messages
  decides on the first answers, so that asynchronous runs differ in its cost.

  Args:
    get_config: A function that returns the config of a variant.
  """

  def asynchronous() -> tuple[sweeps.Run, ...]:
    runs = []
    for speeds in ('exponential', 'dynamic'):
      timed = [
        'fed_avg,participation=uniform',
        'fed_avg,participation=deadline',
        'fed_rep,participation=srpfl',
      ]
      if speeds == 'exponential':
        timed += _FLANP
      runs += sweeps.grid(
        [f'{variant},speeds={speeds}' for variant in timed],
        {'cohort_size': (class_shards.AT_WORK,), 'seed': _SEEDS},
      )
      runs += sweeps.grid(
        [
          f'{method},participation=asynchronous,speeds={speeds}'
          for method in ('fed_buff', 'fed_async')
        ],
        {
          'participation.speeds.communication_seconds': _COMMUNICATION_SECONDS,
          'seed': _SEEDS,
        },
      )
    return tuple(runs)

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
  return {name: ready[name] for name in names} | {
    'asynchronous': asynchronous,
    'stragglers': stragglers,
  }


sweep = sweeps.choice(get_config, create_sweeps)
