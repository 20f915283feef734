# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The block `participation`: the clients of each round and their speeds."""

from __future__ import annotations

from collections.abc import Mapping
import math
import os
import typing
from typing import Any
from typing import NamedTuple

from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff import regular_files
from fedfish_tff import simulation
from launch.methods import block as block_lib
from launch.methods import config as config_lib
from launch.methods import exchange
from launch.methods import fields

if typing.TYPE_CHECKING:
  from tasks.task import Task

# The policies with which each client counts at most once.
VISITS = ('visit_once',)
# The policies that may ask more clients than they need.
_OVER_SELECTING = ('uniform', 'deadline')
# The fields with the number of clients from which a policy chooses.
_DRAWN = {'fastest': 'sampled', 'power_of_choice': 'candidates'}


class Policy(NamedTuple):
  """A choice of the clients of each round.

  Attributes:
    title: The name in labels of runs.
    help: A phrase for --methods.
    fields: The fields of the block that only this policy has.
    needs_speeds: Whether it depends on the clients' seconds.
  """

  title: str
  help: str
  fields: Mapping[str, fields.Field]
  needs_speeds: bool = False


_N0 = fields.Field(2, fields.integer(1), 'Clients in the first stage.')
POLICIES: Mapping[str, Policy] = {
  'uniform': Policy('uniform participation', 'cohorts drawn anew', {}),
  'poisson': Policy(
    'Poisson', 'each client by chance, cohort_size of them on average', {}
  ),
  'visit_once': Policy('visit once', 'every client in turn', {}),
  'epochs': Policy(
    'epochs', 'every client in turn, again and again in another order', {}
  ),
  'deadline': Policy(
    'deadline',
    'as uniform, without those who answer after a deadline',
    {
      'deadline': fields.Field(
        1.0,
        fields.number(positive=True),
        'The seconds after which a round takes no more answers.',
      )
    },
    needs_speeds=True,
  ),
  'asynchronous': Policy(
    'asynchronous',
    'a step at every cohort_size answers of clients that work all the time',
    {
      'concurrency': fields.Field(
        0, fields.integer(0), 'How many clients work at the same time; 0: all.'
      ),
      'max_staleness': fields.Field(
        20,
        fields.integer(0),
        'The steps after which an answer is lost; as many models and one are kept.',
      ),
    },
    needs_speeds=True,
  ),
  'power_of_choice': Policy(
    'power of choice',
    'the cohort_size highest losses of candidates that are drawn by their sizes',
    {
      'candidates': fields.Field(
        0, fields.integer(0), 'How many are drawn, anew each round; 0: all.'
      )
    },
  ),
  'fastest': Policy(
    'fastest',
    'the cohort_size fastest of all, or of some that are drawn',
    {
      'sampled': fields.Field(
        0, fields.integer(0), 'How many are drawn, anew each round; 0: all.'
      )
    },
    needs_speeds=True,
  ),
  'flanp': Policy(
    'FLANP',
    'the fastest of all, twice as many in each stage',
    {
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
    },
    needs_speeds=True,
  ),
  'srpfl': Policy(
    'SRPFL',
    'the fastest of cohort_size that are drawn, twice as many in each stage',
    {
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
    },
    needs_speeds=True,
  ),
}
NAME = fields.Field(
  'uniform',
  fields.one_of(*POLICIES),
  'Who takes part; see docs/participation.md.',
)
# The fields of every policy; over_selection is for `_OVER_SELECTING` only.
OPTIONS: Mapping[str, fields.Field] = {
  'dropout': fields.Field(
    0.0, fields.below_1, 'The probability that a client does not answer.'
  ),
  'over_selection': fields.Field(
    0.0,
    fields.number(positive=False),
    'What part of the cohort is asked beyond it; the first answers count.',
  ),
}
COMMUNICATION = fields.Field(
  0.0, fields.number(positive=False), 'What messages add to each round.'
)


class SpeedKind(NamedTuple):
  """A source of the clients' seconds.

  Attributes:
    help: A phrase for --methods.
    fields: The fields of the block `speeds` that only this kind has.
    fixed: Whether the seconds are the same in every round.
  """

  help: str
  fields: Mapping[str, fields.Field]
  fixed: bool


