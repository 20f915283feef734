# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A config's block `compression`: updates in a few bits a number.

To send some of the weights only is the block `exchange`. Plain Python, without
TensorFlow, which is imported when something is built.
"""

from __future__ import annotations

from collections.abc import Mapping
import typing
from typing import Any

from fedfish_tff import aggregators
from fedfish_tff import errors
from launch.methods import aggregation
from launch.methods import fields

if typing.TYPE_CHECKING:
  import tensorflow_federated as tff

_STOCHASTIC, _NEAREST = 'stochastic', 'nearest'

# What makes a method with the block another one, in plots and tables.
TITLE = 'Quantised'


def _bits(name: str, value: Any) -> None:
  fields.integer(1)(name, value)
  if value > 16:
    raise fields.error(name, value, 'an integer of at most 16')


FIELDS: Mapping[str, fields.Field] = {
  'bits': fields.Field(
    8,
    _bits,
    "Of a number: 2^bits levels between a tensor's least and largest number.",
  ),
  'rounding': fields.Field(
    _STOCHASTIC,
    fields.one_of(_STOCHASTIC, _NEAREST),
    'Whether a number goes to one of the two levels beside it by chance, so that '
    'its mean is right, or to the nearest.',
  ),
  'threshold': fields.Field(
    0, fields.integer(0), 'Tensors of no more numbers are sent as they are.'
  ),
}

# What the axis `compression` of a variant changes.
PRESETS: Mapping[str, Mapping[str, Any]] = {
  'quantized': {},
  'nearest': {'rounding': _NEAREST},
}


def defaults(preset: str) -> dict[str, Any]:
  """Returns the block `compression` of a config, by the name of a preset."""
  return {**fields.defaults(FIELDS), **PRESETS[preset]}


def check(config: Mapping[str, Any]) -> None:
  """Checks the block `compression` and what it goes with.

  Args:
    config: With the block; its other blocks are checked already.

  Raises:
    errors.InputError: If a field is missing, unknown or out of range, or does
      not go with another block.
  """
  block = config['compression']
  fields.check_block('compression.', block, FIELDS)
  for other, reason in (
    ('exchange', 'sums a denominator for each part that is sent'),
    ('privacy', 'needs the sum of what it has clipped'),
  ):
    if other in config:
      raise errors.InputError(
        f'The config has a block {other}, which {reason}, and a block '
        'compression; one of them was expected.'
      )


def is_seeded(config: Mapping[str, Any]) -> bool:
  """Whether what is built for a config depends on its seed."""
  return config.get('compression', {}).get('rounding') == _STOCHASTIC


def build_model_aggregator(
  config: Mapping[str, Any],
) -> tff.aggregators.WeightedAggregationFactory | None:
  """Returns what combines updates, by both blocks; None for TFF's mean.

  Args:
    config: A checked config.
  """
  if 'compression' not in config:
    return aggregation.build_model_aggregator(config)
  import tensorflow_federated as tff  # pylint: disable=g-import-not-at-top

  block = config['compression']
  quantized_sum = aggregators.QuantizedSumFactory(
    block['bits'],
    threshold=block['threshold'],
    seed=config['seed'] if is_seeded(config) else None,
  )
  return aggregators.measure_payload(
    aggregation.build_model_aggregator(
      config, tff.aggregators.MeanFactory(quantized_sum)
    ),
    quantized_sum.message_bytes,
  )
