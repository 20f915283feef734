# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The block `zeroing`: updates with too large a norm count as zero."""

from __future__ import annotations

import math
import typing

from launch.methods import block
from launch.methods import building
from launch.methods import fields

if typing.TYPE_CHECKING:
  import tensorflow_federated as tff

_ORDERS = {'largest': math.inf, 'l2': 2.0}


def _build(
  parts: building.Ingredients,
  aggregator: tff.aggregators.WeightedAggregationFactory | None,
) -> tff.aggregators.WeightedAggregationFactory:
  import tensorflow_federated as tff  # pylint: disable=g-import-not-at-top

  own = parts.config.blocks['zeroing']
  return tff.aggregators.zeroing_factory(
    float(own.norm),
    aggregator or tff.aggregators.MeanFactory(),
    norm_order=_ORDERS[own.order],
  )


BLOCK = block.Block(
  name='zeroing',
  help='updates that are longer than a bound count as zero, before any other rule',
  fields={
    'norm': fields.Field(
      10.0,
      fields.number(positive=True),
      "The bound of an update's norm; an update beyond it keeps its weight.",
    ),
    'order': fields.Field(
      'largest',
      fields.one_of(*_ORDERS),
      'The norm: the largest absolute value of a coordinate, or l2.',
    ),
  },
  presets={'largest': {}, 'l2': {'order': 'l2'}},
  supports='model_aggregator',
  goes_with=(
    block.Rule('exchange', (), 'which has a mean for each part that is sent'),
    block.Rule(
      'privacy', (), 'which has its own clipping and tells no other counts'
    ),
  ),
  label=lambda config, name: f'Zeroing {name}',
  build={block.AGGREGATOR: _build},
)
