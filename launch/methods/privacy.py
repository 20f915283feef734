# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A config's block `privacy`: updates that are clipped and noised.

Plain Python, without TensorFlow, which is imported when something is built.
"""

from __future__ import annotations

from collections.abc import Mapping
import json
import typing
from typing import Any

from fedfish_tff import aggregators
from fedfish_tff import errors
from fedfish_tff import simulation
from fedfish_tff.datasets import random_streams
from launch.methods import fields
from launch.methods import fine_tuning

if typing.TYPE_CHECKING:
  from tasks.task import Task

# By mechanism, the participations whose rounds can be accounted for.
_PARTICIPATIONS: Mapping[str, tuple[str, ...]] = {
  'gaussian': ('uniform', 'poisson'),
  'tree': ('epochs', 'visit_once'),
}

FIELDS: Mapping[str, fields.Field] = {
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
}

# What the axis `privacy` of a variant changes.
PRESETS: Mapping[str, Mapping[str, Any]] = {
  'gaussian': {},
  # It begins as low as TFF's own.
  'adaptive': {'clipping': 'adaptive', 'clip_norm': 0.1},
  'tree': {'mechanism': 'tree'},
  'tree_adaptive': {
    'mechanism': 'tree',
    'clipping': 'adaptive',
    'clip_norm': 0.1,
  },
}


def defaults(preset: str) -> dict[str, Any]:
  """Returns the block `privacy` of a config, by the name of a preset."""
  return {**fields.defaults(FIELDS), **PRESETS[preset]}


def usual_participation(preset: str) -> str:
  """Returns who takes part where a config with a preset says nothing else."""
  return _PARTICIPATIONS[defaults(preset)['mechanism']][0]


def check(config: Mapping[str, Any]) -> None:
  """Checks the block `privacy` and what it goes with.

  Args:
    config: With the block; its other blocks are checked already.

  Raises:
    errors.InputError: If a field is missing, unknown or out of range, or the
      config releases what is not clipped and noised.
  """
  block, participation = config['privacy'], config['participation']
  fields.check_block('privacy.', block, FIELDS)
  weighting = config['algorithm'].get('client_weighting', 'uniform')
  if weighting != 'uniform':
    raise errors.InputError(
      f'algorithm.client_weighting is {weighting!r}, but the config has a block '
      'privacy, by which no client may count more than another; uniform was '
      'expected.'
    )
  for other, there, reason in (
    ('exchange', 'exchange' in config, 'tells what clients have sent'),
    (
      'fine_tuning.start',
      fine_tuning.has_start(config),
      'is made of sums without noise',
    ),
  ):
    if there:
      raise errors.InputError(
        f'The config has a block {other}, which {reason}, and a block privacy; '
        'one of them was expected.'
      )
  known = _PARTICIPATIONS[block['mechanism']]
  if participation['name'] not in known:
    raise errors.InputError(
      f'participation.name is {participation["name"]!r}, but '
      f'privacy.mechanism is {block["mechanism"]!r}, whose epsilon is known for '
      f'{" and ".join(known)}; one of them was expected.'
    )
  for field in ('dropout', 'over_selection'):
    if participation.get(field):
      raise errors.InputError(
        f'participation.{field} is {participation[field]!r}, but the config has '
        'a block privacy, whose noise is for cohorts as they are drawn; 0 was '
        'expected.'
      )


def build_model_aggregator(
  config: Mapping[str, Any], task: Task
) -> aggregators.PrivateMeanFactory | None:
  """Returns what combines updates; None for a config without the block.

  Args:
    config: A checked config.
    task: Its task.

  Raises:
    errors.InputError: If there is too much noise for adaptive clipping.
  """
  if 'privacy' not in config:
    return None
  block, num_clients = config['privacy'], len(task.train.client_ids)
  tree = {}
  expected_clients = config['cohort_size']
  if block['mechanism'] == 'tree':
    rounds = _rounds_a_tree(config, num_clients)
    # Cohorts of an epoch differ by one client at most.
    expected_clients = num_clients / rounds
    tree = {
      'rounds_a_tree': rounds,
      # Of the whole config: the noise of two runs must not cancel.
      'noise_seed': int(
        random_streams.random_generator(
          'privacy', json.dumps(config, sort_keys=True)
        ).integers(2**62)
      ),
    }
  return aggregators.PrivateMeanFactory(
    block['noise_multiplier'],
    block['clip_norm'],
    expected_clients=expected_clients,
    target_quantile=(
      block['target_quantile'] if block['clipping'] == 'adaptive' else None
    ),
    **tree,
  )


def create_epsilon(
  config: Mapping[str, Any], task: Task
) -> simulation.Epsilon | None:
  """Returns epsilon by rounds; None for a config without the block.

  Args:
    config: A checked config.
    task: Its task.
  """
  if 'privacy' not in config:
    return None
  block, num_clients = config['privacy'], len(task.train.client_ids)
  noise, delta = block['noise_multiplier'], block['delta']
  if block['mechanism'] == 'tree':
    return simulation.tree_epsilon(
      noise, delta=delta, rounds_a_tree=_rounds_a_tree(config, num_clients)
    )
  if config['participation']['name'] == 'poisson':
    return simulation.poisson_epsilon(
      noise,
      delta=delta,
      sampling_probability=config['cohort_size'] / num_clients,
    )
  return simulation.fixed_size_epsilon(
    noise,
    delta=delta,
    cohort_size=config['cohort_size'],
    num_clients=num_clients,
  )


def neighbours(config: Mapping[str, Any]) -> str:
  """Returns what epsilon bounds the difference of, for summary.json.

  Args:
    config: A checked config with the block.
  """
  if config['privacy']['mechanism'] == 'tree':
    return "a client's contributions are zero"
  if config['participation']['name'] == 'poisson':
    return 'a client is added or removed'
  return 'a client is replaced'


def _rounds_a_tree(config: Mapping[str, Any], num_clients: int) -> int:
  """Returns after how many rounds clients may come again."""
  return simulation.count_visiting_rounds(
    num_clients, cohort_size=config['cohort_size']
  )
