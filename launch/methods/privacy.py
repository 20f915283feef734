# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The block `privacy`: differential privacy by clipping and noise."""

from __future__ import annotations

from collections.abc import Mapping
import math
import typing
from typing import Any

from fedfish_tff import aggregators
from fedfish_tff import choices
from fedfish_tff import errors
from fedfish_tff import fields
from fedfish_tff import simulation
from fedfish_tff.datasets import random_streams
from launch.methods import block
from launch.methods import building
from launch.methods import config as config_lib
from launch.methods import participation

if typing.TYPE_CHECKING:
  from tasks.task import Task

# For each mechanism, the participations with known privacy accounting.
_PARTICIPATIONS: Mapping[str, tuple[str, ...]] = {
  'gaussian': ('uniform', 'poisson'),
  'tree': ('epochs', 'visit_once'),
}

_FIELDS: Mapping[str, fields.Field] = {
  'mechanism': fields.Field(
    'gaussian',
    fields.one_of(*_PARTICIPATIONS),
    'Whether noise is independent in each round, or along a tree of rounds.',
  ),
  'clipping': fields.Field(
    'fixed',
    fields.one_of('fixed', 'adaptive'),
    "Whether the bound of an update's norm stays, or follows a quantile.",
  ),
  'clip_norm': fields.Field(
    1.0,
    fields.number(positive=True),
    'The bound of the L2 norm; of adaptive clipping the first one.',
  ),
  'target_quantile': fields.Field(
    0.5,
    fields.between_0_and_1,
    'Of adaptive clipping: the part of clients that are not to be clipped.',
    goes_with={'clipping': ('adaptive',)},
  ),
  'noise_multiplier': fields.Field(
    1.0,
    fields.number(positive=False),
    "The noise's standard deviation over the bound.",
  ),
  'delta': fields.Field(
    1e-5,
    fields.between_0_and_1,
    'For which epsilon is told; well below 1 / clients.',
  ),
  'accountant': fields.Field(
    'rdp',
    fields.member_of(choices.Accountant),
    'What bounds epsilon: Rényi differential privacy, as most papers have it, or '
    'privacy loss distributions, which are tight.',
  ),
}


def _build(
  parts: building.Ingredients, aggregator: None
) -> aggregators.PrivateMeanFactory:
  """Builds the private mean, which replaces any other aggregation.

  With adaptive clipping, the noise must be small enough for it.
  """
  del aggregator
  config, own = parts.config, parts.config.blocks['privacy']
  num_clients = len(parts.task.train.client_ids)
  tree = {}
  expected_clients = config.cohort_size
  if own.mechanism == 'tree':
    rounds = simulation.count_visiting_rounds(
      num_clients, cohort_size=config.cohort_size
    )
    # The cohorts of an epoch differ by at most one client.
    expected_clients = num_clients / rounds
    tree = {
      'rounds_per_tree': rounds,
      # Seeded by the whole config: the noise of two runs must not cancel.
      'noise_seed': int(
        random_streams.random_generator('privacy', config.key).integers(2**62)
      ),
    }
  return aggregators.PrivateMeanFactory(
    own.noise_multiplier,
    own.clip_norm,
    expected_clients=expected_clients,
    target_quantile=(
      own.target_quantile if own.clipping == 'adaptive' else None
    ),
    **tree,
  )


def create_epsilon(config: config_lib.Config, task: Task) -> simulation.Epsilon:
  """Returns epsilon as a function of rounds, for a config with the block.

  delta must be below 1 / clients, and the noise enough for the accountant.
  """
  own, num_clients = config.blocks['privacy'], len(task.train.client_ids)
  noise, delta = own.noise_multiplier, own.delta
  if delta * num_clients >= 1:
    raise errors.InputError(
      f'privacy.delta must be below 1 / {num_clients}, since publishing one of '
      f'the {num_clients} training clients at random would be as private, got '
      f'{delta!r}.'
    )
  accountant = choices.Accountant(own.accountant)
  if own.mechanism == 'tree':
    rounds = simulation.count_visiting_rounds(
      num_clients, cohort_size=config.cohort_size
    )
    return simulation.tree_epsilon(
      noise, delta=delta, rounds_per_tree=rounds, accountant=accountant
    )
  if participation.policy_of(config).is_independent:
    return simulation.poisson_epsilon(
      noise,
      delta=delta,
      sampling_probability=config.cohort_size / num_clients,
      accountant=accountant,
    )
  return simulation.fixed_size_epsilon(
    noise, delta=delta, cohort_size=config.cohort_size, num_clients=num_clients
  )


