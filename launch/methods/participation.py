# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The block `participation`: the clients of each round and their speeds."""

from __future__ import annotations

import typing

from fedfish_tff import errors
from fedfish_tff import fields
from fedfish_tff import regular_files
from fedfish_tff import simulation
from launch.methods import block
from launch.methods import client_speeds
from launch.methods import cohort_hooks
from launch.methods import config as config_lib
from launch.methods import policies
from launch.methods import policy

if typing.TYPE_CHECKING:
  from tasks.task import Task

POLICIES = policies.POLICIES
_USUAL = 'uniform'


def policy_of(config: config_lib.Config) -> policy.Policy:
  """Returns the policy that a config names."""
  return POLICIES[config.participation.name]


def _check(config: config_lib.Config) -> None:
  own, named = config.participation, policy_of(config)
  over_selection = getattr(own, 'over_selection', 0)
  if over_selection and own.speeds is None:
    raise errors.InputError(
      f'participation.over_selection is {over_selection!r}, so that the first '
      'answers count, but the config has no field participation.speeds.'
    )
  if named.is_asynchronous and not config.method.is_asynchronous:
    raise errors.InputError(
      f'participation.name must not be {own.name!r} for {config.method.name}, '
      'whose clients start from the newest model.'
    )
  if own.speeds is not None:
    client_speeds.KINDS[own.speeds.kind].check(own.speeds)
  named.check(config)


def _deviations(config: config_lib.Config) -> dict[str, str]:
  """Returns the title of the policy unless it is the method's usual one."""
  own = policy_of(config)
  if own.is_asynchronous or config.method.is_asynchronous:
    # Without late answers, such a method is another one: FedBuff is FedAvg.
    is_usual = own.is_asynchronous and config.method.is_asynchronous
  elif 'repeated_visits' in config.method.supports:
    is_usual = config.participation.name == _USUAL
  else:
    is_usual = config.participation.name == _USUAL or own.visits_once
  return {} if is_usual else {'participation.name': own.title}


def create_cohorts(config: config_lib.Config, task: Task) -> config_lib.Cohorts:
  """Returns the policy's choice of the clients of each round.

  There must be as many clients as the config asks for, in some round as many as
  its blocks need, and cohorts as large as the last stage.
  """
  named = policy_of(config)
  stages = named.create_stages(config, len(task.train.client_ids))
  found = config_lib.Cohorts(
    title=named.title,
    participation=named.build(
      policy.Ingredients(
        config=config,
        task=task,
        speeds=_create_speeds(config, task),
        accuracy_stages=stages,
      )
    ),
    accuracy_stages=stages,
  )
  # Accuracy ends no stage whose rounds change nothing.
  last = 1 if stages is not None else config.rounds
  _check_sizes(config, found.planned, last_round=last)
  return found


def _check_sizes(
  config: config_lib.Config,
  planned: simulation.Participation,
  *,
  last_round: int,
) -> None:
  """Checks that some round has as many clients as the config's blocks need."""
  for one in config.declared:
    needed, most = one.needed_clients(config), 0
    for number in range(1, last_round + 1):
      if most >= needed:
        break
      most = max(most, len(planned(number)))
    if most < needed:
      rounds = f'rounds 1 to {last_round}' if last_round > 1 else 'round 1'
      raise errors.InputError(
        f'participation must bring {needed} clients to some round, the least '
        f'with which the block {one.name} does what it says, got at most '
        f'{most} in {rounds}.'
      )


def max_staleness(config: config_lib.Config) -> int:
  """Returns the largest staleness of an update; 0 for the newest models."""
  is_asynchronous = policy_of(config).is_asynchronous
  return config.participation.max_staleness if is_asynchronous else 0


def create_wall_clock(
  config: config_lib.Config, task: Task, participation: simulation.Participation
) -> simulation.WallClock | None:
  """Returns the clock of simulated time; None for a config without speeds.

  The participation is that of `create_cohorts`.
  """
  speeds = _create_speeds(config, task)
  if speeds is None:
    return None
  if create_clock := policy_of(config).create_clock:
    return create_clock(participation)
  return simulation.build_wall_clock(
    speeds,
    communication_seconds=config.participation.speeds.communication_seconds,
  )


def fingerprint_speeds(config: config_lib.Config) -> dict[str, str]:
  """Returns the fingerprint of a file of speeds, if there is one."""
  own = config.participation.speeds
  path = own and client_speeds.KINDS[own.kind].path(own)
  return {'speeds': regular_files.digest(path)} if path else {}


def _create_speeds(
  config: config_lib.Config, task: Task
) -> simulation.Speeds | None:
  own = config.participation.speeds
  return own and client_speeds.KINDS[own.kind].build(
    own, config.seed, task.train.client_ids
  )


BLOCK = block.Block(
  name='participation',
  help='clients that come in a round, with dropouts; clients with speeds take '
  'simulated time (docs/participation.md)',
  fields={
    'name': fields.Field(
      _USUAL,
      fields.one_of(*POLICIES),
      'Who takes part; see docs/participation.md.',
    ),
    **policy.OPTIONS,
  },
  presets={name: {'name': name} for name in POLICIES},
  axes=lambda: {
    'speeds': {
      kind: {'speeds': client_speeds.SPEEDS.defaults(kind)}
      for kind in client_speeds.KINDS
    }
  },
  choices=POLICIES,
  inner={'speeds': client_speeds.SPEEDS},
  only={
    'name': (
      'repeated_visits',
      tuple(name for name, found in POLICIES.items() if found.visits_once),
    )
  },
  in_all_configs=True,
  check=_check,
  choose=create_cohorts,
  deviations=_deviations,
  in_loop=True,
  # Methods are built for the largest staleness.
  built_from=lambda config: frozenset(
    {'participation'} if policy_of(config).is_asynchronous else ()
  ),
  fingerprint=fingerprint_speeds,
  hooks=lambda experiment: cohort_hooks.build(
    experiment,
    create_wall_clock(
      experiment.config, experiment.task, experiment.cohorts.participation
    ),
  ),
)
