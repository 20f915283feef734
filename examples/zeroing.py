# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""A block of your own, in one file: updates that are too large count as zero.

  python -m launch.train --workdir=runs/zeroing \
    --config=launch/configs/digits.py:fed_avg,examples.zeroing:BLOCK=usual

An update with a coordinate above the threshold is replaced by zeros, so a
client with absurd data moves nothing. The package does not know this file: its
name as an axis, package.module:NAME, is enough, and any method whose updates
the server may aggregate otherwise takes it.
"""

from fedfish_tff import fields
from launch.methods import block
from launch.methods import building

import tensorflow_federated as tff


def _build(
  parts: building.Ingredients,
  mean: tff.aggregators.WeightedAggregationFactory | None,
) -> tff.aggregators.WeightedAggregationFactory:
  return tff.aggregators.zeroing_factory(
    float(parts.config.blocks['zeroing'].threshold),
    mean or tff.aggregators.MeanFactory(),
  )


BLOCK = block.Block(
  name='zeroing',
  help='updates with a coordinate above a threshold count as zero',
  fields={
    'threshold': fields.Field(
      10.0, fields.number(positive=True), 'The largest coordinate that counts.'
    )
  },
  presets={'usual': {}, 'strict': {'threshold': 1.0}},
  supports='model_aggregator',
  goes_with=(
    block.Rule('exchange', (), 'which has a mean for each part that is sent'),
    block.Rule('privacy', (), 'which has its own clipping and noise'),
  ),
  label=lambda config, name: f'Zeroing {name}',
  built_from=block.of_own_fields,
  build={building.AGGREGATOR: _build},
  after=('aggregation', 'compression'),
)
