# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The policies that choose the clients of each round, by name."""

from __future__ import annotations

from collections.abc import Mapping
import math

from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff import fields
from fedfish_tff import simulation
from launch.methods import client_speeds
from launch.methods import config as config_lib
from launch.methods import exchange
from launch.methods import policy

_N0 = fields.Field(2, fields.integer(1), 'Clients in the first stage.')


def _build_visit_once(parts: policy.Ingredients) -> simulation.Participation:
  num_clients, rounds = len(parts.task.train.client_ids), parts.config.rounds
  needed = simulation.count_visiting_rounds(
    num_clients, cohort_size=parts.config.cohort_size
  )
  if rounds > needed:
    raise errors.InputError(
      f'rounds must be at most {needed}, after which participation visit_once '
      f'has seen all {num_clients} training clients, got {rounds}.'
    )
  return parts.drop_out(simulation.visit_once_participation(**parts.drawn))


def _build_deadline(parts: policy.Ingredients) -> simulation.Deadline:
  own = parts.own
  deadline = simulation.Deadline(
    parts.draw(parts.count_over_selected()),
    size=parts.config.cohort_size,
    seconds=own.deadline,
    speeds=parts.speeds,
    communication_seconds=own.speeds.communication_seconds,
  )
  deadline.check(parts.config.rounds)
  return deadline


def _build_asynchronous(parts: policy.Ingredients) -> simulation.Asynchronous:
  own, client_ids = parts.own, parts.task.train.client_ids
  if parts.config.cohort_size > len(client_ids):
    raise errors.InputError(
      f'cohort_size must be at most {len(client_ids)}, the number of training '
      'clients, each of which is in a server step once at most, got '
      f'{parts.config.cohort_size}.'
    )
  return simulation.Asynchronous(
    client_ids,
    size=parts.config.cohort_size,
    concurrency=own.concurrency or len(client_ids),
    max_staleness=own.max_staleness,
    speeds=parts.speeds,
    seed=parts.config.seed,
    communication_seconds=own.speeds.communication_seconds,
  )


def _build_power_of_choice(
  parts: policy.Ingredients,
) -> simulation.PowerOfChoice:
  asked = parts.count_sampled('candidates')
  cap = parts.config.max_examples_per_client or math.inf
  clients = parts.task.train
  candidates = simulation.proportional_participation(
    {
      client_id: min(
        cap, datasets.count_examples(clients.load_client(client_id))
      )
      for client_id in clients.client_ids
    },
    cohort_size=asked,
    seed=parts.config.seed,
  )
  return simulation.PowerOfChoice(
    parts.drop_out(candidates), size=parts.config.cohort_size
  )


def _name_own_models(config: config_lib.Config) -> str:
  """Returns the method whose clients train other models than the server's.

  It is '' if clients begin a round with the server's model.
  """
  method, keeps = config.method, exchange.clients_keep_unsent(config)
  if not (method.personalizes or method.sized or keeps):
    return ''
  how = f' with exchange.unsent {exchange.CLIENT_KEEPS!r}' if keeps else ''
  return f'{method.name}{how}'


def _check_power_of_choice(config: config_lib.Config) -> None:
  if whose := _name_own_models(config):
    raise errors.InputError(
      f"participation.name must not be 'power_of_choice' for {whose}, since the "
      "loss of the server's model is not that of what its clients train."
    )


def _check_flanp(config: config_lib.Config) -> None:
  own, kinds = config.participation, client_speeds.KINDS
  if not kinds[own.speeds.kind].is_fixed:
    fixed = ', '.join(name for name, kind in kinds.items() if kind.is_fixed)
    raise errors.InputError(
      f'participation.speeds.kind must be one of {fixed}, since the clients of '
      f'flanp stay the fastest, got {own.speeds.kind!r}.'
    )
  if not own.rounds_per_stage and (whose := _name_own_models(config)):
    raise errors.InputError(
      'participation.rounds_per_stage must be a positive integer for '
      f"{whose}, since the gradient at the server's model is not that of what "
      'its clients train, got 0.'
    )


def _create_flanp_stages(
  config: config_lib.Config, num_clients: int
) -> simulation.AccuracyStages | None:
  own = config.participation
  if own.rounds_per_stage:
    return None
  if config.cohort_size < num_clients:
    raise errors.InputError(
      f'cohort_size must be {num_clients}, as many as there are training '
      'clients, since all clients of a stage come where '
      f'participation.rounds_per_stage is 0, got {config.cohort_size}.'
    )
  return simulation.AccuracyStages(own.n0, most=num_clients)


def _first_cohort(config: config_lib.Config) -> int:
  return config.participation.n0


def _build_flanp(parts: policy.Ingredients) -> simulation.Participation:
  own = parts.own
  stages = parts.accuracy_stages or simulation.equal_stages(
    own.n0,
    most=len(parts.task.train.client_ids),
    rounds_per_stage=own.rounds_per_stage,
  )
  return parts.drop_out(
    simulation.flanp_participation(
      **parts.drawn, stages=stages, speeds=parts.speeds
    )
  )


def _check_srpfl(config: config_lib.Config) -> None:
  own = config.participation
  kind = client_speeds.KINDS[own.speeds.kind]
  if not own.rounds_per_stage and not kind.is_exponential:
    raise errors.InputError(
      'participation.speeds.kind must be exponential, or '
      'participation.rounds_per_stage positive, got '
      f'{own.speeds.kind!r} and 0.'
    )