SPEEDS: Mapping[str, SpeedKind] = {
  'exponential': SpeedKind(
    'scale * Exp(1), drawn once for each client',
    {
      'scale': fields.Field(
        1.0, fields.number(positive=True), 'The mean seconds.'
      )
    },
    fixed=True,
  ),
  'dynamic': SpeedKind(
    'scale_i * Exp(1), drawn each round',
    {
      'scales': fields.Field(
        (1.0, 100.0), fields.numbers, 'From where to where scale_i is drawn.'
      )
    },
    fixed=False,
  ),
  'classes': SpeedKind(
    "mean * Exp(1) with the mean of the client's class, drawn each round",
    {
      'class_shares': fields.Field(
        (0.5, 0.3, 0.2), fields.numbers, 'How many clients each class has.'
      ),
      'class_seconds': fields.Field(
        (1.0, 3.0, 10.0), fields.numbers, "The classes' mean seconds."
      ),
    },
    fixed=False,
  ),
  'trace': SpeedKind(
    'as measured, from a CSV file with the columns client_id and seconds',
    {'path': fields.Field('', fields.text, 'The file.')},
    fixed=True,
  ),
}


def _check_speeds(name: str, block: Any) -> None:
  fields.block(name, block)
  prefix, kind = f'{name}.', block.get('kind')
  known = fields.of_checks({'kind': fields.one_of(*SPEEDS)})
  known['kind'].check(f'{prefix}kind', kind)
  known |= SPEEDS[kind].fields
  known['communication_seconds'] = COMMUNICATION
  fields.check_block(prefix, block, known, owner=kind)
  if kind == 'dynamic':
    scales = block['scales']
    if len(scales) != 2 or not 0 < scales[0] <= scales[1]:
      raise fields.error(
        f'{prefix}scales', scales, 'two positive numbers, the smaller first,'
      )
  if kind == 'trace' and not block['path']:
    raise fields.error(f'{prefix}path', '', 'the path of a CSV file')
  if kind == 'classes' and len(block['class_shares']) != len(
    block['class_seconds']
  ):
    raise errors.InputError(
      f'{prefix}class_shares and {prefix}class_seconds must have as many '
      f'numbers, got {len(block["class_shares"])} and '
      f'{len(block["class_seconds"])}.'
    )


def _options(name: str) -> dict[str, fields.Field]:
  options = dict(OPTIONS)
  if name == 'asynchronous':
    del options['dropout']
  if name not in _OVER_SELECTING:
    del options['over_selection']
  return options


class _Participation(block_lib.Block):
  """The block; its fields in a config are those of one policy."""

  def defaults(
    self, preset: str, speeds: str = 'exponential'
  ) -> dict[str, Any]:
    """Returns the block of a config.

    Args:
      preset: One of `POLICIES`.
      speeds: One of `SPEEDS`.
    """
    return {
      'name': preset,
      **fields.defaults(POLICIES[preset].fields),
      **fields.defaults(_options(preset)),
      'speeds': {
        'kind': speeds,
        **fields.defaults(SPEEDS[speeds].fields),
        'communication_seconds': COMMUNICATION.default,
      },
    }

  def read(self, values: Mapping[str, Any]) -> config_lib.Values:
    """Returns the fields, with defaults for those that are left out.

    A config without dropouts or speeds may leave out these fields.

    Args:
      values: The block.

    Raises:
      errors.InputError: If a field is missing, unknown or refused.
    """
    name = values.get('name')
    NAME.check('participation.name', name)
    policy = POLICIES[name]
    check_speeds = _check_speeds if 'speeds' in values else lambda *_: None
    options = {
      **_options(name),
      'speeds': fields.Field(None, check_speeds, 'How long clients take.'),
    }
    absent = fields.defaults(options)
    if policy.needs_speeds:
      del absent['speeds']
    whole = {**absent, **values}
    fields.check_block(
      'participation.',
      whole,
      {'name': NAME, **policy.fields, **options},
      owner=name,
    )
    return config_lib.Values.of(
      {'over_selection': 0.0, 'dropout': 0.0, **whole}
    )

  def describe(self) -> list[str]:
    """Returns lines that describe the axes and fields, by policy and kind."""
    lines = super().describe()
    for prefix, kinds in (('', POLICIES), ('speeds=', SPEEDS)):
      for name, kind in kinds.items():
        lines.append(f'  {prefix}{name}: {kind.help}')
        lines += [f'  {line}' for line in fields.describe(kind.fields)]
    return lines


