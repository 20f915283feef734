# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A config's block `aggregation`: other rules than the mean of updates.

Plain Python, without TensorFlow, which is imported when something is built.
"""

from __future__ import annotations

from collections.abc import Mapping
import math
import typing
from typing import Any

from fedfish_tff import aggregators
from fedfish_tff import errors
from launch.methods import fields

if typing.TYPE_CHECKING:
  import tensorflow_federated as tff

# Of these the server sees each client's update; the others are sums.
_COLLECTED = ('median', 'trimmed_mean', 'krum')

# What makes FedAvg with a rule another method, in plots and tables.
TITLES: Mapping[str, str] = {
  'median': 'Median',
  'trimmed_mean': 'Trimmed-Mean',
  'krum': 'Krum',
  'clipped_mean': 'Clipped',
  'adaptive_mean': 'Adaptively Clipped',
}


def _below_a_half(name: str, value: Any) -> None:
  fields.number(positive=True)(name, value)
  if value >= 0.5:
    raise fields.error(name, value, 'a number below 0.5')


FIELDS: Mapping[str, fields.Field] = {
  'rule': fields.Field(
    'median',
    fields.one_of(*TITLES),
    'What is made of the updates. With median, trimmed_mean and krum the server '
    'sees each of them in the clear; clipped_mean and adaptive_mean are sums.',
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
    "Of clipped_mean: the bound of an update's L2 norm.",
    goes_with={'rule': ('clipped_mean',)},
  ),
}

# What the axis `aggregation` of a variant changes.
PRESETS: Mapping[str, Mapping[str, Any]] = {
  'median': {},
  'trimmed_mean': {'rule': 'trimmed_mean'},
  'krum': {'rule': 'krum'},
  'multi_krum': {'rule': 'krum', 'num_selected': 3},
  'clipped': {'rule': 'clipped_mean'},
  'adaptive': {'rule': 'adaptive_mean'},
}


def defaults(preset: str) -> dict[str, Any]:
  """Returns the block `aggregation` of a config, by the name of a preset."""
  return {**fields.defaults(FIELDS), **PRESETS[preset]}


def counts_alike(preset: str) -> bool:
  """Whether in the rule of a preset no client counts more than another."""
  return defaults(preset)['rule'] in _COLLECTED


def check(config: Mapping[str, Any]) -> None:
  """Checks the block `aggregation` and what it goes with.

  Args:
    config: With the block; its other blocks are checked already.

  Raises:
    errors.InputError: If a field is missing, unknown or out of range, or the
      rule does not go with the cohort or another block.
  """
  block = config['aggregation']
  fields.check_block('aggregation.', block, FIELDS)
  for other, reason in (
    ('exchange', 'has a mean for each part that is sent'),
    ('privacy', 'has its own clipping and noise, of sums'),
  ):
    if other in config:
      raise errors.InputError(
        f'The config has a block {other}, which {reason}, and a block '
        'aggregation; one of them was expected.'
      )
  rule = block['rule']
  if rule not in _COLLECTED:
    return
  if 'compression' in config:
    raise errors.InputError(
      'The config has a block compression, which is of sums, but '
      f'aggregation.rule is {rule!r}, by which the server sees each update; '
      'clipped_mean or adaptive_mean was expected.'
    )
  weighting = config['algorithm'].get('client_weighting', 'uniform')
  if weighting != 'uniform':
    raise errors.InputError(
      f'algorithm.client_weighting is {weighting!r}, but aggregation.rule is '
      f'{rule!r}, in which all clients count alike; uniform was expected.'
    )
  _check_cohort(block, config['cohort_size'])


def _check_cohort(block: Mapping[str, Any], cohort_size: int) -> None:
  """Checks that a rule leaves out somebody of a cohort, and not too many."""
  if block['rule'] == 'trimmed_mean':
    share = block['trimmed_share']
    if math.floor(share * cohort_size) < 1:
      raise errors.InputError(
        f'aggregation.trimmed_share is {share}, by which nobody of a cohort of '
        f'{cohort_size} (cohort_size) is left out; 1 / cohort_size or more, and '
        'below 0.5, was expected.'
      )
  if block['rule'] == 'krum':
    needed = max(2 * block['num_attackers'] + 3, block['num_selected'])
    if cohort_size < needed:
      raise errors.InputError(
        f'cohort_size is {cohort_size}, but aggregation.rule is krum with '
        f'num_attackers {block["num_attackers"]} and num_selected '
        f'{block["num_selected"]}; {needed} or more was expected.'
      )


def build_model_aggregator(
  config: Mapping[str, Any],
  mean: tff.aggregators.WeightedAggregationFactory | None = None,
) -> tff.aggregators.WeightedAggregationFactory | None:
  """Returns what combines updates; the mean for a config without the block.

  Args:
    config: A checked config.
    mean: What takes the mean in rules that are one; by default TFF's.
  """
  if 'aggregation' not in config:
    return mean
  import tensorflow_federated as tff  # pylint: disable=g-import-not-at-top

  block = config['aggregation']
  rule = block['rule']
  if rule == 'clipped_mean':
    return tff.aggregators.clipping_factory(
      float(block['clip_norm']), mean or tff.aggregators.MeanFactory()
    )
  if rule == 'adaptive_mean':
    # The one place where it takes a mean of somebody's.
    return tff.learning.robust_aggregator(
      debug_measurements_fn=(lambda _: mean) if mean else None
    )
  return aggregators.CollectedUpdatesFactory(
    {
      'median': lambda: aggregators.median_of_rows,
      'trimmed_mean': lambda: aggregators.build_trimmed_mean(
        block['trimmed_share']
      ),
      'krum': lambda: aggregators.build_krum(
        block['num_attackers'], block['num_selected']
      ),
    }[rule]()
  )
