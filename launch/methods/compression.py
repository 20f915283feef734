# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The block `compression`: updates quantised to a few bits per number.

The block `exchange` sends only some of the weights.
"""

from __future__ import annotations

import functools
import typing

from fedfish_tff import aggregators
from fedfish_tff import errors
from fedfish_tff import fields
from launch.methods import block
from launch.methods import building
from launch.methods import config as config_lib

if typing.TYPE_CHECKING:
  import tensorflow_federated as tff

_STOCHASTIC, _NEAREST = 'stochastic', 'nearest'


def _is_seeded(config: config_lib.Config) -> bool:
  return config.blocks['compression'].rounding == _STOCHASTIC


def _create_sum(config: config_lib.Config) -> aggregators.QuantizedSumFactory:
  own = config.blocks['compression']
  return aggregators.QuantizedSumFactory(
    own.bits,
    threshold=own.threshold,
    seed=config.seed if _is_seeded(config) else None,
  )


def _build_mean(
  parts: building.Ingredients, mean: None
) -> tff.aggregators.WeightedAggregationFactory:
  del mean  # No block before it makes one.
  import tensorflow_federated as tff  # pylint: disable=g-import-not-at-top

  return tff.aggregators.MeanFactory(_create_sum(parts.config))


def _measure(
  parts: building.Ingredients,
  aggregator: tff.aggregators.WeightedAggregationFactory,
) -> tff.aggregators.WeightedAggregationFactory:
  return aggregators.measure_payload(
    aggregator, _create_sum(parts.config).message_bytes
  )


BLOCK = block.Block(
  name='compression',
  help='updates in a few bits a number',
  fields={
    'bits': fields.Field(
      8,
      functools.partial(errors.check_integer, least=1, most=16),
      "Of a number: 2^bits levels between a tensor's least and largest number.",
    ),
    'rounding': fields.Field(
      _STOCHASTIC,
      fields.one_of(_STOCHASTIC, _NEAREST),
      'Whether a number goes to one of the two levels beside it by chance, so '
      'that its mean is right, or to the nearest.',
    ),
    'threshold': fields.Field(
      0, fields.integer(0), 'Tensors of no more numbers are sent as they are.'
    ),
  },
  presets={'quantized': {}, 'nearest': {'rounding': _NEAREST}},
  supports='model_aggregator',
  goes_with=(
    block.Rule(
      'exchange', (), 'which sums a denominator for each part that is sent'
    ),
    block.Rule('privacy', (), 'which needs the sum of what it has clipped'),
  ),
  label=lambda config, name: f'Quantised {name}',
  measures_payload=True,
  built_from=lambda config: frozenset({'seed'} if _is_seeded(config) else ()),
  build={building.MEAN: _build_mean, building.AGGREGATOR: _measure},
  after=('adapters', 'aggregation'),
)