def _check(config: config_lib.Config) -> None:
  own, prefix = config.participation, 'participation.'
  if own.over_selection and own.speeds is None:
    raise errors.InputError(
      f'{prefix}over_selection is {own.over_selection!r}, so that the first '
      f'answers count, but the config has no field {prefix}speeds.'
    )
  if own.name == 'asynchronous' and not config.method.is_asynchronous:
    raise errors.InputError(
      f'{prefix}name must not be {own.name!r} for {config.method.name}, whose '
      'clients start from the newest model.'
    )
  if own.name == 'flanp' and not SPEEDS[own.speeds.kind].fixed:
    fixed = ', '.join(kind for kind, speeds in SPEEDS.items() if speeds.fixed)
    raise errors.InputError(
      f'{prefix}speeds.kind must be one of {fixed}, since the clients of flanp '
      f'stay the fastest, got {own.speeds.kind!r}.'
    )
  if own.name == 'srpfl' and not own.rounds_per_stage:
    if own.speeds.kind != 'exponential':
      raise errors.InputError(
        f'{prefix}speeds.kind must be exponential, or {prefix}rounds_per_stage '
        f'positive, got {own.speeds.kind!r} and 0.'
      )
  if not _clients_train_servers_model(config):
    whose = config.method.name
    if exchange.clients_keep_unsent(config):
      whose += f' with exchange.unsent {exchange.CLIENT_KEEPS!r}'
    if own.name == 'power_of_choice':
      raise errors.InputError(
        f'{prefix}name must not be {own.name!r} for {whose}, since the loss of '
        "the server's model is not that of what its clients train."
      )
    if by_accuracy(config):
      raise errors.InputError(
        f'{prefix}rounds_per_stage must be a positive integer for {whose}, since '
        "the gradient at the server's model is not that of what its clients "
        'train, got 0.'
      )


def _clients_train_servers_model(config: config_lib.Config) -> bool:
  """Returns whether the server's model is what clients begin a round with."""
  method = config.method
  return not (
    method.personalizes or method.sized or exchange.clients_keep_unsent(config)
  )


def by_accuracy(config: config_lib.Config) -> bool:
  """Returns whether training ends stages by FLANP's accuracy criterion."""
  own = config.participation
  return own.name == 'flanp' and not own.rounds_per_stage


def create_accuracy_stages(
  config: config_lib.Config, task: Task
) -> simulation.AccuracyStages | None:
  """Returns the stages that training ends by accuracy; None if it does not.

  Args:
    config: The config.
    task: The task.

  Raises:
    errors.InputError: If cohorts are smaller than the last stage.
  """
  if not by_accuracy(config):
    return None
  num_clients = len(task.train.client_ids)
  if config.cohort_size < num_clients:
    raise errors.InputError(
      f'cohort_size must be {num_clients}, as many as there are training '
      'clients, since all clients of a stage come where '
      f'participation.rounds_per_stage is 0, got {config.cohort_size}.'
    )
  return simulation.AccuracyStages(config.participation.n0, most=num_clients)


def create_participation(
  config: config_lib.Config,
  task: Task,
  *,
  accuracy_stages: simulation.AccuracyStages | None = None,
) -> simulation.Participation:
  """Returns the policy that chooses the cohort of each round.

  Args:
    config: The config.
    task: The task.
    accuracy_stages: The result of `create_accuracy_stages`, which training
      updates with each round's row; None to create it.

  Raises:
    errors.InputError: If there are fewer clients than the config asks for, no
      round has as many as its blocks need, or the file of their speeds cannot
      be used.
  """
  found = _create_policy(config, task, accuracy_stages)
  _check_sizes(config, getattr(found, 'planned', found))
  return found