def _build_srpfl(parts: policy.Ingredients) -> simulation.Participation:
  own, most = parts.own, parts.config.cohort_size
  if own.rounds_per_stage:
    stages = simulation.equal_stages(
      own.n0, most=most, rounds_per_stage=own.rounds_per_stage
    )
  else:
    stages = simulation.exponential_stages(
      own.n0, most=most, contraction=own.contraction
    )
  return simulation.srpfl_participation(
    parts.task.train.client_ids,
    stages=stages,
    speeds=parts.speeds,
    seed=parts.config.seed,
    sampled=most,
    resample=own.resample,
    dropout=own.dropout,
  )


POLICIES: Mapping[str, policy.Policy] = {
  'uniform': policy.Policy(
    title='uniform participation',
    help='cohorts drawn anew',
    fields=policy.OPTIONS,
    build=lambda parts: parts.draw_fastest(parts.count_over_selected()),
  ),
  'poisson': policy.Policy(
    title='Poisson',
    help='each client by chance, cohort_size of them on average',
    fields=policy.DROPOUT,
    build=lambda parts: parts.drop_out(
      simulation.poisson_participation(**parts.drawn)
    ),
    is_independent=True,
  ),
  'visit_once': policy.Policy(
    title='visit once',
    help='every client in turn',
    fields=policy.DROPOUT,
    build=_build_visit_once,
    visits_once=True,
  ),
  'epochs': policy.Policy(
    title='epochs',
    help='every client in turn, again and again in another order',
    fields=policy.DROPOUT,
    build=lambda parts: parts.drop_out(
      simulation.epochs_participation(**parts.drawn)
    ),
  ),
  'deadline': policy.Policy(
    title='deadline',
    help='as uniform, without those who answer after a deadline',
    fields={
      'deadline': fields.Field(
        1.0,
        fields.number(positive=True),
        'The seconds after which a round takes no more answers.',
      ),
      **policy.OPTIONS,
    },
    build=_build_deadline,
    needs_speeds=True,
    create_clock=lambda deadline: deadline.round_seconds,
  ),
  'asynchronous': policy.Policy(
    title='asynchronous',
    help='a step at every cohort_size answers of clients that work all the time',
    fields={
      'concurrency': fields.Field(
        0, fields.integer(0), 'How many clients work at the same time; 0: all.'
      ),
      'max_staleness': fields.Field(
        20,
        fields.integer(0),
        'The steps after which an answer is lost; as many models and one are kept.',
      ),
    },
    build=_build_asynchronous,
    needs_speeds=True,
    is_asynchronous=True,
    create_clock=lambda asynchronous: asynchronous.round_seconds,
  ),
  'power_of_choice': policy.Policy(
    title='power of choice',
    help='the cohort_size highest losses of candidates that are drawn by their '
    'sizes',
    fields={
      'candidates': fields.Field(
        0, fields.integer(0), 'How many are drawn, anew each round; 0: all.'
      ),
      **policy.DROPOUT,
    },
    build=_build_power_of_choice,
    check=_check_power_of_choice,
  ),
  'fastest': policy.Policy(
    title='fastest',
    help='the cohort_size fastest of all, or of some that are drawn',
    fields={
      'sampled': fields.Field(
        0, fields.integer(0), 'How many are drawn, anew each round; 0: all.'
      ),
      **policy.DROPOUT,
    },
    build=lambda parts: parts.draw_fastest(parts.count_sampled('sampled')),
    needs_speeds=True,
  ),
  'flanp': policy.Policy(
    title='FLANP',
    help='the fastest of all, twice as many in each stage',
    fields={
      'n0': _N0,
      'rounds_per_stage': fields.Field(
        10,
        fields.integer(0),
        'Rounds until the number doubles; 0 for as many as take the model to the '
        'statistical accuracy.',
      ),
      'accuracy_constant': fields.Field(
        1.0,
        fields.number(positive=False),
        'Of rounds_per_stage=0: 2 mu c; a stage ends when the squared gradient is '
        'at most this over the number of examples.',
        goes_with={'rounds_per_stage': (0,)},
      ),
      **policy.DROPOUT,
    },
    build=_build_flanp,
    first_cohort=_first_cohort,
    check=_check_flanp,
    needs_speeds=True,
    create_stages=_create_flanp_stages,
  ),
  'srpfl': policy.Policy(
    title='SRPFL',
    help='the fastest of cohort_size that are drawn, twice as many in each stage',
    fields={
      'n0': _N0,
      'rounds_per_stage': fields.Field(
        10,
        fields.integer(0),
        'Rounds until the number doubles; 0 for what is best where speeds are '
        'exponential.',
      ),
      'contraction': fields.Field(
        0.9,
        fields.between_0_and_1,
        'Of rounds_per_stage=0: what a round leaves of the squared distance.',
        goes_with={'rounds_per_stage': (0,)},
      ),
      'resample': fields.Field(
        'round',
        fields.one_of('round', 'stage'),
        'When others are drawn; the last stage, which has no end, would keep its '
        'clients.',
      ),
      **policy.DROPOUT,
    },
    build=_build_srpfl,
    first_cohort=_first_cohort,
    check=_check_srpfl,
    needs_speeds=True,
  ),
}