def _hooks(experiment: block.Experiment) -> list[simulation.Hook]:
  epsilon = create_epsilon(experiment.config, experiment.task)
  return [simulation.PrivacyLoss(epsilon)]


def _summary(outcome: block.Outcome) -> dict[str, Any]:
  """Returns the guarantee of all rounds; JSON has no infinite epsilon."""
  config = outcome.experiment.config
  of_rounds = create_epsilon(config, outcome.experiment.task)
  epsilon = of_rounds(outcome.result.round_number)
  return {
    'privacy': {
      'epsilon': epsilon if math.isfinite(epsilon) else None,
      'delta': config.blocks['privacy'].delta,
      'accountant': of_rounds.accountant.value,
      'neighbours': neighbours(config),
    }
  }


def _tell(config: config_lib.Config, summary: Mapping[str, Any]) -> str:
  del config
  own = summary['privacy']
  epsilon = own['epsilon']
  spent = 'no bound' if epsilon is None else f'{epsilon:.4g}'
  by = own['accountant'].upper()
  return f', epsilon {spent} at delta {own["delta"]:g} (by {by})'


def neighbours(config: config_lib.Config) -> str:
  """Returns the neighbouring relation of epsilon, for summary.json."""
  if config.blocks['privacy'].mechanism == 'tree':
    return "a client's contributions are zero"
  if participation.policy_of(config).is_independent:
    return 'a client is added or removed'
  return 'a client is replaced'


def _built_from(config: config_lib.Config) -> frozenset[str] | None:
  if config.blocks['privacy'].mechanism == 'tree':
    return None  # The noise is seeded by the whole config.
  # The noise depends on the cohorts.
  return frozenset({'cohort_size', 'participation', 'seed'})


_AS_DRAWN = 'whose noise is for cohorts as they are drawn'


def _label(config: config_lib.Config, name: str) -> str:
  if config.blocks['privacy'].mechanism == 'gaussian':
    return f'DP-{name}'
  # Kairouz et al. (2021) name FedAvg with it so.
  is_fed_avg = config.method.name == 'fed_avg' and name == config.method.title
  return 'DP-FTRL' if is_fed_avg else f'DP-FTRL-{name}'


def _deviations(config: config_lib.Config) -> dict[str, str]:
  if config.blocks['privacy'].clipping == 'fixed':
    return {}
  return {'privacy.clipping': 'adaptive clipping'}


BLOCK = block.Block(
  name='privacy',
  help='updates that are clipped and noised, with independent noise (gaussian, '
  'adaptive) or along a tree of rounds (tree, tree_adaptive); all clients count '
  'alike',
  fields=_FIELDS,
  presets={
    'gaussian': {},
    # The first bound is that of TFF.
    'adaptive': {'clipping': 'adaptive', 'clip_norm': 0.1},
    'tree': {'mechanism': 'tree'},
    'tree_adaptive': {
      'mechanism': 'tree',
      'clipping': 'adaptive',
      'clip_norm': 0.1,
    },
  },
  supports='privacy',
  goes_with=(
    block.Rule(
      'algorithm.client_weighting',
      ('uniform',),
      'by which no client may count more than another',
    ),
    block.Rule('exchange', (), 'which tells what clients have sent'),
    block.Rule(
      'fine_tuning.start.name',
      ('none',),
      'while the start is made of sums without noise',
    ),
    block.Rule(
      'participation.name',
      ('poisson',),
      'which is known for cohorts of independent clients only',
      when={
        'accountant': (choices.Accountant.PLD.value,),
        'mechanism': ('gaussian',),
      },
    ),
    *(
      block.Rule(
        'participation.name',
        known,
        'whose epsilon is known for these only',
        when={'mechanism': (mechanism,)},
      )
      for mechanism, known in _PARTICIPATIONS.items()
    ),
    block.Rule('participation.dropout', (0,), _AS_DRAWN),
    block.Rule('participation.over_selection', (0,), _AS_DRAWN),
  ),
  check_task=create_epsilon,
  label=_label,
  deviations=_deviations,
  diverges_by=('noise_multiplier',),
  built_from=_built_from,
  build={building.AGGREGATOR: _build},
  after=('adapters', 'fine_tuning'),
  hooks=_hooks,
  summary=_summary,
  tell=_tell,
)