def _create_policy(
  config: config_lib.Config,
  task: Task,
  accuracy_stages: simulation.AccuracyStages | None,
) -> simulation.Participation:
  client_ids = task.train.client_ids
  own, seed, cohort_size = config.participation, config.seed, config.cohort_size
  speeds = own.speeds and _create_speeds(config, task)
  if own.name == 'srpfl':
    return simulation.srpfl_participation(
      client_ids,
      stages=_create_stages(own, cohort_size),
      speeds=speeds,
      seed=seed,
      sampled=cohort_size,
      resample=own.resample,
      dropout=own.dropout,
    )
  if own.name == 'asynchronous':
    return simulation.Asynchronous(
      client_ids,
      size=cohort_size,
      concurrency=own.concurrency or len(client_ids),
      max_staleness=own.max_staleness,
      speeds=speeds,
      seed=seed,
      communication_seconds=own.speeds.communication_seconds,
    )
  if own.name == 'flanp':
    stages = (
      accuracy_stages
      or create_accuracy_stages(config, task)
      or simulation.equal_stages(
        own.n0, most=len(client_ids), rounds_per_stage=own.rounds_per_stage
      )
    )
    asked = simulation.flanp_participation(
      client_ids,
      stages=stages,
      speeds=speeds,
      seed=seed,
      cohort_size=cohort_size,
    )
  else:
    asked = _create_asked(config, task)
  answering = asked
  if own.dropout:
    answering = simulation.drop_out(asked, own.dropout, seed=seed)
  if own.name == 'power_of_choice':
    return simulation.PowerOfChoice(answering, size=cohort_size)
  if own.name == 'deadline':
    deadline = simulation.Deadline(
      answering,
      size=cohort_size,
      seconds=own.deadline,
      speeds=speeds,
      communication_seconds=own.speeds.communication_seconds,
    )
    deadline.check(config.rounds)
    return deadline
  takes_fastest = own.over_selection or own.name == 'fastest'
  if takes_fastest and _count_asked(config, len(client_ids)) > cohort_size:
    answering = simulation.fastest_participation(
      answering, size=cohort_size, speeds=speeds
    )
  return answering


def _create_asked(
  config: config_lib.Config, task: Task
) -> simulation.Participation:
  """Returns the clients that are asked, by a policy that draws them."""
  own, client_ids = config.participation, task.train.client_ids
  drawn = {'cohort_size': config.cohort_size, 'seed': config.seed}
  if own.name == 'visit_once':
    needed = simulation.count_visiting_rounds(
      len(client_ids), cohort_size=config.cohort_size
    )
    if config.rounds > needed:
      raise errors.InputError(
        f'rounds must be at most {needed}, after which participation visit_once '
        f'has seen all {len(client_ids)} training clients, got {config.rounds}.'
      )
    return simulation.visit_once_participation(client_ids, **drawn)
  if own.name == 'epochs':
    return simulation.epochs_participation(client_ids, **drawn)
  if own.name == 'poisson':
    return simulation.poisson_participation(client_ids, **drawn)
  drawn['cohort_size'] = _count_asked(config, len(client_ids))
  if own.name == 'power_of_choice':
    cap = config.max_examples_per_client or math.inf
    sizes = {
      client_id: min(
        cap, datasets.count_examples(task.train.load_client(client_id))
      )
      for client_id in client_ids
    }
    return simulation.proportional_participation(sizes, **drawn)
  return simulation.uniform_participation(client_ids, **drawn)


def _check_sizes(
  config: config_lib.Config, planned: simulation.Participation
) -> None:
  """Checks that some round has as many clients as the config's blocks need."""
  for block in block_lib.blocks_of(config):
    needed, most = block.needed_clients(config), 0
    # Accuracy ends no stage whose rounds change nothing.
    last = 1 if by_accuracy(config) else config.rounds
    for number in range(1, last + 1):
      if most >= needed:
        break
      most = max(most, len(planned(number)))
    if most < needed:
      raise errors.InputError(
        f'participation must bring {needed} clients to some round, the least '
        f'with which the block {block.name} does what it says, got at most '
        f'{most} in round{f"s 1 to {last}" if last > 1 else " 1"}.'
      )


