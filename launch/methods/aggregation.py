# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The block `aggregation`: rules other than the mean of updates."""

from __future__ import annotations

from collections.abc import Mapping
import math
import typing
from typing import Any

from fedfish_tff import aggregators
from fedfish_tff import errors
from fedfish_tff import fields
from launch.methods import block
from launch.methods import building
from launch.methods import config as config_lib

if typing.TYPE_CHECKING:
  import tensorflow_federated as tff

# With these rules the server sees each client's update; the others are sums.
_COLLECTED = ('median', 'trimmed_mean', 'krum')
# In these all clients count alike, as in their papers.
_UNIFORM = (*_COLLECTED, 'centered_mean')

# The prefixes of the names of methods with the block, by rule.
_TITLES: Mapping[str, str] = {
  'median': 'Median',
  'trimmed_mean': 'Trimmed-Mean',
  'krum': 'Krum',
  'clipped_mean': 'Clipped',
  'adaptive_mean': 'Adaptively Clipped',
  'centered_mean': 'Centrally Clipped',
}


def _below_a_half(name: str, value: Any) -> None:
  errors.check_range(name, value, above=0, below=0.5)
  fields.number(positive=True)(name, value)


_FIELDS: Mapping[str, fields.Field] = {
  'rule': fields.Field(
    'median',
    fields.one_of(*_TITLES),
    'What is made of the updates. With median, trimmed_mean and krum the server '
    'sees each of them in the clear; the others are sums.',
  ),
  'trimmed_share': fields.Field(
    0.2,
    _below_a_half,
    'Of trimmed_mean: the part of the clients whose values are left out at each '
    'end, coordinate by coordinate.',
    goes_with={'rule': ('trimmed_mean',)},
  ),
  'num_attackers': fields.Field(
    1,
    fields.integer(0),
    'Of krum: f, from how many clients of a cohort anything may come; 2 f + 3 '
    'are needed.',
    goes_with={'rule': ('krum',)},
  ),
  'num_selected': fields.Field(
    1,
    fields.integer(1),
    'Of krum: of how many updates the mean is taken; more than 1 is Multi-Krum.',
    goes_with={'rule': ('krum',)},
  ),
  'clip_norm': fields.Field(
    1.0,
    fields.number(positive=True),
    "The bound of an update's L2 norm with clipped_mean, and of that of its "
    "difference to the last round's mean with centered_mean.",
    goes_with={'rule': ('clipped_mean', 'centered_mean')},
  ),
}


def _needed_clients(config: config_lib.Config) -> int:
  """Returns the least number of clients of which a rule leaves out enough."""
  own = config.blocks['aggregation']
  if own.rule == 'trimmed_mean':
    # The rule's own product, since 1 / share may be rounded down.
    least = math.floor(1 / own.trimmed_share)
    return least + (math.floor(own.trimmed_share * least) < 1)
  if own.rule == 'krum':
    return max(2 * own.num_attackers + 3, own.num_selected)
  return 0


def _check(config: config_lib.Config) -> None:
  """Checks that a rule leaves out at least one client, and not too many."""
  own, cohort_size = config.blocks['aggregation'], config.cohort_size
  needed = _needed_clients(config)
  if cohort_size < needed:
    if own.rule == 'trimmed_mean':
      raise errors.InputError(
        'aggregation.trimmed_share must be from 1 / cohort_size to below 0.5, '
        f'so that it leaves out one of a cohort of {cohort_size} '
        f'(cohort_size), got {own.trimmed_share}.'
      )
    raise errors.InputError(
      f'cohort_size must be {needed} or more for aggregation.rule krum with '
      f'num_attackers {own.num_attackers} and num_selected '
      f'{own.num_selected}, got {cohort_size}.'
    )


def _build(
  parts: building.Ingredients,
  mean: tff.aggregators.WeightedAggregationFactory | None,
) -> tff.aggregators.WeightedAggregationFactory:
  import tensorflow_federated as tff  # pylint: disable=g-import-not-at-top

  own = parts.config.blocks['aggregation']
  if own.rule == 'clipped_mean':
    return tff.aggregators.clipping_factory(
      float(own.clip_norm), mean or tff.aggregators.MeanFactory()
    )
  if own.rule == 'centered_mean':
    return aggregators.CenteredClippingFactory(float(own.clip_norm), mean)
  if own.rule == 'adaptive_mean':
    # The only argument through which it takes another mean.
    return tff.learning.robust_aggregator(
      debug_measurements_fn=(lambda _: mean) if mean else None
    )
  return aggregators.CollectedUpdatesFactory(
    {
      'median': lambda: aggregators.median_of_rows,
      'trimmed_mean': lambda: aggregators.build_trimmed_mean(own.trimmed_share),
      'krum': lambda: aggregators.build_krum(
        own.num_attackers, own.num_selected
      ),
    }[own.rule]()
  )


def _label(config: config_lib.Config, name: str) -> str:
  own = config.blocks['aggregation']
  multiple = 'Multi-' if own.rule == 'krum' and own.num_selected > 1 else ''
  return f'{multiple}{_TITLES[own.rule]} {name}'


BLOCK = block.Block(
  name='aggregation',
  help='another rule than the mean of updates; with median, trimmed_mean, krum, '
  'multi_krum and centered all clients count alike',
  fields=_FIELDS,
  presets={
    'median': {},
    'trimmed_mean': {'rule': 'trimmed_mean'},
    'krum': {'rule': 'krum'},
    'multi_krum': {'rule': 'krum', 'num_selected': 3},
    'clipped': {'rule': 'clipped_mean'},
    'adaptive': {'rule': 'adaptive_mean'},
    'centered': {'rule': 'centered_mean'},
  },
  supports='model_aggregator',
  goes_with=(
    block.Rule('exchange', (), 'which has a mean for each part that is sent'),
    block.Rule('privacy', (), 'which has its own clipping and noise, of sums'),
    block.Rule(
      'compression',
      (),
      'by which the server sees each update instead of sums',
      when={'rule': _COLLECTED},
    ),
    block.Rule(
      'algorithm.client_weighting',
      ('uniform',),
      'in which all clients count alike',
      when={'rule': _UNIFORM},
    ),
  ),
  check=_check,
  needed_clients=_needed_clients,
  label=_label,
  built_from=block.of_own_fields,
  build={building.AGGREGATOR: _build},
)
