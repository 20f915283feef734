# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Fields and arguments shared by methods with client-local layers.

This is plain Python; TensorFlow is imported only when something is built.
"""

from collections.abc import Mapping
from typing import Any

from fedfish_tff import errors
from fedfish_tff import fields
from fedfish_tff import models
from launch.methods import building
from launch.methods import fed_avg

LAYERS = fields.Field(
  '',
  fields.text,
  'Layers that stay with clients: names of tensors or their beginnings, such '
  'as hidden_0, with commas; none for the last layer.',
)

SUPPORTS = fed_avg.METHOD.supports - {
  'barrier',
  'client_keeps',
  'fine_tuning',
  'weight_average',
}
REASONS: Mapping[str, str] = {
  'barrier': 'its clients have models of their own, so that there is no one '
  'model that all of them start a round from',
  'client_keeps': 'its clients keep the same tensors in every round',
  'fine_tuning': 'its clients keep layers, which are chosen by names, and the '
  'tensors of a fine-tuning have none',
}


def select(parts: building.Ingredients, field: str) -> tuple[bool, ...]:
  """Returns, for each tensor, whether a field of the method names it.

  The field, in the form of `LAYERS`, names some of the tensors of a model whose
  tensors have names, not all.
  """
  names = parts.task.named_tensors(f'algorithm.{field}')
  text = getattr(parts.algorithm, field) or models.last_layer(names)
  try:
    return models.select_tensors(names, [n.strip() for n in text.split(',')])
  except errors.InputError as error:
    raise errors.InputError(
      f'algorithm.{field} is {text!r}: {error}'
    ) from error


def arguments(
  parts: building.Ingredients, local_tensors: tuple[bool, ...]
) -> dict[str, Any]:
  """Returns the arguments that the builders of these methods share.

  `local_tensors` says which tensors stay with clients.
  """
  return {
    'model_aggregator': parts.model_aggregator,
    **parts.exchange([not local for local in local_tensors]),
  }