def max_staleness(config: config_lib.Config) -> int:
  """Returns the largest staleness of an update; 0 for the newest models."""
  own = config.participation
  return own.max_staleness if own.name == 'asynchronous' else 0


def create_wall_clock(
  config: config_lib.Config, task: Task, participation: simulation.Participation
) -> simulation.WallClock | None:
  """Returns the clock of simulated time; None for a config without speeds.

  Args:
    config: The config.
    task: The task.
    participation: The result of `create_participation`.

  Raises:
    errors.InputError: If the file of the speeds cannot be used.
  """
  if config.participation.speeds is None:
    return None
  if isinstance(participation, (simulation.Deadline, simulation.Asynchronous)):
    return participation.round_seconds
  return simulation.build_wall_clock(
    _create_speeds(config, task),
    communication_seconds=config.participation.speeds.communication_seconds,
  )


def fingerprint_speeds(config: config_lib.Config) -> dict[str, str]:
  """Returns the fingerprint of a file of speeds, if there is one.

  Args:
    config: The config.

  Raises:
    errors.InputError: If it cannot be read.
  """
  speeds = config.participation.speeds
  if speeds is None or speeds.kind != 'trace':
    return {}
  return {'speeds': regular_files.digest(_trace_path(speeds))}


def _trace_path(speeds: config_lib.Values) -> str:
  return os.path.expanduser(speeds.path)


def _create_speeds(config: config_lib.Config, task: Task) -> simulation.Speeds:
  own, seed = config.participation.speeds, config.seed
  if own.kind == 'exponential':
    return simulation.fixed_exponential_speeds(seed=seed, scale=own.scale)
  if own.kind == 'dynamic':
    return simulation.dynamic_exponential_speeds(
      seed=seed, scales=tuple(own.scales)
    )
  if own.kind == 'classes':
    classes = map(simulation.DeviceClass, own.class_shares, own.class_seconds)
    return simulation.device_class_speeds(list(classes), seed=seed)
  return simulation.read_trace_speeds(_trace_path(own), task.train.client_ids)


def _create_stages(
  own: config_lib.Values, cohort_size: int
) -> simulation.Stages:
  if own.rounds_per_stage:
    return simulation.equal_stages(
      own.n0, most=cohort_size, rounds_per_stage=own.rounds_per_stage
    )
  return simulation.exponential_stages(
    own.n0, most=cohort_size, contraction=own.contraction
  )


def _count_asked(config: config_lib.Config, num_clients: int) -> int:
  """Returns the number of clients that are asked per round."""
  own, cohort_size = config.participation, config.cohort_size
  if cohort_size > num_clients:
    # Building the participation refuses this cohort.
    return cohort_size
  # Rounded first: a tenth of 70 is 7, not the ceiling of 7.000000000000001.
  over = math.ceil(round(own.over_selection * cohort_size, 9))
  asked = cohort_size + over
  field = 'over_selection'
  if own.name in _DRAWN:
    field = _DRAWN[own.name]
    asked = getattr(own, field) or num_clients
  if not cohort_size <= asked <= num_clients:
    raise errors.InputError(
      f'participation.{field} must ask from cohort_size, {cohort_size}, to all '
      f'{num_clients} training clients, got {getattr(own, field)!r}, which '
      f'asks {asked}.'
    )
  return asked


BLOCK = _Participation(
  name='participation',
  help='clients that come in a round, with dropouts; clients with speeds take '
  'simulated time (docs/participation.md)',
  fields={
    'name': NAME,
    **OPTIONS,
    'speeds.communication_seconds': COMMUNICATION,
  },
  presets={name: {} for name in POLICIES},
  axes=lambda: {'speeds': {kind: {} for kind in SPEEDS}},
  only={'name': ('repeated_visits', VISITS)},
  check=_check,
  in_loop=True,
  # Methods are built for the largest staleness.
  built_from=lambda config: frozenset(
    {'participation'} if config.participation.name == 'asynchronous' else ()
  ),
)
